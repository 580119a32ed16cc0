import datetime
import unittest

from pantry.item import Item


class ItemTest(unittest.TestCase):
    def test_a_row_becomes_an_item_and_a_row_again(self):
        row = {"name": "rice", "quantity": "1", "minimum": "3", "best_before": "2031-05-01"}
        self.assertEqual(Item.from_row(row).to_row(), row)

    def test_best_before_may_be_empty(self):
        item = Item.from_row({"name": "salt", "quantity": "2", "minimum": "1", "best_before": ""})
        self.assertIsNone(item.days_left(datetime.date(2030, 1, 1)))

    def test_a_negative_quantity_is_refused(self):
        with self.assertRaises(ValueError):
            Item("rice", -1)


if __name__ == "__main__":
    unittest.main()
