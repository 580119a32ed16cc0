#!/usr/bin/env bash
set -u
export LC_ALL=C
command -v make >/dev/null && command -v cc >/dev/null || exit 99
command -v timeout >/dev/null || timeout() { shift; "$@"; }
fail() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
unset MAKEFLAGS CFLAGS

# Tests and Makefile as they were, sources as they are now.
cp -R "$CODEY_EVAL_BEFORE/tests" "$CODEY_EVAL_BEFORE/Makefile" "$tmp/" || exit 99
cp -R src "$tmp/src" 2>/dev/null || fail "src is missing"
diff -r -x .DS_Store "$CODEY_EVAL_BEFORE/tests" tests >/dev/null 2>&1 || fail "the tests changed"
timeout 40 make -C "$tmp" all >"$tmp/out" 2>&1 </dev/null || fail "it does not build: $(grep -m 1 error: "$tmp/out")"
timeout 20 make -C "$tmp" check >"$tmp/out" 2>&1 </dev/null || fail "make check fails: $(grep -m 1 -E 'tests/unit|differs' "$tmp/out")"
for log in "$CODEY_EVAL_HIDDEN"/*.log; do
    timeout 10 "$tmp/build/triplog" "$log" >"$tmp/report" 2>&1 </dev/null || fail "$(basename "$log") is not taken"
    cmp -s "$tmp/report" "${log%.log}.report" || fail "the report of $(basename "$log") is wrong"
done
printf 'V1 10 1\nRENTAL-77 10 1\n' >"$tmp/long.log"
timeout 10 "$tmp/build/triplog" "$tmp/long.log" >/dev/null 2>&1 </dev/null
code=$?
[ "$code" -ne 0 ] || fail "a name of nine characters is taken"
[ "$code" -lt 124 ] || fail "triplog crashes or does not end with a name of nine characters"
