import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from drivers.registry import LIMITING
from tools.check import audited, problem


class Audit(unittest.TestCase):
    def test_it_has_all_drivers_in_order(self):
        self.assertEqual(list(audited()), sorted(LIMITING))

    def test_the_drivers_limit_as_it_says(self):
        counts = audited()
        for name in LIMITING:
            with self.subTest(name):
                self.assertIsNone(problem(name, counts.get(name)))


if __name__ == "__main__":
    unittest.main()
