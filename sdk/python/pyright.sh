#!/usr/bin/env bash
# Finds or installs the type checker pyright, which Debian does not have: pyright.sh FOLDER
#
# Leaves FOLDER/pyright, a link to what PATH has, else to a package of npm's registry. Where that
# cannot be had the test that needs it is skipped and reports it.
set -euo pipefail
mkdir -p "$1"
folder=$(cd "$1" && pwd)
version=1.1.414

if [[ -x $folder/pyright ]]; then exit 0; fi
if command -v pyright >/dev/null; then
  ln -sf "$(command -v pyright)" "$folder/pyright"
elif ! command -v npm >/dev/null; then
  echo 'pyright.sh: no pyright on PATH, and no npm to install it with' >&2
else
  mkdir -p "$folder/npm-pyright"
  cd "$folder/npm-pyright"
  if timeout 120 npm install --silent --ignore-scripts --no-audit --no-fund --omit=optional \
    "pyright@$version" >&2; then
    ln -sf "$PWD/node_modules/.bin/pyright" "$folder/pyright"
  else
    echo 'pyright.sh: cannot install pyright' >&2
  fi
fi
