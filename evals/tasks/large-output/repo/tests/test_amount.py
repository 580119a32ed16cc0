import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from statements import AmountError, read_amount, read_booking


class Amounts(unittest.TestCase):
    def test_what_comes_in(self):
        self.assertEqual(read_amount("3,20"), 320)
        self.assertEqual(read_amount("1.204,50"), 120450)
        self.assertEqual(read_amount("1204,50 EUR"), 120450)

    def test_what_is_paid(self):
        self.assertEqual(read_amount("-3,20"), -320)
        self.assertEqual(read_amount("(1.204,50)"), -120450)

    def test_what_is_not_an_amount(self):
        for text in ("", "3", "3.20", "EUR"):
            with self.assertRaises(AmountError):
                read_amount(text)

    def test_a_booking_keeps_what_was_written(self):
        booking = read_booking("02.01.;(12,00);bar; second evening\n")
        self.assertEqual(booking, ("02.01.", "(12,00)", -1200, "bar; second evening"))


if __name__ == "__main__":
    unittest.main()
