"""Tidies up the files our soil sensors send."""

import os
import sys

# rowfile is not installed, we bring it along.
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "vendor"))
