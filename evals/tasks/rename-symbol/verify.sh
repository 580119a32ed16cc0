#!/usr/bin/env bash
# Solved: the function has its new name everywhere, the old one is gone, look-alike names and the changelog are as before.
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1 PYTHONUTF8=1
command -v python3 >/dev/null || exit 99
command -v timeout >/dev/null || timeout() { shift; "$@"; }
no() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
# With no module of the workspace in the place of one of the library.
isolated() { timeout 20 python3 -I -B -X utf8 "$@" >"$tmp/out" 2>&1 </dev/null; }
passes() { isolated "$CODEY_EVAL_HIDDEN/run_tests.py" "$@" && grep -qx 'all tests ran and passed' "$tmp/out"; }

cmp -s "$CODEY_EVAL_BEFORE/CHANGELOG.md" CHANGELOG.md || no "the changelog was changed"
isolated "$CODEY_EVAL_HIDDEN/check_words.py" "$CODEY_EVAL_BEFORE" || no "$(tail -n 1 "$tmp/out")"
# Sources only, so that nothing compiled stands in for them.
cp -R . "$tmp/copy" 2>/dev/null && cd "$tmp/copy" || no "the workspace cannot be read"
find . \( -name .git -o -name __pycache__ \) -prune -exec rm -rf {} +
passes 5 || no "the tests in the workspace fail, or not all of them ran"
passes 6 "$CODEY_EVAL_HIDDEN/test_hidden.py" ||
  no "$(grep -m 1 -E '^(FAIL|ERROR)' "$tmp/out"): $(tail -n 5 "$tmp/out" | head -n 1)"
exit 0
