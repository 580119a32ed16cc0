#!/usr/bin/env bash
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
command -v python3 >/dev/null || exit 99
fail() { echo "$1"; exit 1; }
tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT

for file in parcelprice/quote.py parcelprice/__main__.py; do
    cmp -s "$CODEY_EVAL_BEFORE/$file" "$file" || fail "$file changed"
done
# Sources only, so that nothing compiled stands in for them.
cp -R parcelprice "$CODEY_EVAL_BEFORE/tests" "$tmp/" || fail "parcelprice is missing"
find "$tmp" -name __pycache__ -prune -exec rm -r {} +
out=$(python3 "$CODEY_EVAL_HIDDEN/check.py" "$tmp" 2>&1)
[ "$out" = ok ] || fail "$(printf '%s\n' "$out" | tail -n 1)"
(cd "$tmp" && python3 -m unittest discover -s tests >/dev/null 2>&1) || fail "the tests of the repository fail"
