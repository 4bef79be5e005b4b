#!/usr/bin/env bash
# Builds the two images and holds them to their sizes.
#
#   packaging/images.sh [--tag TAG] [--base IMAGE] [--binaries FOLDER]
#
#   --base       Debian 12; `bootstrap` makes one from packages where no image registry can be
#                reached. Default: debian:12-slim, else what a bootstrap gives.
#   --binaries   use FOLDER/supervisor/cli/lastcall and FOLDER/shim/lastcall-shim (a build
#                directory) instead of compiling in the image
#
# CONTAINER_ENGINE names the builder: podman, else docker. Images: lastcall:TAG, lastcall-shim:TAG.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

engine=${CONTAINER_ENGINE:-$(command -v podman || command -v docker || true)}
tag=dev base='' binaries=''
largest_supervisor=30000000 largest_shim=2000000
bootstrapped=localhost/lastcall-base:12

die() { printf 'images.sh: %s\n' "$*" >&2; exit 2; }

while (($# > 0)); do
  case $1 in
    --tag) tag=${2:?} ;;
    --base) base=${2:?} ;;
    --binaries) binaries=${2:?} ;;
    *) die "unknown argument '$1', expected --tag, --base or --binaries" ;;
  esac
  shift 2
done
if [[ -z $engine ]]; then die 'neither podman nor docker is on PATH'; fi

bootstrap() {
  if "$engine" image inspect "$bootstrapped" >/dev/null 2>&1; then return; fi
  if ! command -v mmdebstrap >/dev/null; then
    die 'cannot get debian:12-slim, and mmdebstrap to make a base with is missing'
  fi
  echo "bootstrapping $bootstrapped"
  # From where this machine has its own packages, if that is told and is the same Debian.
  local sources=()
  # The format's fields are apt's to fill in.
  # shellcheck disable=SC2016
  if command -v apt-get >/dev/null; then
    mapfile -t sources < <(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) main' \
      'Created-By: Packages' 'Origin: Debian' 'Component: main' 2>/dev/null |
      grep -E ' bookworm[a-z-]* main$' || true)
  fi
  # By way of a file: what a failed bootstrap gives would be imported, and taken ever after.
  mkdir -p build
  mmdebstrap --quiet --variant=minbase --dpkgopt=force-unsafe-io bookworm build/base.tar \
    "${sources[@]}"
  "$engine" import --change 'ENV PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin' \
    build/base.tar "$bootstrapped" >/dev/null
  rm build/base.tar
}

if [[ -z $base ]]; then
  base=debian:12-slim
  "$engine" pull -q "$base" >/dev/null 2>&1 || base=bootstrap
fi
if [[ $base == bootstrap ]]; then bootstrap; base=$bootstrapped; fi

version=$(sed -n 's/^project(lastcall VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
arguments=(--build-arg "BASE=$base" --build-arg "VERSION=$version")
rm -rf build/image
if [[ -n $binaries ]]; then
  mkdir -p build/image
  trap 'rm -rf build/image' EXIT
  cp "$binaries/supervisor/cli/lastcall" "$binaries/shim/lastcall-shim" build/image/
fi
# Without a network of their own its containers need no packet filter of the machine's.
if [[ $engine == *podman ]]; then arguments+=(--format oci --network host); fi
for target in shim supervisor; do
  name=lastcall; if [[ $target == shim ]]; then name=lastcall-shim; fi
  "$engine" build "${arguments[@]}" --target "$target" -t "$name:$tag" .
done

size_of() { "$engine" image inspect --format '{{.Size}}' "$1"; }
added=$(($(size_of "lastcall:$tag") - $(size_of "$base")))
shim=$(size_of "lastcall-shim:$tag")
echo "lastcall:$tag: $added bytes above $base (at most $largest_supervisor)"
echo "lastcall-shim:$tag: $shim bytes (at most $largest_shim)"
if ((added > largest_supervisor || shim > largest_shim)); then die 'an image is too large'; fi
