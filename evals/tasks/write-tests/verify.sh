#!/usr/bin/env bash
# Solved: the tests of the workspace pass with the right code and fail with each of four hidden mutants of it.
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
passes() { (cd "$1" && timeout 30 node test/duration.test.js >out 2>&1 </dev/null); }
# Each in a process of its own, all at once.
for mutant in "$CODEY_EVAL_HIDDEN"/mutants/*.js; do
  name=$(basename "$mutant" .js)
  mkdir "$tmp/$name"
  cp -R src package.json test "$tmp/$name" && cp "$mutant" "$tmp/$name/src/duration.js" || no "files are missing"
  { passes "$tmp/$name" && echo "$name" >>"$tmp/survivors"; } &
done
wait
[ -s "$tmp/survivors" ] && no "not noticed: $(sort "$tmp/survivors" | tr '\n' ' ')"
exit 0
