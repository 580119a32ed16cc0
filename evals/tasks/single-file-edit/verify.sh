#!/usr/bin/env bash
# Solved: the one timeout is 45 seconds, and every other line of every file is as it was.
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1 PYTHONUTF8=1
command -v python3 >/dev/null || exit 99
no() { echo "$1"; exit 1; }

why=$(python3 "$CODEY_EVAL_HIDDEN/check_config.py" "$CODEY_EVAL_BEFORE" 2>&1) || no "$(echo "$why" | tail -n 1)"
diff -r -x .git -x __pycache__ -x .pytest_cache -x services.ini "$CODEY_EVAL_BEFORE" . >/dev/null 2>&1 || no "another file was changed"
python3 -m unittest discover -s tests -t . >/dev/null 2>&1 </dev/null || no "the tests fail"
exit 0
