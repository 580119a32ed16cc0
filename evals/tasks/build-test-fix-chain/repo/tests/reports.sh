#!/bin/sh
# Compares the report of each log with the .report beside it: tests/reports.sh PROGRAM
status=0
for log in "$(dirname "$0")"/logs/*.log; do
    if "$1" "$log" | diff "${log%.log}.report" -; then
        echo "ok: $log"
    else
        echo "differs: $log"
        status=1
    fi
done
exit $status
