#!/bin/sh
# Reads the statement and compares each amount with the ledger. Ends with 1 if they differ.
cd "$(dirname "$0")" || exit 2
PYTHONDONTWRITEBYTECODE=1 exec python3 -m statements.compare books/statement.txt books/ledger.txt
