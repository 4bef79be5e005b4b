#!/usr/bin/env bash
# Installs the Python package `openai` into FOLDER, once: openai_python.sh FOLDER
set -euo pipefail
mkdir -p "$1"
cd "$1"
exec 9>lock
flock 9
if [[ -d site/openai ]]; then exit 0; fi
/usr/bin/python3 -m pip install --quiet --disable-pip-version-check --target part "openai==1.109.1"
mv part site
