#!/usr/bin/env bash
set -u
export LC_ALL=C
command -v node >/dev/null || exit 99
fail() { echo "$1"; exit 1; }
tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT

diff -r "$CODEY_EVAL_BEFORE/data" data >/dev/null 2>&1 || fail "the data of the trains changed"
cp -R src bin data package.json "$tmp/" || fail "parts of the repository are missing"
cp -R "$CODEY_EVAL_BEFORE/tests" "$CODEY_EVAL_HIDDEN/check.mjs" "$tmp/"
cd "$tmp" || exit 99
out=$(node check.mjs 2>&1)
[ "$out" = ok ] || fail "wrong: $(printf '%s\n' "$out" | grep -m 1 Error)"
node --test tests/ >/dev/null 2>&1 || fail "the tests of the repository fail"
