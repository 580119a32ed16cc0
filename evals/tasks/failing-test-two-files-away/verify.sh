#!/usr/bin/env bash
# Solved: clock times are right wherever passengers see them, and no test or data was changed (added tests are fine).
set -u
export LC_ALL=C
unset NODE_OPTIONS
command -v node >/dev/null || exit 99
command -v timeout >/dev/null || timeout() { shift; "$@"; }
no() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

cmp -s "$CODEY_EVAL_BEFORE/data/timetable.json" data/timetable.json || no "data/timetable.json was changed"
cp -R src data package.json "$tmp" 2>/dev/null || no "files are missing"
for name in board delays poster schedule; do
  file=test/$name.test.js
  [ -f "$file" ] || no "$file was removed"
  diff "$CODEY_EVAL_BEFORE/$file" "$file" | grep -q '^<' && no "$file was changed"
done
# The workspace's own tests, then the ones that were there, against the workspace's modules.
timeout 30 node --test >"$tmp/out" 2>&1 </dev/null || no "the tests in the workspace fail"
cp -R "$CODEY_EVAL_BEFORE/test" "$tmp/test"
cd "$tmp" || exit 99
printf 'import "./test/%s.test.js";\n' board delays poster schedule >all.mjs
timeout 20 node all.mjs >out 2>&1 </dev/null || no "the tests that were there fail"
grep -q 'pass 7' out || no "not all tests ran"
timeout 20 node "$CODEY_EVAL_HIDDEN/hidden.mjs" >out 2>&1 </dev/null || no "a time is wrong: $(grep -m 1 Error out)"
grep -qx 'hidden checks passed' out || no "the hidden checks did not run to their end"
timeout 20 node src/main.js poster N3 >out 2>&1 </dev/null
grep -qx '02 | 20 50' out || no "the poster of line N3 is wrong"
exit 0
