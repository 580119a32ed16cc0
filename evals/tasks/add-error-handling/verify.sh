#!/usr/bin/env bash
# Solved: readings_load reports each error and leaks nothing (hidden checks), wxstat says what is wrong, and good logs
# are read as before.
set -u
export LC_ALL=C
unset MAKEFLAGS CFLAGS
command -v gcc >/dev/null || exit 99
command -v timeout >/dev/null || timeout() { shift; "$@"; }
no() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

[ -f tests/test_wxstat.c ] || no "tests/test_wxstat.c was removed"
diff "$CODEY_EVAL_BEFORE/tests/test_wxstat.c" tests/test_wxstat.c | grep -q '^<' && no "a test was weakened"
for code in CANNOT_OPEN SHORT_RECORD NO_MEMORY; do
  grep -q "READINGS_$code" src/readings.h || no "READINGS_$code is gone"
done
flags="-std=c99 -O1 -g -Wall -D_POSIX_C_SOURCE=200809L -Isrc"

# shellcheck disable=SC2086
gcc $flags -o "$tmp/wxstat" src/*.c >"$tmp/out" 2>&1 || no "does not compile: $(grep -m 1 error "$tmp/out")"
# Everything but main.c, with its allocations and files counted.
others=$(find src -name '*.c' ! -name main.c)
for name in check growing; do
  # shellcheck disable=SC2086
  gcc $flags -I"$CODEY_EVAL_HIDDEN" -include alloc.h -o "$tmp/$name" "$CODEY_EVAL_HIDDEN/$name.c" \
    "$CODEY_EVAL_HIDDEN/alloc.c" $others >"$tmp/out" 2>&1 || no "the checks do not compile: $(grep -m 1 error "$tmp/out")"
  timeout 20 "$tmp/$name" "$tmp" >"$tmp/out" 2>&1 </dev/null || {
    why=$(tail -n 1 "$tmp/out")
    no "readings_load: ${why:-it crashed}"
  }
  grep -qx 'hidden checks passed' "$tmp/out" || no "the hidden checks did not run to their end"
done
# shellcheck disable=SC2086
gcc $flags -o "$tmp/visible" "$CODEY_EVAL_BEFORE/tests/test_wxstat.c" $others >"$tmp/out" 2>&1 ||
  no "the visible tests do not compile"
(mkdir "$tmp/build" && cd "$tmp" && timeout 20 ./visible >out 2>&1) || no "the visible tests fail"

run() { # EXPECTED-EXIT FILE
  timeout 20 "$tmp/wxstat" "$2" >"$tmp/stdout" 2>"$tmp/stderr" </dev/null
  got=$?
  [ "$got" -eq "$1" ] || no "wxstat $(basename "$2"): exit $got instead of $1"
}
run 1 "$tmp/nothing.log"
[ "$(cat "$tmp/stderr")" = "wxstat: $tmp/nothing.log: cannot be opened" ] || no "wrong message for a missing file"
[ -s "$tmp/stdout" ] && no "wxstat prints to stdout for a missing file"
printf '\1\2\3\4\5\6\7\0\1\2\3\4\1\2' >"$tmp/cut.log"
run 1 "$tmp/cut.log"
[ "$(cat "$tmp/stderr")" = "wxstat: $tmp/cut.log: ends within a record" ] || no "wrong message for a short record"
[ -s "$tmp/stdout" ] && no "wxstat prints to stdout for a short record"
printf '\1\2\3\4\5\6\7\0\1\2\3\4' >"$tmp/good.log"
run 0 "$tmp/good.log"
[ "$(cat "$tmp/stdout")" = "$(printf 'readings 1\nlowest 0.7\nhighest 0.7\nmean 0.7')" ] || no "a good log is read wrongly"
: >"$tmp/empty.log"
run 0 "$tmp/empty.log"
[ "$(cat "$tmp/stdout")" = "readings 0" ] || no "an empty log is read wrongly"
exit 0
