"""The command line."""

from decks import stats, tabular
from decks.quiz import Quiz
from decks.readers import Readers

USAGE = "usage: decks stats|export|ask|show FILE"


def main(arguments, out=print, answer=input):
    if len(arguments) != 2:
        out(USAGE)
        return 2
    command, path = arguments
    if command == "stats":
        out("%d cards, %d without a back" % stats.of_file(path))
    elif command == "export":
        for line in tabular.export(path):
            out(line)
    elif command == "ask":
        out("%d right" % Quiz(path).ask(answer))
    elif command == "show":
        deck = Readers().open(path)
        out("%s: %s" % (deck.title, ", ".join(card.front for card in deck.cards)))
    else:
        out(USAGE)
        return 2
    return 0
