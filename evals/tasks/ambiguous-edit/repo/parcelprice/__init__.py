"""Prices of parcels."""

from .quote import quote
from .zones import ZONES

__all__ = ["ZONES", "quote"]
