#!/usr/bin/env bash
set -u
export LC_ALL=C
command -v python3 >/dev/null || exit 99
fail() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
caches=(-x .git -x .codey -x __pycache__ -x .pytest_cache -x .ruff_cache -x .mypy_cache -x node_modules -x .DS_Store)

# What should be there: the workspace as it was, but for this one file.
cp -R "$CODEY_EVAL_BEFORE" "$tmp/want" || exit 99
cp limits/stations.conf "$tmp/want/limits/stations.conf" 2>/dev/null || fail "limits/stations.conf cannot be read"
others=$(diff -rq "${caches[@]}" "$tmp/want" . 2>&1 | head -1)
[ -z "$others" ] || fail "something else changed: $(sed "s#$tmp/want#before#" <<<"$others")"
out=$(python3 -I -X utf8 "$CODEY_EVAL_HIDDEN/check.py" "$CODEY_EVAL_BEFORE/limits/stations.conf" limits/stations.conf 2>&1)
[ "$out" = ok ] || fail "$(printf '%s\n' "$out" | tail -n 1)"
