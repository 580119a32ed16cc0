import os
import tempfile
import unittest

from sensors import cli, stations

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "data")


class SensorsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_main(self, *arguments):
        lines = []
        code = cli.main(list(arguments), out=lines.append)
        return code, lines

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        return path

    def test_stations_have_names(self):
        self.assertEqual(stations.names()["k2"], "Mill Pond")

    def test_means_of_june(self):
        self.assertEqual(
            self.run_main("mean", os.path.join(DATA, "june.csv")),
            (0, ["Kiln Hill: 32.5 of 2 days", "Long Field: 27.0 of 1 days", "Mill Pond: 42.5 of 2 days"]),
        )

    def test_merged_files_are_sorted(self):
        one = self.file("1.csv", "station,day,moisture\nk2,2031-07-01,40\n")
        two = self.file("2.csv", "station,day,moisture\nk1,2031-07-02,30\nk1,2031-07-01,31\n")
        target = os.path.join(self.folder, "out.csv")
        self.assertEqual(self.run_main("merge", target, one, two), (0, ["3 rows"]))
        with open(target, encoding="utf-8") as stream:
            self.assertEqual(
                stream.read(),
                "station,day,moisture\nk1,2031-07-01,31\nk1,2031-07-02,30\nk2,2031-07-01,40\n",
            )

    def test_a_bad_value_is_found(self):
        path = self.file("bad.csv", "station,day,moisture\nk1,2031-07-01,30\nk1,2031-07-02,wet\n")
        self.assertEqual(self.run_main("check", path), (1, ["line 3: moisture is 'wet'"]))


if __name__ == "__main__":
    unittest.main()
