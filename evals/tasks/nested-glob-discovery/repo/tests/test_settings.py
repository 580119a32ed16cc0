import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from relay import SettingsError, read


class Settings(unittest.TestCase):
    def test_comments_and_headings_mean_nothing(self):
        self.assertEqual(read("[x]\n# port = 1\nport = 2 # two\n")["port"], "2")

    def test_the_last_one_counts(self):
        self.assertEqual(read("transport = tls\ntransport = tcp\n")["transport"], "tcp")

    def test_it_is_sent_in_the_clear_if_nothing_is_said(self):
        self.assertEqual(read("port = 1")["transport"], "tcp")

    def test_what_cannot_be_read(self):
        for text in ("port", "transport = udp"):
            with self.assertRaises(SettingsError):
                read(text)


if __name__ == "__main__":
    unittest.main()
