"""Compares a statement with the ledger: python3 -m statements.compare STATEMENT LEDGER"""

import sys

from .booking import read_booking


def euros(cents):
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02d}"


def main(statement, ledger):
    agreeing = total = 0
    with open(statement, encoding="utf-8") as lines, open(ledger, encoding="utf-8") as written:
        for total, (line, wanted) in enumerate(zip(lines, written), start=1):
            booking = read_booking(line)
            same = booking.cents == int(wanted)
            agreeing += same
            remark = "agrees" if same else f"ledger says {euros(int(wanted))}"
            print(f"{total:5} {booking.day} {booking.written:>14} {euros(booking.cents):>10}  {remark}, {booking.purpose}")
    print(f"{agreeing} of {total} bookings agree with the ledger")
    return 0 if agreeing == total else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
