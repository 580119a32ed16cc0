#!/usr/bin/env bash
set -u
export LC_ALL=C
command -v timeout >/dev/null || timeout() { shift; "$@"; }
fail() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

# Into a folder with a blank, since the scripts have a place as well.
mkdir "$tmp/scan box" && cp -R bin lib "$tmp/scan box/" 2>/dev/null && cp -R "$CODEY_EVAL_BEFORE/tests" "$tmp/scan box/" 2>/dev/null || fail "bin or lib is missing"
# A script that asks on the terminal or waits must not hang the checker.
timeout 30 bash "$tmp/scan box/tests/run.sh" >"$tmp/out" 2>&1 </dev/null || fail "ordinary names: $(head -1 "$tmp/out")"
timeout 60 bash "$CODEY_EVAL_HIDDEN/check.sh" "$tmp/scan box/bin" "$tmp" </dev/null >"$tmp/out" 2>&1
[ "$(tail -n 1 "$tmp/out")" = ok ] || fail "$(grep -m 1 '^wrong' "$tmp/out" || tail -n 1 "$tmp/out")"
