import unittest
from unittest import mock

from decks import stats
from decks.model import Card, Deck


class StatsTest(unittest.TestCase):
    def test_cards_without_a_back_are_counted(self):
        deck = Deck("Capitals", [Card("Norway", "Oslo"), Card("Peru")])
        with mock.patch("decks.storage.load", return_value=deck) as fake:
            self.assertEqual(stats.of_file("capitals.json"), (2, 1))
        fake.assert_called_once_with("capitals.json")


if __name__ == "__main__":
    unittest.main()
