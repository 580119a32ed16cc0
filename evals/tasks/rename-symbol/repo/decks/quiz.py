"""Asking cards."""

from decks.storage import load as load_deck


class Quiz:
    def __init__(self, path, loader=None):
        self.deck = (loader or load_deck)(path)
        self.right = 0

    def ask(self, answer):
        """answer(front) returns what the learner says; returns the number of right ones."""
        for card in self.deck.cards:
            if answer(card.front).strip().lower() == card.back.lower():
                self.right += 1
        return self.right
