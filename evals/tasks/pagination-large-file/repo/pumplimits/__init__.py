"""Reads the limits of the pumping stations."""

from .reader import LimitsError, load, parse

__all__ = ["LimitsError", "load", "parse"]
