#!/usr/bin/env python3
"""to_tabs.py FILE OUT: a file with tabs instead of commas, for the spreadsheet."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "vendor"))

import rowfile as files  # noqa: E402


def main():
    source, target = sys.argv[1:]
    try:
        rows = files.read(source)
    except files.ParseError as error:
        sys.exit("%s:%d: %s" % (source, error.line + 1, error))
    files.write(target, rows, sep="\t")


if __name__ == "__main__":
    main()
