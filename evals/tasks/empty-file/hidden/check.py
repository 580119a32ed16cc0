"""Levels and messages at and around each bound."""
import sys

sys.path.insert(0, sys.argv[1])
from greenhouse.alerts import level, message
from greenhouse.beds import BEDS, Bed

SHED = Bed("shed", -4, 0, 2)
CASES = [
    (BEDS["tomatoes"], 16, "fine", "fine"),
    (BEDS["tomatoes"], 28, "fine", "fine"),
    (BEDS["tomatoes"], 15.5, "cold", "too cold by 0.5 degrees"),
    (BEDS["tomatoes"], 12, "cold", "too cold by 4.0 degrees"),
    (BEDS["tomatoes"], 11.5, "frost", "too cold by 4.5 degrees!"),
    (BEDS["tomatoes"], 32, "warm", "too warm by 4.0 degrees"),
    (BEDS["tomatoes"], 32.5, "heat", "too warm by 4.5 degrees!"),
    (BEDS["orchids"], 27.5, "warm", "too warm by 1.5 degrees"),
    (BEDS["orchids"], 28, "heat", "too warm by 2.0 degrees!"),
    (BEDS["cacti"], -40, "frost", "too cold by 45.0 degrees!"),
    (SHED, 0, "fine", "fine"),
    (SHED, 0.5, "warm", "too warm by 0.5 degrees"),
    (SHED, -6, "cold", "too cold by 2.0 degrees"),
    (SHED, -6.5, "frost", "too cold by 2.5 degrees!"),
]
for bed, temperature, name, text in CASES:
    if level(bed, temperature) != name:
        sys.exit(f"{bed.name} at {temperature} is {level(bed, temperature)!r} instead of {name!r}")
    if message(bed, temperature) != f"{bed.name}: {text}":
        sys.exit(f"the message for {temperature} is {message(bed, temperature)!r} instead of {bed.name + ': ' + text!r}")
print("ok")
