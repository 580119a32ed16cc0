#ifndef REPORT_H
#define REPORT_H

#include <stdio.h>

#include "fleet.h"

/* Litres on 100 km in tenths, rounded half up; 0 for a van that did not move. */
long tenths_per_100km(const struct van *van);

void report_print(FILE *out, const struct fleet *fleet);

#endif
