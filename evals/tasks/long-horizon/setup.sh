#!/usr/bin/env bash
# Writes 24 drivers of about 900 lines each.
set -eu
command -v python3 >/dev/null || exit 99
PYTHONDONTWRITEBYTECODE=1 python3 "$CODEY_EVAL_TASK/hidden/generate.py" drivers
