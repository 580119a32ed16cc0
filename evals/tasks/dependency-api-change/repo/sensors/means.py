"""Mean values."""

import rowfile

from sensors import stations


def means(path):
    """Lines such as "Kiln Hill: 32.5 of 2 days", sorted by the name of the station."""
    names = stations.names()
    rows = rowfile.read(path)
    if len(rows) == 0:
        return ["no values"]
    values = {}
    for row in rows:
        values.setdefault(row["station"], []).append(int(row["moisture"]))
    return sorted(
        "%s: %.1f of %d days" % (names.get(station, station), sum(many) / len(many), len(many))
        for station, many in values.items()
    )
