#ifndef SCALE_H
#define SCALE_H

/* Level in metres for a raw count of the probe. */
double scale(int counts);

#endif
