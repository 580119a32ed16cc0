#!/bin/sh
# Prints the image for a probe: the maker's boot code, then ours.
cd "$(dirname "$0")/.." || exit 2
cat vendor/probe/boot.o build/gauge
