"""Decks as JSON files."""

import json
import os

from decks.model import Card, Deck, DeckError


def load(path):
    """Read one deck."""
    with open(path, encoding="utf-8") as stream:
        try:
            data = json.load(stream)
            return Deck(data["title"], [Card(card["front"], card.get("back", "")) for card in data["cards"]])
        except (ValueError, KeyError, TypeError) as error:
            raise DeckError("%s is not a deck: %s" % (path, error)) from error


def load_all(folder):
    """Read all decks of a folder, sorted by title; see load for what can go wrong."""
    names = [name for name in os.listdir(folder) if name.endswith(".json") and not name.startswith(".")]
    return sorted((load(os.path.join(folder, name)) for name in names), key=lambda deck: deck.title)


def save(deck, path):
    data = {"title": deck.title, "cards": [{"front": card.front, "back": card.back} for card in deck.cards]}
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(data, stream, ensure_ascii=False, indent=1)
        stream.write("\n")
