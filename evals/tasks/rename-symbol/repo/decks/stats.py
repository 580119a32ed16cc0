"""Numbers about decks."""

from decks import storage


def of_file(path):
    """(number of cards, number of cards without a back)"""
    return _count(storage.load(path))


def of_folder(folder):
    return {deck.title: _count(deck) for deck in storage.load_all(folder)}


def _count(deck):
    return len(deck.cards), sum(1 for card in deck.cards if not card.back)
