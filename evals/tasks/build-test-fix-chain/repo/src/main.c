#include <stdio.h>

#include "fleet.h"
#include "parse.h"
#include "report.h"

int main(int argc, char **argv)
{
    struct fleet fleet = { NULL, 0, 0 };
    struct trip trip;
    char line[200];
    int number = 0, status = 0;
    FILE *file;

    if (argc != 2) {
        fprintf(stderr, "usage: triplog FILE\n");
        return 2;
    }
    file = fopen(argv[1], "r");
    if (!file) {
        perror(argv[1]);
        return 1;
    }
    while (status == 0 && fgets(line, sizeof line, file)) {
        int kind = parse_trip(line, &trip);

        number++;
        if (kind < 0 || (kind > 0 && !fleet_add(&fleet, &trip))) {
            fprintf(stderr, "%s:%d: cannot take this line\n", argv[1], number);
            status = 1;
        }
    }
    fclose(file);
    if (status == 0)
        report_print(stdout, &fleet);
    fleet_free(&fleet);
    return status;
}
