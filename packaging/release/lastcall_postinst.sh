#!/bin/sh
# What dpkg runs after it has unpacked the package lastcall.
set -e
if [ "$1" = configure ]; then
  # The unit's user is needed now, and systemd itself would make it only at the next boot.
  if command -v systemd-sysusers >/dev/null; then
    systemd-sysusers ${DPKG_ROOT:+--root="$DPKG_ROOT"} lastcall.conf
  fi
  if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
fi
