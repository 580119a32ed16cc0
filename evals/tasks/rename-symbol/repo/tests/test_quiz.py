import unittest

from decks.model import Card, Deck
from decks.quiz import Quiz


class QuizTest(unittest.TestCase):
    def test_right_answers_are_counted(self):
        deck = Deck("Capitals", [Card("Norway", "Oslo"), Card("Peru", "Lima")])
        quiz = Quiz("unused", loader=lambda path: deck)
        self.assertEqual(quiz.ask(lambda front: {"Norway": " oslo"}.get(front, "?")), 1)


if __name__ == "__main__":
    unittest.main()
