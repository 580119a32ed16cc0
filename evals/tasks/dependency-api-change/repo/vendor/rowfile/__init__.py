"""Rows of text in a file, with a heading."""

import contextlib

__version__ = "2.0"
__all__ = ["RowError", "open_rows", "write"]


class RowError(Exception):
    """A row that does not fit the heading. `line` counts from 1, with the heading as line 1."""

    def __init__(self, line, message):
        super().__init__(message)
        self.line = line


@contextlib.contextmanager
def open_rows(path, *, delimiter=",", strip=False):
    """Give an iterator of the rows of a file, each a dict by the names of the heading."""
    with open(path, encoding="utf-8-sig", newline="") as stream:
        yield _rows(stream, delimiter, strip)


def _rows(stream, delimiter, strip):
    heading = None
    for line, text in enumerate(stream, 1):
        values = text.rstrip("\r\n").split(delimiter)
        if strip:
            values = [value.strip() for value in values]
        if heading is None:
            heading = values
        elif len(values) != len(heading):
            raise RowError(line, "%d values instead of %d" % (len(values), len(heading)))
        else:
            yield dict(zip(heading, values))


def write(rows, path, columns, *, delimiter=","):
    """Write a heading and rows (dicts) to a file."""
    if isinstance(rows, str):
        raise TypeError("the rows come first, then the path")
    if not columns:
        raise ValueError("a file needs columns")
    with open(path, "w", encoding="utf-8", newline="") as stream:
        stream.write(delimiter.join(columns) + "\n")
        for row in rows:
            stream.write(delimiter.join(row[name] for name in columns) + "\n")
