#!/usr/bin/env bash
# Compiles src/ and test/ into build/ and runs the main method of every class *Test.
set -eu
cd "$(dirname "$0")"
rm -rf build
mkdir build
find src test -name '*.java' | sort >build/sources.txt
javac -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC -proc:none -encoding UTF-8 -d build @build/sources.txt
failed=0
for file in $(find test -name '*Test.java' | sort); do
  class=${file#test/}
  class=${class%.java}
  java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp build "${class//\//.}" || failed=1
done
exit "$failed"
