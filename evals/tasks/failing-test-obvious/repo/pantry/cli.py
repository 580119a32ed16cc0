"""The command line."""

import datetime

from pantry import report
from pantry.store import read_stock

USAGE = "usage: pantry STOCK.csv list | shopping | expiring DAYS"


def main(arguments, out=print, today=None):
    if len(arguments) < 2:
        out(USAGE)
        return 2
    items = read_stock(arguments[0])
    command = arguments[1]
    if command == "list":
        for name, quantity in report.overview(items):
            out("%-20s %3d" % (name, quantity))
    elif command == "shopping":
        for name, packets in report.shopping_list(items):
            out("%-20s %3d" % (name, packets))
    elif command == "expiring" and len(arguments) == 3:
        for name in report.expiring(items, today or datetime.date.today(), int(arguments[2])):
            out(name)
    else:
        out(USAGE)
        return 2
    return 0
