"""Forwards requests to our services."""
