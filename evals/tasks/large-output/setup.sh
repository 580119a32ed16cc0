#!/usr/bin/env bash
# Writes the statement and the ledger, 6,000 lines each. Always the same text. Line 2500 has its minus behind the amount.
set -eu
mkdir -p books
LC_ALL=C awk '
function grouped(n,  s) {
    s = sprintf("%d", n)
    return length(s) > 3 ? substr(s, 1, length(s) - 3) "." substr(s, length(s) - 2) : s
}
BEGIN {
    split("rent of the hall;tickets;bar;cleaning;posters;electricity;piano tuner;donation;refund;insurance", what, ";")
    seed = 7
    for (i = 1; i <= 6000; i++) {
        seed = (seed * 1103 + 12345) % 65537
        euros = seed % 4800; cents = (seed * 7) % 100
        form = seed % 5; sign = 1
        text = grouped(euros) "," sprintf("%02d", cents)
        if (i == 2500) { euros = 1860; cents = 40; sign = -1; text = "1.860,40-" }
        else if (form == 1) { sign = -1; text = "-" text }
        else if (form == 2) { sign = -1; text = "(" text ")" }
        else if (form == 3) text = text " EUR"
        printf "%02d.%02d.;%s;%s\n", i % 28 + 1, int((i - 1) / 500) + 1, text, what[seed % 10 + 1] > "books/statement.txt"
        printf "%d\n", sign * (euros * 100 + cents) > "books/ledger.txt"
    }
}'
