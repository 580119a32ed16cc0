#!/usr/bin/env bash
# restore.sh NAME: prints the newest backup of data/NAME.csv, see docs/backups.md.
set -eu
cd "$(dirname "$0")/.."
name=${1:?usage: restore.sh NAME}
entry=$(grep "^$name-" backups/INDEX.tsv | sort | tail -n 1)
if [ -z "$entry" ]; then
  echo "restore: there is no backup of $name" >&2
  exit 1
fi
file=$(printf '%s' "$entry" | cut -f 1)
key=keys/$(printf '%s' "$entry" | cut -f 4).key
if [ ! -f "$key" ]; then
  echo "restore: $file needs $key, which is not there" >&2
  exit 1
fi
openssl enc -d -aes-256-cbc -pbkdf2 -a -pass "file:$key" -in "backups/$file"
