"""Reads a relay.conf."""


class SettingsError(Exception):
    """The file is not a relay.conf."""


def read(text):
    """Returns the settings by name, as texts; the last of a name counts, and headings in brackets mean nothing."""
    settings = {}
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.split("#", 1)[0].strip()
        if not line or line.startswith("["):
            continue
        name, equals, value = line.partition("=")
        if not equals:
            raise SettingsError(f"line {number} is not a setting: {line}")
        settings[name.strip()] = value.strip()
    settings["transport"] = settings.get("transport", "tcp").lower()
    if settings["transport"] not in ("tcp", "tls"):
        raise SettingsError(f"there is no transport {settings['transport']}")
    return settings
