#!/usr/bin/env bash
set -eu
rm -r build
rm lib/scale.o lib/smooth.o lib/libgauge.a out/report.txt out/report.log
