"""What a relay.conf means."""

from .settings import SettingsError, read

__all__ = ["SettingsError", "read"]
