import datetime
import unittest

from pantry import report
from pantry.item import Item

TODAY = datetime.date(2030, 1, 10)


class ReportTest(unittest.TestCase):
    def test_overview_is_sorted_by_name(self):
        items = [Item("rice", 1), Item("flour", 5)]
        self.assertEqual(report.overview(items), [("flour", 5), ("rice", 1)])

    def test_shopping_list_names_what_is_missing(self):
        items = [Item("rice", 1, minimum=3), Item("salt", 2, minimum=2), Item("oats", 0, minimum=1)]
        self.assertEqual(report.shopping_list(items), [("oats", 1), ("rice", 2)])

    def test_expiring_counts_the_last_day(self):
        items = [
            Item("milk", 1, best_before=datetime.date(2030, 1, 17)),
            Item("eggs", 6, best_before=datetime.date(2030, 1, 12)),
            Item("jam", 1, best_before=datetime.date(2030, 1, 18)),
        ]
        self.assertEqual(report.expiring(items, TODAY, 7), ["eggs", "milk"])


if __name__ == "__main__":
    unittest.main()
