#!/usr/bin/env bash
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
command -v python3 >/dev/null || exit 99
command -v timeout >/dev/null || timeout() { shift; "$@"; }
fail() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

for file in books/statement.txt books/ledger.txt check.sh statements/compare.py; do
    cmp -s "$CODEY_EVAL_BEFORE/$file" "$file" || fail "$file changed"
done
# Sources only, so that nothing compiled stands in for them.
mkdir "$tmp/copy" || exit 99
cp -R statements books check.sh "$CODEY_EVAL_BEFORE/tests" "$tmp/copy/" 2>/dev/null || fail "statements is missing"
find "$tmp" -name __pycache__ -prune -exec rm -r {} +
timeout 20 python3 "$CODEY_EVAL_HIDDEN/check.py" "$tmp/copy" >"$tmp/out" 2>&1 </dev/null && [ "$(cat "$tmp/out")" = ok ] ||
    fail "$(tail -n 1 "$tmp/out" | grep . || echo "the check does not end")"
timeout 20 sh "$tmp/copy/check.sh" >/dev/null 2>&1 </dev/null || fail "check.sh still fails"
(cd "$tmp/copy" && timeout 20 python3 -m unittest discover -s tests >/dev/null 2>&1 </dev/null) || fail "the tests of the repository fail"
