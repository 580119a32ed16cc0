#!/usr/bin/env bash
# Writes limits/stations.conf: 140 stations of 30 lines, 4,200 lines in all. Always the same text.
set -eu
mkdir -p limits
LC_ALL=C awk '
function pump(label, trip, n) {
    printf "  [pump %s]\n", label
    printf "  serial = P-%05d-%s\n", n, label
    printf "  trip_bar = %s\n", trip
    printf "  restart_bar = %s\n", (n % 3 ? "2.1" : "2.4")
    printf "  flow_min = %d\n", 10 + n % 7
    printf "  starts_per_hour = %d\n", 4 + n % 3
    printf "\n"
}
BEGIN {
    split("Ahren Birken Dorn Eschen Fried Gras Hasel Ilmen Kessel Linden Mohn Nessel Ober Pappel Quell Reben Sand Tannen Ufer Wacht", a, " ")
    split("bach berg bruck dorf hof moor tal", b, " ")
    split("east north south west", r, " ")
    for (i = 0; i < 140; i++) {
        name = a[int(i / 7) + 1] b[i % 7 + 1]
        if (i == 31) name = "Hollerfeld-Nord"
        if (i == 74) name = "Klein Hollerfeld"
        if (i == 120) name = "Hollerfeld"
        special = (i == 31 || i == 74 || i == 120)
        # 30 lines a station
        printf "[station]\n"
        printf "code = S-%04d\n", 1000 + i * 37 % 997
        printf "name = %s\n", name
        printf "region = %s\n", r[i % 4 + 1]
        printf "altitude_m = %d\n", 180 + i * 13 % 240
        printf "phone = 0%d %05d\n", 3400 + i % 60, 10000 + i * 611 % 89999
        printf "\n"
        for (p = 1; p <= 3; p++)
            pump(substr("ABC", p, 1), special ? "6.4" : sprintf("%.1f", 5.2 + (i * 3 + p) % 15 / 10), 10000 + i * 10 + p)
        printf "# checked by %s\n", (i % 2 ? "the waterworks" : "the fitters")
        printf "\n"
    }
}' > limits/stations.conf
