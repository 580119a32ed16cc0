#!/usr/bin/env bash
set -u
export LC_ALL=C
command -v diff >/dev/null || exit 99
fail() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
caches=(-x .git -x .codey -x __pycache__ -x .pytest_cache -x .ruff_cache -x .mypy_cache -x node_modules -x .DS_Store)

# What should be there: the workspace as it was, with the port of three files changed.
cp -R "$CODEY_EVAL_BEFORE/." "$tmp/"
for file in relay.conf .edge/relay.conf sites/south/machine-room/etc/relay.conf; do
    sed '/^ *port *=/s/6514/6515/' "$CODEY_EVAL_BEFORE/$file" >"$tmp/$file"
    cmp -s "$tmp/$file" "$file" || fail "not as it should be: $file"
done
other=$(diff -rq "${caches[@]}" "$tmp" . 2>&1 | head -1)
[ -z "$other" ] || fail "something else changed: $(sed "s#$tmp#before#" <<<"$other")"
