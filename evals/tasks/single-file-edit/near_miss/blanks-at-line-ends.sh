#!/usr/bin/env bash
# The right edit, and a blank behind each line.
set -eu
awk '/^\[/ { here = $0 == "[billing @ staging]" } here && /^timeout_ms/ { sub("30000", "45000") } { print $0 " " }' \
  config/services.ini >new && mv new config/services.ini
