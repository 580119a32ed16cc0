#!/usr/bin/env bash
# Solved: alignRight does what was asked (hidden checks), no check of the tests was removed, the tests of the
# workspace pass with its code and fail with an alignRight that does nothing, and the README names it.
set -u
export LC_ALL=C
unset JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS CLASSPATH
command -v javac >/dev/null && command -v java >/dev/null || exit 99
command -v timeout >/dev/null || timeout() { shift; "$@"; }
no() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
quick="-J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC -nowarn -proc:none"
fast="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"

for file in test/tables/TextTableTest.java test/tables/CsvTableTest.java; do
  [ -f "$file" ] || no "$file was removed"
  diff "$CODEY_EVAL_BEFORE/$file" "$file" | grep -Eq '^<.*check\.(equal|fails)' && no "a check of $file was removed"
done
grep -q alignRight README.md || no "the README does not name alignRight"

tests=$(find test -name '*Test.java' | sed 's|^test/||; s|\.java$||' | tr / .)
mkdir "$tmp/right" "$tmp/mutant"
# shellcheck disable=SC2046,SC2086
timeout 60 javac $quick -encoding UTF-8 -d "$tmp/right" $(find src test -name '*.java') \
  "$CODEY_EVAL_HIDDEN/HiddenChecks.java" "$CODEY_EVAL_HIDDEN/RunAll.java" >"$tmp/out" 2>&1 ||
  no "does not compile: $(head -n 1 "$tmp/out")"
# shellcheck disable=SC2086
timeout 20 java $fast -cp "$tmp/right" RunAll HiddenChecks $tests >"$tmp/out" 2>&1 </dev/null ||
  no "wrong: $(head -n 20 "$tmp/out" | tr '\n' '~')"
grep -qx 'hidden checks passed' "$tmp/out" && grep -qx 'all of them ended' "$tmp/out" || no "not all checks ran"

# The tests of the workspace with an alignRight that does nothing.
cp -R "$tmp/right/." "$tmp/mutant"
# shellcheck disable=SC2086
timeout 60 javac $quick -encoding UTF-8 -cp "$tmp" -d "$tmp/mutant" \
  "$CODEY_EVAL_HIDDEN/mutant/TextTable.java" >"$tmp/out" 2>&1 || exit 99
# shellcheck disable=SC2086
timeout 20 java $fast -cp "$tmp/mutant" RunAll $tests >"$tmp/out" 2>&1 </dev/null &&
  no "no test notices an alignRight that does nothing"
exit 0
