import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from report import database, rows, script


class Report(unittest.TestCase):
    def setUp(self):
        self.database = database(script("seed.sql"))
        self.addCleanup(self.database.close)

    def region(self, name, month="2024-03"):
        return next((row for row in rows(self.database, "by_region.sql", month) if row["region"] == name), None)

    def test_a_region_with_payments_and_without(self):
        self.assertEqual(self.region("south"), {"region": "south", "orders": 3, "ordered": 30500, "paid": 23500})

    def test_the_month_of_the_order_counts(self):
        self.assertIsNone(self.region("east"))
        self.assertEqual(self.region("east", "2024-02"), {"region": "east", "orders": 1, "ordered": 7200, "paid": 7200})

    def test_cheeses(self):
        self.assertEqual(
            [tuple(row.values()) for row in rows(self.database, "by_cheese.sql", "2024-03")],
            [("mountain", 20), ("blue", 6), ("goat", 5), ("smoked", 4)],
        )


if __name__ == "__main__":
    unittest.main()
