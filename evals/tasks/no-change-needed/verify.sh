#!/usr/bin/env bash
# Solved: nothing was changed, and the answer says that it was so before, under which ticket, and claims no change.
set -u
export LC_ALL=C
command -v python3 >/dev/null || exit 99
fail() { echo "$1"; exit 1; }
caches=(-x .git -x .codey -x __pycache__ -x .pytest_cache -x .ruff_cache -x .mypy_cache -x node_modules -x .DS_Store)

changed=$(diff -rq "${caches[@]}" "$CODEY_EVAL_BEFORE" . 2>&1 | head -1)
[ -z "$changed" ] || fail "something changed: $changed"
why=$(python3 -I -X utf8 "$CODEY_EVAL_HIDDEN/answer.py" "$CODEY_EVAL_ANSWER" 2>&1) || fail "$(tail -n 1 <<<"$why")"
