#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

/* Reads a number with up to three digits after the point, in thousandths; -1 is an error. */
static long thousandths(const char **text)
{
    const char *at = *text;
    long value = 0;
    int digits = 3;

    if (!isdigit((unsigned char)*at))
        return -1;
    while (isdigit((unsigned char)*at))
        value = value * 10 + (*at++ - '0');
    if (*at == '.') {
        at++;
        while (digits > 0 && isdigit((unsigned char)*at)) {
            value = value * 10 + (*at++ - '0');
            digits--;
        }
    }
    while (digits-- > 0)
        value *= 10;
    *text = at;
    return value;
}

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

int parse_trip(const char *line, struct trip *trip)
{
    const char *at = skip_blanks(line);
    size_t length = strcspn(at, " \t\n#");

    if (*at == '\0' || *at == '\n' || *at == '#')
        return 0;
    if (length >= VAN_LENGTH)
        return -1;
    memcpy(trip->van, at, length);
    trip->van[length] = '\0';

    at = skip_blanks(at + length);
    trip->metres = thousandths(&at);
    at = skip_blanks(at);
    trip->millilitres = thousandths(&at);
    at = skip_blanks(at);
    if (trip->metres < 0 || trip->millilitres < 0)
        return -1;
    return *at == '\0' || *at == '\n' || *at == '#' ? 1 : -1;
}
