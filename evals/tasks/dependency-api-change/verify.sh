#!/usr/bin/env bash
# Solved: the program does with rowfile 2.0 what it did with 1.x (hidden tests), and vendor/ is as it was.
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1 PYTHONUTF8=1
command -v python3 >/dev/null || exit 99
command -v timeout >/dev/null || timeout() { shift; "$@"; }
no() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

diff -r -x __pycache__ "$CODEY_EVAL_BEFORE/vendor" vendor >/dev/null 2>&1 || no "vendor/ was changed"
diff -r "$CODEY_EVAL_BEFORE/data" data >/dev/null 2>&1 || no "data/ was changed"
[ -f tests/test_sensors.py ] || no "tests/test_sensors.py was removed"
diff "$CODEY_EVAL_BEFORE/tests/test_sensors.py" tests/test_sensors.py | grep -q '^<' && no "a test was changed"
timeout 20 python3 -m unittest discover -s tests -t . >"$tmp/out" 2>&1 </dev/null || no "the tests in the workspace fail"
grep -Eq '^Ran ([4-9]|[1-9][0-9]+) tests' "$tmp/out" && grep -qx OK "$tmp/out" || no "not all tests ran"
PYTHONPATH=$PWD timeout 20 python3 "$CODEY_EVAL_HIDDEN/test_hidden.py" >"$tmp/out" 2>&1 </dev/null ||
  no "$(grep -m 1 -E '^(FAIL|ERROR|[A-Za-z]*Error)' "$tmp/out")"
exit 0
