#!/usr/bin/env bash
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
command -v python3 >/dev/null || exit 99
command -v timeout >/dev/null || timeout() { shift; "$@"; }
fail() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
caches=(-x .git -x .codey -x __pycache__ -x .pytest_cache -x .ruff_cache -x .mypy_cache -x node_modules -x .DS_Store)

[ -s greenhouse/alerts.py ] || fail "greenhouse/alerts.py is empty or missing"
# What should be there: the workspace as it was, but for this one file. Tests may be added.
cp -R "$CODEY_EVAL_BEFORE" "$tmp/want" || exit 99
cp greenhouse/alerts.py "$tmp/want/greenhouse/alerts.py" 2>/dev/null || fail "greenhouse/alerts.py cannot be read"
other=$(diff -rq "${caches[@]}" "$tmp/want" . 2>&1 | grep -v '^Only in ./tests: test_' | head -1)
[ -z "$other" ] || fail "something else changed: $(sed "s#$tmp/want#before#" <<<"$other")"
# Sources only, so that nothing compiled stands in for them.
mkdir "$tmp/copy" || exit 99
cp -R greenhouse "$tmp/copy" 2>/dev/null || fail "greenhouse cannot be read"
find "$tmp/copy" -name __pycache__ -prune -exec rm -r {} +
timeout 20 python3 "$CODEY_EVAL_HIDDEN/check.py" "$tmp/copy" >"$tmp/out" 2>&1 </dev/null && [ "$(cat "$tmp/out")" = ok ] ||
    fail "$(tail -n 1 "$tmp/out" | grep . || echo "the check does not end")"
printf 'tomatoes 31.5\nfuchsias 11\norchids -2\n' >"$tmp/in"
(cd "$tmp/copy" && timeout 20 python3 -m greenhouse <"$tmp/in" >"$tmp/out" 2>&1)
[ "$(cat "$tmp/out")" = $'tomatoes: too warm by 3.5 degrees\nfuchsias: fine\norchids: too cold by 20.0 degrees!' ] ||
    fail "the program prints: $(cat "$tmp/out")"
