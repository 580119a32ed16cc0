#!/usr/bin/env bash
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
command -v python3 >/dev/null || exit 99
fail() { echo "$1"; exit 1; }

for file in README.md drivers/registry.py drivers/__init__.py tools/check.py tests/test_drivers.py; do
    cmp -s "$CODEY_EVAL_BEFORE/$file" "$file" || fail "$file changed"
done
out=$(python3 "$CODEY_EVAL_HIDDEN/check.py" "$CODEY_EVAL_BEFORE" "$PWD" 2>&1)
[ "$out" = ok ] || fail "$(printf '%s\n' "$out" | tail -n 1)"
