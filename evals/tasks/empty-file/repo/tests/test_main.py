import io
import unittest


class Main(unittest.TestCase):
    def test_a_line_for_each_bed(self):
        from greenhouse.__main__ import main

        out = io.StringIO()
        main(["tomatoes 31.5\n", "fuchsias 11\n"], out)
        self.assertEqual(out.getvalue(), "tomatoes: too warm by 3.5 degrees\nfuchsias: fine\n")


if __name__ == "__main__":
    unittest.main()
