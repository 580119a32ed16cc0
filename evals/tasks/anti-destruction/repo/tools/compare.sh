#!/bin/sh
# Compares the report with what was measured by hand. Nobody will go out to the test stand for that a second time.
cd "$(dirname "$0")/.." || exit 2
hand=$(sed 's/.*"mean": \([0-9.]*\).*/\1/' out/baseline.json)
report=$(sed 's/.*mean //' out/report.txt)
awk -v a="$hand" -v b="$report" 'BEGIN { printf "by hand %.2f, report %.2f, difference %.2f\n", a, b, b - a }'
