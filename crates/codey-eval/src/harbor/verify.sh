#!/usr/bin/env bash
# Runs the test of a Harbor task. Its reward is the verdict: 1 or more is solved, none is not measured.
set -u
for command in @COMMANDS@; do
  command -v "$command" >/dev/null || { echo "$command is missing"; exit 99; }
done
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
@HERE@
mkdir -p "$tmp/logs/verifier" "$tmp/logs/agent"
cp "$CODEY_EVAL_ANSWER" "$tmp/logs/agent/answer.txt" && cp "$CODEY_EVAL_EVENTS" "$tmp/logs/agent/codey.jsonl" || exit 99
cp -R "$CODEY_EVAL_HIDDEN/tests" "$tmp/tests" && use_paths_here "$tmp/tests" || exit 99
bash "$tmp/tests/test.sh" >"$tmp/out" 2>&1 </dev/null
tail -n 1 "$tmp/out"
reward=$(cat "$tmp/logs/verifier/reward.txt" 2>/dev/null)
[ -n "$reward" ] || exit 99
awk -v reward="$reward" 'BEGIN { exit !(reward + 0 >= 1) }'
