import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)

from pumplimits import LimitsError, load, parse

SMALL = """
[station]
name = Hinterhof
code = S-1
  [pump A]
  trip_bar = 5.0
  restart_bar = 2.0
"""


class Reader(unittest.TestCase):
    def test_a_station_has_its_pumps(self):
        station = parse(SMALL)["Hinterhof"]
        self.assertEqual(station["code"], "S-1")
        self.assertEqual(station["pumps"]["A"], {"trip_bar": 5.0, "restart_bar": 2.0})

    def test_a_pressure_has_one_digit_after_the_point(self):
        with self.assertRaisesRegex(LimitsError, "6: '5' is not a pressure"):
            parse(SMALL.replace("5.0", "5"))

    def test_a_name_is_there_once(self):
        with self.assertRaises(LimitsError):
            parse(SMALL + SMALL)


class TheFile(unittest.TestCase):
    def test_every_pump_trips_above_its_restart(self):
        stations = load(os.path.join(ROOT, "limits", "stations.conf"))
        self.assertEqual(len(stations), 140)
        for name, station in stations.items():
            self.assertEqual(sorted(station["pumps"]), ["A", "B", "C"], name)
            for pump in station["pumps"].values():
                self.assertGreater(pump["trip_bar"], pump["restart_bar"], name)


if __name__ == "__main__":
    unittest.main()
