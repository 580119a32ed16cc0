import os
import tempfile
import unittest

from decks.model import Card, Deck, DeckError
from decks.storage import load, load_all, save


class StorageTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def test_load_reads_what_save_wrote(self):
        save(Deck("Capitals", [Card("Norway", "Oslo")]), self.path("a.json"))
        deck = load(self.path("a.json"))
        self.assertEqual((deck.title, deck.cards[0].back), ("Capitals", "Oslo"))

    def test_load_refuses_what_is_no_deck(self):
        with open(self.path("b.json"), "w") as stream:
            stream.write("[]")
        with self.assertRaises(DeckError):
            load(self.path("b.json"))

    def test_load_all_sorts_by_title(self):
        save(Deck("B", []), self.path("1.json"))
        save(Deck("A", []), self.path("2.json"))
        self.assertEqual([deck.title for deck in load_all(self.folder)], ["A", "B"])


if __name__ == "__main__":
    unittest.main()
