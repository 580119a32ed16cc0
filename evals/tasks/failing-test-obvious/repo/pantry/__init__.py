"""Keeps track of what is in the cupboard."""

from pantry.item import Item

__all__ = ["Item"]
