"""What the counter and the web shop call."""

from decimal import Decimal

from .zones import ZONES, zone_price

HEAVIEST = Decimal("31.5")


class QuoteError(Exception):
    """A parcel we do not carry."""


def quote(zone, weight):
    """Returns the price in euros, rounded to the cent."""
    weight = Decimal(weight)
    if zone not in ZONES:
        raise QuoteError(f"there is no zone {zone}")
    if not 0 < weight <= HEAVIEST:
        raise QuoteError(f"a parcel weighs more than 0 and at most {HEAVIEST} kg")
    return zone_price(zone, weight).quantize(Decimal("0.01"))
