import sys

from decks.cli import main

sys.exit(main(sys.argv[1:]))
