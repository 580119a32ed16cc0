"""The reader of limits/stations.conf."""

import re

PUMP = re.compile(r"\[pump ([A-Z])\]$")
PRESSURES = ("trip_bar", "restart_bar")


class LimitsError(Exception):
    """A line that cannot be understood; the text begins with its number."""


def parse(text):
    """Returns the stations by name: {"code": ..., "pumps": {"A": {...}}}."""
    stations = {}
    station = pump = None
    pending = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line == "[station]":
            station, pump = {"pumps": {}}, None
            pending.append((number, station))
            continue
        found = PUMP.match(line)
        if found:
            if station is None:
                raise LimitsError(f"{number}: a pump outside of a station")
            pump = station["pumps"].setdefault(found.group(1), {})
            continue
        key, equals, value = (part.strip() for part in line.partition("="))
        if not equals or station is None:
            raise LimitsError(f"{number}: cannot read {line!r}")
        if key in PRESSURES:
            value = pressure(number, value)
        (station if pump is None else pump)[key] = value
    for number, station in pending:
        name = station.get("name")
        if name is None or name in stations:
            raise LimitsError(f"{number}: station without a name of its own")
        stations[name] = station
    return stations


def pressure(number, value):
    if not re.match(r"\d+\.\d$", value):
        raise LimitsError(f"{number}: {value!r} is not a pressure")
    return float(value)


def load(path):
    with open(path, encoding="utf-8") as file:
        return parse(file.read())
