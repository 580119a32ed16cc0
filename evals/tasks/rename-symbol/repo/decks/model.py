"""Cards and decks."""


class DeckError(Exception):
    """A file that is not a deck."""


class Card:
    def __init__(self, front, back=""):
        self.front = front
        self.back = back


class Deck:
    def __init__(self, title, cards):
        self.title = title
        self.cards = list(cards)
