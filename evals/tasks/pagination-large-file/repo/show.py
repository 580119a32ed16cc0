"""Prints the limits of one station: python3 show.py NAME"""

import os
import sys

from pumplimits import load

LIMITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "limits", "stations.conf")


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    station = load(LIMITS).get(arguments[0])
    if station is None:
        print(f"no station is called {arguments[0]!r}", file=sys.stderr)
        return 1
    print(f"{arguments[0]} ({station['code']}, {station['region']})")
    for label, pump in sorted(station["pumps"].items()):
        print(f"  {label}: trips at {pump['trip_bar']} bar, starts at {pump['restart_bar']} bar")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
