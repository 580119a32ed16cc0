#!/usr/bin/env bash
set -u
export LC_ALL=C
command -v node >/dev/null || exit 99
command -v timeout >/dev/null || timeout() { shift; "$@"; }
fail() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

diff -r -x .DS_Store "$CODEY_EVAL_BEFORE/data" data >/dev/null 2>&1 || fail "the data of the trains changed"
cp -R src bin data package.json "$tmp/" 2>/dev/null || fail "parts of the repository are missing"
cp -R "$CODEY_EVAL_BEFORE/tests" "$CODEY_EVAL_HIDDEN/check.mjs" "$tmp/"
cd "$tmp" || exit 99
timeout 20 node check.mjs >out 2>&1 </dev/null && [ "$(cat out)" = ok ] ||
    fail "wrong: $(grep -m 1 Error out || echo "the check does not end")"
timeout 30 node --test tests/ >/dev/null 2>&1 </dev/null || fail "the tests of the repository fail"
