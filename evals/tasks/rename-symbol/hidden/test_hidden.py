import json
import os
import tempfile
import unittest
from unittest import mock

import decks
from decks import cli, quiz, readers, stats, storage, tabular
from decks.model import Card, Deck


class HiddenTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "a.json")
        storage.save(Deck("Capitals", [Card("Norway", "Oslo"), Card("Peru")]), self.path)

    def test_the_new_name_is_there_and_the_old_one_is_not(self):
        self.assertEqual(storage.read_deck(self.path).title, "Capitals")
        self.assertIs(decks.read_deck, storage.read_deck)
        self.assertEqual(storage.read_deck.__name__, "read_deck")
        for module in (decks, storage, tabular, stats, quiz):
            self.assertFalse(hasattr(module, "load"), module.__name__)

    def test_the_list_of_public_names_is_right(self):
        self.assertEqual(sorted(decks.__all__), ["Card", "Deck", "DeckError", "load_all", "read_deck", "save"])

    def test_other_names_are_kept(self):
        self.assertEqual([deck.title for deck in decks.load_all(self.folder)], ["Capitals"])
        self.assertTrue(callable(tabular.load_tsv))
        self.assertIs(readers.Readers().load(".tsv"), tabular.load_tsv)
        self.assertFalse(hasattr(readers.Readers, "read_deck"))
        self.assertEqual(quiz.Quiz("x", loader=lambda path: Deck("T", [])).deck.title, "T")

    def test_load_all_goes_through_the_new_name(self):
        with mock.patch("decks.storage.read_deck", return_value=Deck("M", [])):
            self.assertEqual(list(stats.of_folder(self.folder)), ["M"])
            self.assertEqual(stats.of_file("x"), (0, 0))

    def test_every_command_works(self):
        for command, expected in (
            ("stats", ["2 cards, 1 without a back"]),
            ("export", ["Norway\tOslo", "Peru\t"]),
            ("ask", ["1 right"]),
            ("show", ["Capitals: Norway, Peru"]),
        ):
            lines = []
            self.assertEqual(cli.main([command, self.path], out=lines.append, answer=lambda front: "Oslo"), 0)
            self.assertEqual(lines, expected)

    def test_the_configuration_names_the_function(self):
        with open(readers.CONFIG, encoding="utf-8") as stream:
            data = json.load(stream)["readers"]
        self.assertEqual(data, {".json": "decks.storage:read_deck", ".tsv": "decks.tabular:load_tsv"})


if __name__ == "__main__":
    unittest.main()
