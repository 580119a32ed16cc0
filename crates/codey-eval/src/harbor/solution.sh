#!/usr/bin/env bash
# Runs the solution of a Harbor task. It stands in here whole, so that it can be given to a shell as a command too.
set -u
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
@HERE@
mkdir -p "$tmp/logs/agent"
@FILES@
use_paths_here "$tmp/solution"
bash "$tmp/solution/solve.sh"
