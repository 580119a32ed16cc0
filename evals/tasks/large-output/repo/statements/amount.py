"""Amounts as banks write them."""

import re

# An amount: points between the thousands, a comma before the cents.
AMOUNT = re.compile(r"(?P<sign>[-(]?)(?P<euros>\d{1,3}(?:\.\d{3})*|\d+),(?P<cents>\d\d)")


class AmountError(ValueError):
    """Not an amount."""


def read_amount(text):
    """Returns cents; what is paid is negative, be it written -3,20 or (3,20)."""
    found = AMOUNT.match(text.strip())
    if found is None:
        raise AmountError(f"{text!r} is not an amount")
    cents = int(found.group("euros").replace(".", "")) * 100 + int(found.group("cents"))
    if found.group("sign"):
        return -cents
    return cents
