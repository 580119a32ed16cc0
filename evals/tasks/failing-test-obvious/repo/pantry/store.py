"""Reading and writing the stock file."""

import csv

from pantry.item import Item

FIELDS = ["name", "quantity", "minimum", "best_before"]


def read_stock(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return [Item.from_row(row) for row in csv.DictReader(stream)]


def write_stock(path, items):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        writer.writeheader()
        for item in sorted(items, key=lambda item: item.name):
            writer.writerow(item.to_row())
