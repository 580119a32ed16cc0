"""Compares drivers with the audit: python3 tools/check.py NAME..."""

import csv
import importlib
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
AUDIT = os.path.join(ROOT, "audit", "saturation.csv")
sys.path.insert(0, ROOT)
sys.dont_write_bytecode = True


def audited():
    """Returns the counts of the audit by driver, in the order of the file."""
    if not os.path.exists(AUDIT):
        return {}
    with open(AUDIT, encoding="utf-8", newline="") as file:
        return {row["name"]: int(row["counts"]) for row in csv.DictReader(file)}


def problem(name, counts):
    """Returns what is wrong with the limiting function of a driver, or None."""
    from drivers.registry import LIMITING

    limit = getattr(importlib.import_module(f"drivers.{name}"), LIMITING[name])
    if counts is None:
        return "is not in the audit"
    for raw, wanted in ((-1, 0), (0, 0), (17, 17), (counts, counts), (counts + 1, counts), (99999, counts)):
        if limit(raw) != wanted:
            return f"makes {limit(raw)} of {raw}, by the audit it should be {wanted}"
    return None


def main(names):
    counts, status = audited(), 0
    for name in names:
        wrong = problem(name, counts.get(name))
        print(f"{name}: {wrong or 'ok'}")
        status = status or int(wrong is not None)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
