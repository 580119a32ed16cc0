#!/usr/bin/env bash
# Solved: the tests of the workspace pass with the right code, and fail with each of the hidden mutants of it.
set -u
export LC_ALL=C
unset NODE_OPTIONS
command -v node >/dev/null || exit 99
command -v timeout >/dev/null || timeout() { shift; "$@"; }
no() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

[ -f test/duration.test.js ] || no "test/duration.test.js is not there"
for file in src/duration.js src/lap.js src/plan.js test/lap.test.js; do
  cmp -s "$CODEY_EVAL_BEFORE/$file" "$file" || no "$file was changed"
done

# The code is as it was, so this is the right code.
timeout 30 node --test >"$tmp/out" 2>&1 </dev/null || no "node --test fails with the right code"

# Copies have all that the workspace has, so that a test fails for no other reason than its code.
mkdir "$tmp/copies" || exit 99
copy() { # NAME [CODE]
  cp -R . "$tmp/copies/$1" 2>/dev/null && rm -rf "$tmp/copies/$1/.git" || no "the workspace cannot be copied"
  [ $# -eq 1 ] || cp -f "$2" "$tmp/copies/$1/src/duration.js" 2>/dev/null || no "the workspace cannot be copied"
}
passes() { (cd "$tmp/copies/$1" && timeout 20 node test/duration.test.js >/dev/null 2>&1 </dev/null); }
copy right
passes right || no "node test/duration.test.js fails in a copy of the workspace"
copy other "$CODEY_EVAL_HIDDEN/duration-in-other-words.js"
passes other || no "the tests fail with code that does the same and reads differently"
# Each in a process of its own, four at a time, since one that is too slow would count as noticed.
started=0
for mutant in "$CODEY_EVAL_HIDDEN"/mutants/*.js; do
  name=$(basename "$mutant" .js)
  copy "$name" "$mutant"
  { passes "$name" && echo "$name" >>"$tmp/survivors"; } &
  started=$((started + 1))
  [ $((started % 4)) -ne 0 ] || wait
  [ ! -s "$tmp/survivors" ] || break
done
wait
[ -s "$tmp/survivors" ] && no "not noticed: $(sort "$tmp/survivors" | tr '\n' ' ')"
exit 0
