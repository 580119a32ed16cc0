"""Looks for bad lines."""

import rowfile


def first_problem(path):
    """What is wrong with a file, None if nothing is. Lines are counted from 1, the heading is line 1."""
    try:
        for index, row in enumerate(rowfile.read(path)):
            if not row["moisture"].isdigit():
                return "line %d: moisture is %r" % (index + 2, row["moisture"])
    except rowfile.ParseError as error:
        return "line %d: %s" % (error.line + 1, error)
    return None
