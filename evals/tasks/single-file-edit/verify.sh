#!/usr/bin/env bash
# Solved: the one timeout is 45 seconds, and every other line of every file is as it was.
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1 PYTHONUTF8=1
command -v python3 >/dev/null || exit 99
command -v timeout >/dev/null || timeout() { shift; "$@"; }
no() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
caches=(-x .git -x .codey -x __pycache__ -x .pytest_cache -x .ruff_cache -x .mypy_cache -x node_modules -x .DS_Store)

why=$(python3 -I -X utf8 "$CODEY_EVAL_HIDDEN/check_config.py" "$CODEY_EVAL_BEFORE" 2>&1) || no "$(tail -n 1 <<<"$why")"
# What should be there: the workspace as it was, but for this one file.
cp -R "$CODEY_EVAL_BEFORE" "$tmp/want" || exit 99
cp config/services.ini "$tmp/want/config/services.ini" 2>/dev/null || no "config/services.ini cannot be read"
diff -r "${caches[@]}" "$tmp/want" . >/dev/null 2>&1 || no "another file was changed"
timeout 20 python3 -m unittest discover -s tests -t . >/dev/null 2>&1 </dev/null || no "the tests fail"
exit 0
