/* Numbers over many readings. */
#ifndef SUMMARY_H
#define SUMMARY_H

#include "readings.h"

struct summary {
    size_t count;
    int lowest;  /* tenths of a degree, like the next two */
    int highest;
    int mean;
};

/* All zero when there are no readings. */
struct summary summarize(const struct readings *all);

#endif
