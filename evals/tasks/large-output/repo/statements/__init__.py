"""Reads bank statements."""

from .amount import AmountError, read_amount
from .booking import Booking, read_booking

__all__ = ["AmountError", "Booking", "read_amount", "read_booking"]
