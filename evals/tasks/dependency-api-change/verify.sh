#!/usr/bin/env bash
# Solved: the program does with rowfile 2.0 what it did with 1.x (hidden tests), and vendor/ is as it was.
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1 PYTHONUTF8=1
command -v python3 >/dev/null || exit 99
command -v timeout >/dev/null || timeout() { shift; "$@"; }
no() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
caches=(-x __pycache__ -x .pytest_cache -x .ruff_cache -x .mypy_cache -x .DS_Store)
# With no module of the workspace in the place of one of the library.
passes() {
  timeout 20 python3 -I -B -X utf8 "$CODEY_EVAL_HIDDEN/run_tests.py" "$@" \
    >"$tmp/out" 2>&1 </dev/null && grep -qx 'all tests ran and passed' "$tmp/out"
}

diff -r "${caches[@]}" "$CODEY_EVAL_BEFORE/vendor" vendor >/dev/null 2>&1 || no "vendor/ was changed"
diff -r "${caches[@]}" "$CODEY_EVAL_BEFORE/data" data >/dev/null 2>&1 || no "data/ was changed"
[ -f tests/test_sensors.py ] || no "tests/test_sensors.py was removed"
diff "$CODEY_EVAL_BEFORE/tests/test_sensors.py" tests/test_sensors.py | grep -q '^<' && no "a test was changed"
# Sources only, so that nothing compiled stands in for them.
cp -R . "$tmp/copy" 2>/dev/null && cd "$tmp/copy" || no "the workspace cannot be read"
find . \( -name .git -o -name __pycache__ \) -prune -exec rm -rf {} +
passes 4 || no "the tests in the workspace fail, or not all of them ran"
passes 10 "$CODEY_EVAL_HIDDEN/test_hidden.py" || no "$(grep -m 1 -E '^(FAIL|ERROR|[A-Za-z]*Error)' "$tmp/out")"
exit 0
