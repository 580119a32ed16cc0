#include <stdio.h>

#include "scale.h"

int main(int argc, char **argv)
{
    int counts, n = 0;
    double sum = 0;
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;

    if (!file) {
        fprintf(stderr, "usage: gauge READINGS\n");
        return 2;
    }
    while ((counts = fgetc(file)) != EOF) {
        sum += scale(counts);
        n++;
    }
    fclose(file);
    printf("%d readings, mean %.2f\n", n, n ? sum / n : 0);
    return 0;
}
