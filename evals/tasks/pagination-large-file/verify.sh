#!/usr/bin/env bash
set -u
export LC_ALL=C
command -v python3 >/dev/null || exit 99
fail() { echo "$1"; exit 1; }

others=$(diff -rq -x .git -x __pycache__ -x .codey -x stations.conf "$CODEY_EVAL_BEFORE" . 2>&1 | head -1)
[ -z "$others" ] || fail "something else changed: $others"
out=$(python3 "$CODEY_EVAL_HIDDEN/check.py" "$CODEY_EVAL_BEFORE/limits/stations.conf" limits/stations.conf 2>&1)
[ "$out" = ok ] || fail "$(printf '%s\n' "$out" | tail -n 1)"
