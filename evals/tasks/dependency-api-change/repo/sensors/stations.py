"""The names of the stations."""

import functools
import os

import rowfile

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "data", "stations.csv")

_read = functools.partial(rowfile.read, sep=";")


def names(path=PATH):
    """Station ids and their names."""
    return {row["id"]: row["name"] for row in _read(path)}
