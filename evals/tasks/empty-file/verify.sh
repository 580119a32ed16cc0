#!/usr/bin/env bash
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
command -v python3 >/dev/null || exit 99
fail() { echo "$1"; exit 1; }
tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT

[ -s greenhouse/alerts.py ] || fail "greenhouse/alerts.py is empty or missing"
# Tests may be added, nothing else.
other=$(diff -rq -x .git -x .codey -x __pycache__ -x alerts.py "$CODEY_EVAL_BEFORE" . 2>&1 | grep -v '^Only in ./tests: test_' | head -1)
[ -z "$other" ] || fail "something else changed: $other"
# Sources only, so that nothing compiled stands in for them.
cp -R greenhouse "$tmp/" || exit 99
find "$tmp" -name __pycache__ -prune -exec rm -r {} +
out=$(python3 "$CODEY_EVAL_HIDDEN/check.py" "$tmp" 2>&1)
[ "$out" = ok ] || fail "$(printf '%s\n' "$out" | tail -n 1)"
out=$(printf 'tomatoes 31.5\nfuchsias 11\norchids -2\n' | (cd "$tmp" && python3 -m greenhouse 2>&1))
[ "$out" = $'tomatoes: too warm by 3.5 degrees\nfuchsias: fine\norchids: too cold by 20.0 degrees!' ] || fail "the program prints: $out"
