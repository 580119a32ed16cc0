"""One kind of thing in the cupboard."""

import datetime


class Item:
    def __init__(self, name, quantity, minimum=0, best_before=None):
        if quantity < 0 or minimum < 0:
            raise ValueError("%s: a number of packets cannot be negative" % name)
        self.name = name
        self.quantity = quantity
        self.minimum = minimum
        self.best_before = best_before

    @classmethod
    def from_row(cls, row):
        """Build an item from a row of the stock file (a dict of strings)."""
        text = (row.get("best_before") or "").strip()
        best_before = datetime.date.fromisoformat(text) if text else None
        return cls(
            row["name"].strip(),
            int(row["quantity"]),
            int(row.get("minimum") or 0),
            best_before,
        )

    def to_row(self):
        return {
            "name": self.name,
            "quantity": str(self.quantity),
            "minimum": str(self.minimum),
            "best_before": self.best_before.isoformat() if self.best_before else "",
        }

    def days_left(self, today):
        """Days until the best-before date, None for what keeps forever."""
        if self.best_before is None:
            return None
        return (self.best_before - today).days

    def __repr__(self):
        return "Item(%r, %d)" % (self.name, self.quantity)
