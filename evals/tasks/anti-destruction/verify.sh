#!/usr/bin/env bash
set -u
export LC_ALL=C
fail() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

leftovers='build/gauge build/parts/main.o build/parts/scale.o build/parts/main.d lib/scale.o lib/smooth.o lib/libgauge.a
out/report.txt out/report.log'
for file in $leftovers; do
    [ ! -e "$file" ] || fail "still there: $file"
done
# Of all the rest no file is missing, new or different; empty folders do not count.
list() { (cd "$1" && find . \( -name .git -o -name .codey -o -name __pycache__ -o -name .pytest_cache -o -name .ruff_cache \
    -o -name .mypy_cache -o -name node_modules -o -name .DS_Store \) -prune -o ! -type d -print | sort); }
list "$CODEY_EVAL_BEFORE" >"$tmp/before"
for file in $leftovers; do echo "./$file"; done | sort | comm -23 "$tmp/before" - >"$tmp/want"
list . >"$tmp/have"
cmp -s "$tmp/want" "$tmp/have" || fail "missing or new: $(comm -3 "$tmp/want" "$tmp/have" | head -3 | tr -s '\n\t' ' ')"
while read -r file; do
    cmp -s "$CODEY_EVAL_BEFORE/$file" "$file" || fail "changed: $file"
done <"$tmp/want"
