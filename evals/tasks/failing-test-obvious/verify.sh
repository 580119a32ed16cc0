#!/usr/bin/env bash
# Solved: the shopping list is right (hidden tests), and the tests that were there pass unchanged (added ones are fine).
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
command -v python3 >/dev/null || exit 99
command -v timeout >/dev/null || timeout() { shift; "$@"; }
no() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
# With no module of the workspace in the place of one of the library.
passes() {
  timeout 20 python3 -I -B -X utf8 "$CODEY_EVAL_HIDDEN/run_tests.py" "$@" \
    >"$tmp/out" 2>&1 </dev/null && grep -qx 'all tests ran and passed' "$tmp/out"
}

for file in tests/test_item.py tests/test_report.py tests/test_store.py; do
  [ -f "$file" ] || no "$file was removed"
  diff "$CODEY_EVAL_BEFORE/$file" "$file" | grep -q '^<' && no "$file was changed"
done
# Sources only, so that nothing compiled stands in for them.
cp -R . "$tmp/copy" 2>/dev/null && cd "$tmp/copy" || no "the workspace cannot be read"
find . \( -name .git -o -name __pycache__ \) -prune -exec rm -rf {} +
# The workspace's own tests, then the ones that were there, against the workspace's package.
passes 7 || no "the tests in the workspace fail, or not all of them ran"
rm -rf tests
cp -R "$CODEY_EVAL_BEFORE/tests" tests 2>/dev/null || no "the workspace cannot be read"
passes 7 || no "the tests that were there fail, or not all of them ran"
passes 4 "$CODEY_EVAL_HIDDEN/test_hidden.py" || no "the shopping list is wrong: $(tail -n 1 "$tmp/out")"
exit 0
