#!/usr/bin/env bash
# Installs the npm package `openai` into FOLDER, once: openai_package.sh FOLDER
set -euo pipefail
mkdir -p "$1"
cd "$1"
exec 9>lock
flock 9
if [[ -d node_modules/openai ]]; then exit 0; fi
# The last of these that runs on Debian's Node.js.
npm install --silent --ignore-scripts --no-audit --no-fund --omit=peer openai@4.104.0
