import importlib
import pkgutil
import sys

from . import plugins
from .alerts import message
from .beds import BEDS


def main(lines, out):
    for plugin in pkgutil.iter_modules(plugins.__path__):
        importlib.import_module(f"{plugins.__name__}.{plugin.name}")
    for line in lines:
        name, temperature = line.split()
        print(message(BEDS[name], float(temperature)), file=out)


if __name__ == "__main__":
    main(sys.stdin, sys.stdout)
