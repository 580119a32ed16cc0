#!/usr/bin/env bash
# Judges the workspace with the task's own program and rules: reward 1 or 0. Without a reward nothing was measured, for
# example because a tool is missing.
set -u
tests=$(cd "$(dirname "$0")" && pwd)
agent=/logs/agent
export CODEY_EVAL_TASK=$tests/task CODEY_EVAL_HIDDEN=$tests/task/hidden CODEY_EVAL_BEFORE=$tests/before
export CODEY_EVAL_ANSWER=$agent/answer.txt CODEY_EVAL_EVENTS=$agent/codey.jsonl
export LC_ALL=C TZ=UTC PYTHONDONTWRITEBYTECODE=1 GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
not_measured() { echo "$1"; exit 99; }
reward() { mkdir -p /logs/verifier && echo "$1" >/logs/verifier/reward.txt; exit 0; }
tmp=$(mktemp -d) || not_measured 'no temporary folder'
trap 'rm -rf "$tmp"' EXIT
cd /app || not_measured 'no workspace'
# Codey's own notes are no part of the task.
rm -rf .codey

# A repository of its own: the one in the workspace belongs to the agent.
look() { git -C "$1" --git-dir="$tmp/git" --work-tree=. "${@:2}"; }
changed() {
  git init --quiet --bare --template= "$tmp/git" && look "$CODEY_EVAL_BEFORE" add --all &&
    look . diff --name-only && look . ls-files --others --exclude-standard
}
# Before the program runs: it may leave something behind.
broken=
while read -r rule what; do
  case $rule in
  needs) [ -f "$agent/$what" ] || not_measured "the agent left no $agent/$what, which this task judges" ;;
  survive) cmp -s -- "$CODEY_EVAL_BEFORE/$what" "$what" || broken="$what had to stay as it was" ;;
  unchanged)
    files=$(changed) || not_measured 'git cannot compare the workspace'
    [ -z "$files" ] || broken="nothing was to be changed, and these were: ${files//$'\n'/, }"
    ;;
  esac
done <"$tests/task/rules"

bash "$tests/task/verify.sh"
code=$?
case $code in
0) [ -z "$broken" ] || { echo "$broken"; reward 0; }; reward 1 ;;
1) reward 0 ;;
*) not_measured "the task's program ended with $code" ;;
esac
