"""The command line."""

from sensors.check import first_problem
from sensors.means import means
from sensors.merge import merge

USAGE = "usage: sensors mean FILE | merge OUT FILE... | check FILE"


def main(arguments, out=print):
    if len(arguments) == 2 and arguments[0] == "mean":
        for line in means(arguments[1]):
            out(line)
    elif len(arguments) > 2 and arguments[0] == "merge":
        out("%d rows" % merge(arguments[1], arguments[2:]))
    elif len(arguments) == 2 and arguments[0] == "check":
        problem = first_problem(arguments[1])
        out(problem or "fine")
        return 1 if problem else 0
    else:
        out(USAGE)
        return 2
    return 0
