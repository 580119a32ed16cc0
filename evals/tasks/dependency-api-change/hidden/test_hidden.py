import os
import subprocess
import sys
import tempfile
import unittest

from sensors import cli, stations
from sensors.merge import merge

ROOT = os.getcwd()
HEAD = "station,day,moisture\n"


class HiddenTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_main(self, *arguments):
        lines = []
        return cli.main(list(arguments), out=lines.append), lines

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        return path

    def text(self, path):
        with open(path, encoding="utf-8", newline="") as stream:
            return stream.read()

    def to_tabs(self, source):
        target = os.path.join(self.folder, "out.tsv")
        script = os.path.join(ROOT, "scripts", "to_tabs.py")
        done = subprocess.run(
            [sys.executable, script, source, target], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder
        )
        return done.returncode, done.stderr.decode("utf-8").strip(), target

    def test_names_are_stripped(self):
        self.assertEqual(stations.names(), {"k1": "Kiln Hill", "k2": "Mill Pond", "k3": "Long Field"})
        path = self.file("s.csv", "id;name\r\n x ; Some, where \r\n")
        self.assertEqual(stations.names(path), {"x": "Some, where"})

    def test_means(self):
        path = self.file("a.csv", HEAD + "k1 ,d,30\nk1,d, 31\n q,d,7\n")
        self.assertEqual(self.run_main("mean", path), (0, ["Kiln Hill: 30.5 of 2 days", "q: 7.0 of 1 days"]))

    def test_means_of_nothing(self):
        self.assertEqual(self.run_main("mean", self.file("a.csv", HEAD)), (0, ["no values"]))
        self.assertEqual(self.run_main("mean", self.file("b.csv", "")), (0, ["no values"]))

    def test_merged_values_are_stripped(self):
        one = self.file("1.csv", HEAD + "k2, 2031-07-01 , 40\n")
        two = self.file("2.csv", "\ufeff" + HEAD + " k1,2031-07-02,30\n")
        target = os.path.join(self.folder, "out.csv")
        self.assertEqual(self.run_main("merge", target, one, two), (0, ["2 rows"]))
        self.assertEqual(self.text(target), HEAD + "k1,2031-07-02,30\nk2,2031-07-01,40\n")

    def test_other_columns_are_kept(self):
        one = self.file("1.csv", "day,station,depth\n2,k1,5\n1,k1,6\n")
        target = os.path.join(self.folder, "out.csv")
        self.assertEqual(merge(target, [one]), 2)
        self.assertEqual(self.text(target), "day,station,depth\n1,k1,6\n2,k1,5\n")

    def test_merging_nothing_writes_an_empty_file(self):
        target = self.file("out.csv", "old")
        self.assertEqual(self.run_main("merge", target, self.file("1.csv", HEAD)), (0, ["0 rows"]))
        self.assertEqual(self.text(target), "")

    def test_problems_have_the_line_of_the_file(self):
        short = self.file("short.csv", HEAD + "k1,d,1\nk1,d\n")
        self.assertEqual(self.run_main("check", short), (1, ["line 3: 2 values instead of 3"]))
        bad = self.file("bad.csv", HEAD + "k1,d, x \n")
        self.assertEqual(self.run_main("check", bad), (1, ["line 2: moisture is 'x'"]))
        good = self.file("good.csv", HEAD + "k1,d, 12 \n")
        self.assertEqual(self.run_main("check", good), (0, ["fine"]))

    def test_the_script_writes_tabs(self):
        code, error, target = self.to_tabs(self.file("a.csv", HEAD + "k1, d ,1\n"))
        self.assertEqual((code, error), (0, ""))
        self.assertEqual(self.text(target), "station\tday\tmoisture\nk1\td\t1\n")

    def test_the_script_writes_an_empty_file_for_no_rows(self):
        code, error, target = self.to_tabs(self.file("a.csv", HEAD))
        self.assertEqual((code, error), (0, ""))
        self.assertEqual(self.text(target), "")

    def test_the_script_names_the_bad_line(self):
        path = self.file("a.csv", HEAD + "k1,d,1\nk1,d,1,2\n")
        code, error, target = self.to_tabs(path)
        self.assertEqual((code, error), (1, path + ":3: 4 values instead of 3"))
        self.assertFalse(os.path.exists(target))


if __name__ == "__main__":
    unittest.main()
