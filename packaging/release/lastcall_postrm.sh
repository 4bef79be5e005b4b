#!/bin/sh
# What dpkg runs after it has removed the package lastcall. The user stays, as it may own files.
set -e
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
