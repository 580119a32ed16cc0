import sys

from sensors.cli import main

sys.exit(main(sys.argv[1:]))
