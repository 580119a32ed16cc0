"""The terms of each zone, one block a zone."""

from decimal import Decimal

ZONES = {
    1: "city",
    2: "district",
    3: "country, near",
    4: "country, far",
    5: "mountain villages",
    6: "islands",
    7: "islands, overnight",
    8: "neighbouring countries",
    9: "overseas",
}


def zone_price(zone, weight):
    """Returns the exact price; zone is one of ZONES, weight a Decimal in kilograms."""
    if zone == 1:
        base = Decimal("4.20")
        rate = Decimal("0.35")
        if weight > 20:
            rate = rate * Decimal("0.90")
        price = base + rate * weight
    elif zone == 2:
        base = Decimal("4.90")
        rate = Decimal("0.45")
        if weight > 20:
            rate = rate * Decimal("0.90")
        price = base + rate * weight
    elif zone == 3:
        base = Decimal("5.90")
        rate = Decimal("0.60")
        if weight > 20:
            rate = rate * Decimal("0.90")
        price = base + rate * weight
    elif zone == 4:
        base = Decimal("6.80")
        rate = Decimal("0.75")
        if weight > 20:
            rate = rate * Decimal("0.90")
        price = base + rate * weight
    elif zone == 5:
        base = Decimal("8.40")
        rate = Decimal("0.95")
        if weight > 20:
            rate = rate * Decimal("0.90")
        price = base + rate * weight
    elif zone == 6:
        base = Decimal("9.60")
        rate = Decimal("1.10")
        if weight > 20:
            rate = rate * Decimal("0.90")
        price = base + rate * weight
    elif zone == 7:
        base = Decimal("14.50")
        rate = Decimal("1.10")
        if weight > 20:
            rate = rate * Decimal("0.90")
        price = base + rate * weight
    elif zone == 8:
        base = Decimal("12.80")
        rate = Decimal("1.45")
        if weight > 20:
            rate = rate * Decimal("0.90")
        price = base + rate * weight
    elif zone == 9:
        base = Decimal("21.00")
        rate = Decimal("2.90")
        if weight > 20:
            rate = rate * Decimal("0.90")
        price = base + rate * weight
    return price
