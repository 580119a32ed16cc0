#!/bin/sh
# Writes FILE.sig beside FILE.
cksum "$1" | cut -d ' ' -f 1,2 >"$1.sig"
