#ifndef FLEET_H
#define FLEET_H

#include <stddef.h>

#include "parse.h"

struct van {
    char name[VAN_LENGTH + 1];
    int trips;
    long metres;
    long millilitres;
};

struct fleet {
    struct van *vans; /* in the order in which they come first */
    size_t count;
    size_t room;
};

/* Adds a trip to its van; 0 is no memory. */
int fleet_add(struct fleet *fleet, const struct trip *trip);

/* All vans together, without a name. */
struct van fleet_total(const struct fleet *fleet);

void fleet_free(struct fleet *fleet);

#endif
