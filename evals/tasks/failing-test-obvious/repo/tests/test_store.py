import os
import tempfile
import unittest

from pantry.item import Item
from pantry.store import read_stock, write_stock


class StoreTest(unittest.TestCase):
    def test_what_is_written_is_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "stock.csv")
            write_stock(path, [Item("rice", 1, minimum=3), Item("flour", 5)])
            self.assertEqual([item.name for item in read_stock(path)], ["flour", "rice"])


if __name__ == "__main__":
    unittest.main()
