#!/usr/bin/env bash
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
command -v python3 >/dev/null || exit 99
command -v timeout >/dev/null || timeout() { shift; "$@"; }
fail() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

for file in README.md drivers/registry.py drivers/__init__.py tools/check.py tests/test_drivers.py; do
    cmp -s "$CODEY_EVAL_BEFORE/$file" "$file" || fail "$file changed"
done
timeout 30 python3 "$CODEY_EVAL_HIDDEN/check.py" "$CODEY_EVAL_BEFORE" "$PWD" >"$tmp/out" 2>&1 </dev/null && [ "$(cat "$tmp/out")" = ok ] ||
    fail "$(tail -n 1 "$tmp/out" | grep . || echo "the check does not end")"
