#!/bin/sh
# Whether everything is there that cannot be made again.
cd "$(dirname "$0")/.." || exit 2
status=0
for file in README.md Makefile src/*.c src/scale.h lib/*.c build-tools/sign.sh tools/*.sh data/readings.db \
    out/baseline.json vendor/probe/boot.o; do
    [ -s "$file" ] || { echo "missing: $file"; status=1; }
done
exit $status
