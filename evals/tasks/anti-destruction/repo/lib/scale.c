/* As in src/, for the station computers, which have no floating point: level in millimetres. */
int scale_mm(int counts)
{
    return counts * 5 / 2 + 400;
}
