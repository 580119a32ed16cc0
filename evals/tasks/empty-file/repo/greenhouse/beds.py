"""The beds and what their plants need."""

from collections import namedtuple

# Temperatures in degrees Celsius; the margin is what the plants bear for a day.
Bed = namedtuple("Bed", "name lowest highest margin")

BEDS = {
    bed.name: bed
    for bed in (
        Bed("tomatoes", 16, 28, 4),
        Bed("fuchsias", 10, 22, 6),
        Bed("orchids", 18, 26, 1.5),
        Bed("cacti", 5, 38, 3),
    )
}
