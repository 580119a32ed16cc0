"""Decks as tab-separated lines: front, tab, back."""

import os

from decks.model import Card, Deck
from decks.storage import load


def load_tsv(path):
    with open(path, encoding="utf-8") as stream:
        rows = [line.rstrip("\n").split("\t") for line in stream if line.strip()]
    title = os.path.splitext(os.path.basename(path))[0]
    return Deck(title, [Card(row[0], row[1] if len(row) > 1 else "") for row in rows])


def export(path):
    """The lines of a deck that is stored as JSON."""
    return ["%s\t%s" % (card.front, card.back) for card in load(path).cards]
