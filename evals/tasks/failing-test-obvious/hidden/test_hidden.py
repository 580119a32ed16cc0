import datetime
import os
import tempfile
import unittest

from pantry import cli, report
from pantry.item import Item
from pantry.store import write_stock


class HiddenTest(unittest.TestCase):
    def test_items_with_enough_are_not_listed(self):
        items = [Item("flour", 5, minimum=1), Item("rice", 2, minimum=2), Item("tea", 9)]
        self.assertEqual(report.shopping_list(items), [])

    def test_every_missing_packet_is_counted(self):
        items = [Item("rice", 0, minimum=12), Item("flour", 5, minimum=1), Item("beans", 3, minimum=4)]
        self.assertEqual(report.shopping_list(items), [("beans", 1), ("rice", 12)])

    def test_the_command_prints_the_list(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "stock.csv")
            write_stock(path, [Item("sugar", 1, minimum=5), Item("flour", 7, minimum=1)])
            lines = []
            self.assertEqual(cli.main([path, "shopping"], out=lines.append), 0)
            self.assertEqual([line.split() for line in lines], [["sugar", "4"]])

    def test_the_other_lists_are_as_before(self):
        items = [Item("flour", 5, minimum=1, best_before=datetime.date(2030, 1, 12)), Item("rice", 0)]
        self.assertEqual(report.overview(items), [("flour", 5), ("rice", 0)])
        self.assertEqual(report.expiring(items, datetime.date(2030, 1, 10), 2), ["flour"])


if __name__ == "__main__":
    unittest.main()
