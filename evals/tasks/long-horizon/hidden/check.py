"""The report has the 24 saturations, each driver limits to its own, and nothing else of it changed."""
import ast
import csv
import os
import sys

before, after = sys.argv[1:3]
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from generate import DRIVERS

wrong = []
try:
    with open(os.path.join(after, "audit", "saturation.csv"), encoding="utf-8", newline="") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row]
except OSError:
    sys.exit("there is no audit/saturation.csv")
want = [["name", "counts"]] + [[driver[0], str(driver[1])] for driver in DRIVERS]
if rows != want:
    differing = [row for row in want if row not in rows]
    sys.exit(f"the report misses or misstates {len(differing)} lines, for example {differing[:1]}, or is out of order")


def parts(folder, name, function):
    """The top level of a module without the limiting function, and that function alone."""
    with open(os.path.join(folder, "drivers", name + ".py"), encoding="utf-8") as file:
        source = file.read()
    nodes = ast.parse(source).body
    is_limiter = lambda node: isinstance(node, ast.FunctionDef) and node.name == function
    return [ast.dump(node) for node in nodes if not is_limiter(node)], sum(map(is_limiter, nodes)), source


for name, saturation, function, *_ in DRIVERS:
    old, _, _ = parts(before, name, function)
    new, limiters, source = parts(after, name, function)
    if limiters != 1:
        sys.exit(f"{name} has {limiters} functions {function}")
    # A constant may be added; what was there stays.
    if [node for node in new if node in set(old)] != old or len(new) > len(old) + 2:
        sys.exit(f"something else in {name} changed")
    scope = {"__name__": "drivers." + name}
    exec(compile(source, name, "exec"), scope)
    limit = scope[function]
    for raw in (-70000, -1, 0, 1, 17, saturation - 1, saturation, saturation + 1, 4095, 4096, 10000, 65536, 10**6):
        if limit(raw) != max(0, min(raw, saturation)):
            sys.exit(f"{name} limits {raw} to {limit(raw)}, its sensor ends at {saturation}")
print("ok")
