#ifndef PARSE_H
#define PARSE_H

#define VAN_LENGTH 8

struct trip {
    char van[VAN_LENGTH + 1]; /* as "V12", at most VAN_LENGTH characters */
    long metres;
    long millilitres;
};

/* Reads a line of a log: 1 is a trip, 0 nothing (empty or comment), -1 an error. */
int parse_trip(const char *line, struct trip *trip);

#endif
