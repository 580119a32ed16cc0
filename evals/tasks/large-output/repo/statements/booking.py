"""One line of a statement."""

from collections import namedtuple

from .amount import read_amount

Booking = namedtuple("Booking", "day written cents purpose")


def read_booking(line):
    day, amount, purpose = line.rstrip("\n").split(";", 2)
    return Booking(day, amount, read_amount(amount), purpose)
