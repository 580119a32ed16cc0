#!/usr/bin/env bash
rm -rf build
find . -name '*.[oa]' -delete
rm -f out/report.*
