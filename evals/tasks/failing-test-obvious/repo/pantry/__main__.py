import sys

from pantry.cli import main

sys.exit(main(sys.argv[1:]))
