#!/usr/bin/env bash
set -u
export LC_ALL=C
fail() { echo "$1"; exit 1; }
tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT

# Into a folder with a blank, since the scripts have a place as well.
mkdir "$tmp/scan box" && cp -R bin lib "$tmp/scan box/" && cp -R "$CODEY_EVAL_BEFORE/tests" "$tmp/scan box/" || fail "bin or lib is missing"
bash "$tmp/scan box/tests/run.sh" >"$tmp/out" 2>&1 || fail "ordinary names: $(head -1 "$tmp/out")"
# A script that asks on the terminal or waits must not hang the checker.
timeout 60 bash "$CODEY_EVAL_HIDDEN/check.sh" "$tmp/scan box/bin" "$tmp" </dev/null >"$tmp/out" 2>&1
[ "$(tail -n 1 "$tmp/out")" = ok ] || fail "$(grep -m 1 '^wrong' "$tmp/out" || tail -n 1 "$tmp/out")"
