#!/usr/bin/env bash
set -u
export LC_ALL=C
command -v node >/dev/null || exit 99
command -v timeout >/dev/null || timeout() { shift; "$@"; }
fail() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

for file in tools/gen.mjs src/check.mjs package.json; do
    cmp -s "$CODEY_EVAL_BEFORE/$file" "$file" || fail "$file changed"
done
cp -R schema src tools package.json "$tmp/" 2>/dev/null || fail "parts of the repository are missing"
cp -R "$CODEY_EVAL_BEFORE/tests" "$CODEY_EVAL_HIDDEN/check.mjs" "$tmp/"
cd "$tmp" || exit 99
# What the generator does not keep was not written where it belongs.
timeout 20 node tools/gen.mjs >/dev/null 2>&1 </dev/null || fail "the generator does not run"
cmp -s src/messages.mjs "$OLDPWD/src/messages.mjs" || fail "the next run of the generator changes src/messages.mjs"
timeout 20 node check.mjs "$CODEY_EVAL_BEFORE" >out 2>&1 </dev/null && [ "$(cat out)" = ok ] ||
    fail "wrong messages: $(grep -m 1 Error out || echo "the check does not end")"
timeout 30 node --test tests/ >/dev/null 2>&1 </dev/null || fail "the tests of the repository fail"
