"""Codey as an agent of Harbor: `harbor run --agent codey_harbor:Codey`."""

from codey_harbor.agent import Codey

__all__ = ["Codey"]
