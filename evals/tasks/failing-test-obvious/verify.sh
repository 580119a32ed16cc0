#!/usr/bin/env bash
# Solved: the shopping list is right (hidden tests), and the tests that were there pass unchanged (added ones are fine).
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
command -v python3 >/dev/null || exit 99
command -v timeout >/dev/null || timeout() { shift; "$@"; }
no() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

for file in tests/test_item.py tests/test_report.py tests/test_store.py; do
  [ -f "$file" ] || no "$file was removed"
  diff "$CODEY_EVAL_BEFORE/$file" "$file" | grep -q '^<' && no "$file was changed"
done
# The workspace's own tests, then the ones that were there, against the workspace's package.
timeout 20 python3 -m unittest discover -s tests -t . >"$tmp/out" 2>&1 </dev/null || no "the tests in the workspace fail"
cp -R pantry "$tmp" && cp -R "$CODEY_EVAL_BEFORE/tests" "$tmp" || no "files are missing"
cd "$tmp" || exit 99
timeout 20 python3 -m unittest discover -s tests -t . >out 2>&1 </dev/null || no "the tests that were there fail"
grep -q '^Ran 7 tests' out && grep -qx 'OK' out || no "not all tests ran"
PYTHONPATH=$PWD timeout 20 python3 "$CODEY_EVAL_HIDDEN/test_hidden.py" >out 2>&1 </dev/null ||
  no "the shopping list is wrong: $(tail -n 1 out)"
exit 0
