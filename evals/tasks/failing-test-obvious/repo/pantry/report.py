"""The lists the command line prints."""


def overview(items):
    """All items sorted by name, as (name, quantity) pairs."""
    return sorted((item.name, item.quantity) for item in items)


def shopping_list(items):
    """What to buy, as (name, packets) pairs sorted by name.

    Only items below their minimum are listed, with the number of packets
    it takes to reach the minimum.
    """
    wanted = []
    for item in items:
        missing = item.quantity - item.minimum
        if missing > 0:
            wanted.append((item.name, missing))
    return sorted(wanted)


def expiring(items, today, days):
    """Items to be eaten within `days` days (the last day counts), soonest first."""
    due = []
    for item in items:
        left = item.days_left(today)
        if left is not None and left <= days and item.quantity > 0:
            due.append((left, item.name))
    return [name for _, name in sorted(due)]
