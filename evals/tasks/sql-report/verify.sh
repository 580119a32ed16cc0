#!/usr/bin/env bash
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
command -v python3 >/dev/null && python3 -c 'import sqlite3' 2>/dev/null || exit 99
fail() { echo "$1"; exit 1; }
tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT

for file in sql/schema.sql sql/seed.sql sql/by_cheese.sql; do
    cmp -s "$CODEY_EVAL_BEFORE/$file" "$file" || fail "$file changed"
done
# The query has to be right by itself, so it is run with the report.py that was there.
mkdir "$tmp/run" && cp -R sql "$CODEY_EVAL_BEFORE/tests" "$CODEY_EVAL_BEFORE/report.py" "$tmp/run/" || exit 99
out=$(python3 "$CODEY_EVAL_HIDDEN/check.py" "$tmp/run" 2>&1)
[ "$out" = ok ] || fail "$(printf '%s\n' "$out" | tail -n 1)"
(cd "$tmp/run" && python3 -m unittest discover -s tests >/dev/null 2>&1) || fail "the tests of the repository fail"
out=$(python3 report.py 2024-03 2>&1)
grep -qE '^north +1 +620\.00 +620\.00$' <<<"$out" || fail "report.py prints: $(grep -m 1 -E 'north|Error' <<<"$out")"
