import unittest

from greenhouse.beds import BEDS


class Beds(unittest.TestCase):
    def test_each_bed_has_room_between_its_temperatures(self):
        for name, bed in BEDS.items():
            self.assertEqual(name, bed.name)
            self.assertLess(bed.lowest, bed.highest)
            self.assertGreater(bed.margin, 0)


if __name__ == "__main__":
    unittest.main()
