#!/usr/bin/env bash
# The right edit, by an editor that writes other line ends.
set -eu
awk '/^\[/ { here = $0 == "[billing @ staging]" } here && /^timeout_ms/ { sub("30000", "45000") } { printf "%s\r\n", $0 }' \
  config/services.ini >new && mv new config/services.ini
