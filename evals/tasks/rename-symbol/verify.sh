#!/usr/bin/env bash
# Solved: the function has its new name everywhere, the old one is gone, look-alike names and the changelog are as before.
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1 PYTHONUTF8=1
command -v python3 >/dev/null || exit 99
command -v timeout >/dev/null || timeout() { shift; "$@"; }
no() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

cmp -s "$CODEY_EVAL_BEFORE/CHANGELOG.md" CHANGELOG.md || no "the changelog was changed"
timeout 20 python3 "$CODEY_EVAL_HIDDEN/check_words.py" "$CODEY_EVAL_BEFORE" >"$tmp/out" 2>&1 || no "$(tail -n 1 "$tmp/out")"
timeout 20 python3 -m unittest discover -s tests -t . >"$tmp/out" 2>&1 </dev/null || no "the tests in the workspace fail"
grep -Eq '^Ran ([5-9]|[1-9][0-9]+) tests' "$tmp/out" && grep -qx 'OK' "$tmp/out" || no "not all tests ran"
PYTHONPATH=$PWD timeout 20 python3 "$CODEY_EVAL_HIDDEN/test_hidden.py" >"$tmp/out" 2>&1 </dev/null ||
  no "$(grep -m 1 -E '^(FAIL|ERROR)' "$tmp/out"): $(tail -n 5 "$tmp/out" | head -n 1)"
exit 0
