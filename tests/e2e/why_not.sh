#!/usr/bin/env bash
# Prints why containers cannot run here, or nothing: only reasons that no package could mend.
set -euo pipefail
if ((EUID != 0)); then
  echo 'containers need root'
elif ! unshare --mount --pid --net --fork true 2>/dev/null; then
  echo 'containers need namespaces of their own, which this machine or container does not grant'
fi
