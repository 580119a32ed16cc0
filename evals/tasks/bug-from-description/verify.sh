#!/usr/bin/env bash
# Solved: after a change of quantity every sum is right (hidden checks), nothing else changed its behaviour, sums are still
# remembered, and the tests that were there are still there.
set -u
export LC_ALL=C
unset JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS CLASSPATH
command -v javac >/dev/null && command -v java >/dev/null || exit 99
command -v timeout >/dev/null || timeout() { shift; "$@"; }
no() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

for file in test/shop/CartTest.java test/shop/SessionTest.java; do
  [ -f "$file" ] || no "$file was removed"
done
# shellcheck disable=SC2046
timeout 60 javac -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC -nowarn -proc:none -encoding UTF-8 -d "$tmp" \
  $(find src -name '*.java' ! -name Article.java) "$CODEY_EVAL_HIDDEN/Article.java" \
  "$CODEY_EVAL_BEFORE"/test/shop/*.java "$CODEY_EVAL_HIDDEN/HiddenChecks.java" \
  >"$tmp/out" 2>&1 || no "does not compile: $(head -n 1 "$tmp/out")"
timeout 20 java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -cp "$tmp" HiddenChecks >"$tmp/out" 2>&1 </dev/null ||
  no "the cart is wrong: $(tail -n 1 "$tmp/out")"
grep -qx 'hidden checks passed' "$tmp/out" || no "the hidden checks did not run to their end"
exit 0
