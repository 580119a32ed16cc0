"""Exactly one line differs: trip_bar of pump B of the station named Hollerfeld."""
import sys

before, after = (open(path, "rb").read().decode("utf-8").split("\n") for path in sys.argv[1:3])
if len(before) != len(after):
    sys.exit(f"the file has {len(after)} lines instead of {len(before)}")
changed = [i for i, (old, new) in enumerate(zip(before, after)) if old != new]
start = before.index("name = Hollerfeld")
want = next(i for i in range(before.index("  [pump B]", start), len(before)) if "trip_bar" in before[i])
if changed != [want]:
    sys.exit(f"changed are the lines {[i + 1 for i in changed][:5]}, it should be {want + 1} only")
if after[want] != before[want].replace("6.4", "4.8"):
    sys.exit(f"line {want + 1} is {after[want]!r}")
print("ok")
