"""Runs the query on orders with any number of lines and payments, and compares it with sums made here."""
import sys

sys.path.insert(0, sys.argv[1])
from report import database, rows, script

COLUMNS = ["region", "orders", "ordered", "paid"]
# region: its orders of the month, each with its lines (pieces, cents) and payments
ORDERS = {
    "instalments": [([(20, 3100)], [30000, 32000])],
    "many lines": [([(1, 500), (2, 700), (3, 900)], [4600])],
    "both": [([(1, 500), (2, 700)], [300, 600, 1000]), ([(4, 25)], [100])],
    "alike": [([(1, 500), (1, 500)], [250, 250, 250, 250]), ([(1, 500)], [500])],
    "unpaid": [([(2, 700), (1, 100)], [])],
    "no lines": [([], [400, 400])],
    "nothing": [([], [])],
    "paid back": [([(1, 900)], [900, 900, -900])],
}
seed, want, order = [], {}, 100
for customer, (region, orders) in enumerate(ORDERS.items(), start=50):
    # Two customers of a region.
    seed.append(f"INSERT INTO customers VALUES ({customer}, 'a', '{region}'), ({customer + 50}, 'a', '{region}');")
    for number, (lines, payments) in enumerate(orders):
        order += 1
        seed.append(f"INSERT INTO orders VALUES ({order}, {customer + 50 * (number % 2)}, '2023-07-{order % 28 + 1:02d}', 0);")
        seed += [f"INSERT INTO order_lines VALUES ({order}, 'blue', {pieces}, {cents});" for pieces, cents in lines]
        seed += [f"INSERT INTO payments VALUES ({order}, '2023-08-01', {cents});" for cents in payments]
    want[region] = (
        len(orders),
        sum(pieces * cents for lines, _ in orders for pieces, cents in lines),
        sum(sum(payments) for _, payments in orders),
    )
seed.append("""
INSERT INTO customers VALUES (300, 'b', 'elsewhere'), (301, 'c', 'no orders');
INSERT INTO orders VALUES (300, 300, '2023-07-01', 1), (301, 300, '2023-08-01', 0), (302, 300, '2023-06-30', 0), (303, 50, '2023-07-02', 1);
INSERT INTO order_lines VALUES (300, 'blue', 1, 100), (301, 'blue', 1, 100), (302, 'blue', 1, 100), (303, 'blue', 1, 100);
INSERT INTO payments VALUES (300, '2023-07-01', 100), (301, '2023-07-01', 100), (302, '2023-07-01', 100), (303, '2023-07-01', 5);
""")
got = rows(database("\n".join(seed)), "by_region.sql", "2023-07")
if any(list(row) != COLUMNS for row in got):
    sys.exit(f"the columns are {list(got[0])}")
if [row["region"] for row in got] != sorted(want):
    sys.exit(f"the regions are {[row['region'] for row in got]}")
for row in got:
    if (row["orders"], row["ordered"], row["paid"]) != want[row["region"]]:
        sys.exit(f"region {row['region']!r} has {list(row.values())[1:]} instead of {list(want[row['region']])}")
march = [tuple(row.values()) for row in rows(database(script("seed.sql")), "by_region.sql", "2024-03")]
if march != [("north", 1, 62000, 62000), ("south", 3, 30500, 23500)]:
    sys.exit(f"March is {march}")
print("ok")
