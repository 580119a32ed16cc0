import os
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from parcelprice import ZONES, quote
from parcelprice.quote import QuoteError


class Quote(unittest.TestCase):
    def test_light_parcels(self):
        self.assertEqual(quote(3, "12.5"), Decimal("13.40"))
        self.assertEqual(quote(9, 1), Decimal("23.90"))

    def test_a_rebate_counts_for_all_kilograms(self):
        self.assertEqual(quote(1, 20), Decimal("11.20"))
        self.assertEqual(quote(1, 30), Decimal("13.65"))

    def test_a_heavier_parcel_of_the_same_terms_costs_more(self):
        for zone in ZONES:
            self.assertLess(quote(zone, 10), quote(zone, 15), zone)

    def test_what_is_not_carried(self):
        for zone, weight in ((0, 1), (10, 1), (1, 0), (1, 32)):
            with self.assertRaises(QuoteError):
                quote(zone, weight)


if __name__ == "__main__":
    unittest.main()
