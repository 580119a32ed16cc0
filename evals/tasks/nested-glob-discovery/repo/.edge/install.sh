#!/bin/sh
# Copies the relay to a box: .edge/install.sh HOST
scp "$(dirname "$0")/relay.conf" "$1:/etc/relay.conf"
