"""Flash cards in the terminal."""

from decks.model import Card, Deck, DeckError
from decks.storage import load, load_all, save

__all__ = ["Card", "Deck", "DeckError", "load", "load_all", "save"]
