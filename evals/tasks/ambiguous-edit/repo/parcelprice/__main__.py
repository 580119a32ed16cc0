import sys
from decimal import Decimal, InvalidOperation

from .quote import QuoteError, quote


def main(arguments):
    try:
        zone, weight = arguments
        print(quote(int(zone), Decimal(weight)))
    except (ValueError, InvalidOperation):
        print("usage: python3 -m parcelprice ZONE KILOGRAMS", file=sys.stderr)
        return 2
    except QuoteError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


sys.exit(main(sys.argv[1:]))
