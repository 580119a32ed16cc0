#!/usr/bin/env bash
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
command -v python3 >/dev/null && python3 -I -c 'import sqlite3' 2>/dev/null || exit 99
command -v timeout >/dev/null || timeout() { shift; "$@"; }
fail() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

for file in sql/schema.sql sql/seed.sql sql/by_cheese.sql; do
    cmp -s "$CODEY_EVAL_BEFORE/$file" "$file" || fail "$file changed"
done
# The query has to be right by itself, so it is run with the report.py that was there.
mkdir "$tmp/run" && cp -R "$CODEY_EVAL_BEFORE/tests" "$CODEY_EVAL_BEFORE/report.py" "$tmp/run/" || exit 99
cp -R sql "$tmp/run/" 2>/dev/null || fail "sql is missing"
timeout 20 python3 "$CODEY_EVAL_HIDDEN/check.py" "$tmp/run" >"$tmp/out" 2>&1 </dev/null && [ "$(cat "$tmp/out")" = ok ] ||
    fail "$(tail -n 1 "$tmp/out" | grep . || echo "the check does not end")"
(cd "$tmp/run" && timeout 20 python3 -m unittest discover -s tests >/dev/null 2>&1 </dev/null) || fail "the tests of the repository fail"
timeout 20 python3 report.py 2024-03 >"$tmp/out" 2>&1 </dev/null
grep -qE '^north +1 +620\.00 +620\.00$' "$tmp/out" || fail "report.py prints: $(grep -m 1 -E 'north|Error' "$tmp/out")"
