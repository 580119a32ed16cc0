"""Prints the report of a month: python3 report.py 2024-03"""

import os
import re
import sqlite3
import sys

SQL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sql")


def script(name):
    with open(os.path.join(SQL, name), encoding="utf-8") as file:
        return file.read()


def database(*seeds):
    """Returns a database in memory with the schema and these scripts."""
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    for text in (script("schema.sql"), *seeds):
        connection.executescript(text)
    return connection


def rows(connection, query, month):
    return [dict(row) for row in connection.execute(script(query), {"month": month})]


def euros(cents):
    return f"{cents // 100}.{cents % 100:02d}"


def main(arguments):
    if len(arguments) != 1 or not re.match(r"\d{4}-\d\d$", arguments[0]):
        print(__doc__, file=sys.stderr)
        return 2
    connection = database(script("seed.sql"))
    print(f"{'region':<10}{'orders':>8}{'ordered':>12}{'paid':>12}")
    for row in rows(connection, "by_region.sql", arguments[0]):
        print(f"{row['region']:<10}{row['orders']:>8}{euros(row['ordered']):>12}{euros(row['paid']):>12}")
    print()
    for row in rows(connection, "by_cheese.sql", arguments[0]):
        print(f"{row['cheese']:<10}{row['pieces']:>8}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
