#include "scale.h"

double scale(int counts)
{
    return counts * 0.0025 + 0.4;
}
