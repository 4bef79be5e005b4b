#!/usr/bin/env bash
# Installs the files of a release where nothing else is: try.sh FOLDER [USERLAND]...
#
#   debian-12         the packages; the demonstration of a stop; a program built with
#                     find_package(lastcall); then the tarball, with no package installed
#   debian-13         the shim's package, which asks for no library; the tarball; the demonstration
#   debian-12-arm64   as debian-12 without the program, under qemu-user
#
# By default all of them. Each is a root of its own, made by mmdebstrap from where this machine has
# its own packages (kept as a tar in build/userlands) and unpacked each time. inside.sh runs in it.
# Needs root.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd "$here/../.." && pwd)
dist=$(cd "$1" && pwd)
shift
if (($# == 0)); then set -- debian-12 debian-13 debian-12-arm64; fi
kept=$tree/build/userlands
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$kept"

say() { printf 'try: %s\n' "$*"; }

sources_of() {  # SUITE
  # The format's fields are apt's to fill in. Another suite is on the same mirror.
  # shellcheck disable=SC2016
  apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) main' \
    'Created-By: Packages' 'Origin: Debian' 'Component: main' 2>/dev/null |
    grep -E ' bookworm(-updates|-security|) main$' | sed "s/ bookworm/ $1/"
}

make_root() {  # USERLAND SUITE ARCHITECTURE PACKAGES
  local sources
  if [[ -e $kept/$1.tar ]]; then return; fi
  say "makes a fresh $1"
  mapfile -t sources < <(sources_of "$2")
  "${apart[@]}" mmdebstrap --quiet --mode=root --architectures="$3" --variant=apt --include="$4" \
    --dpkgopt=force-unsafe-io "$2" "$kept/$1.part.tar" "${sources[@]}" >"$work/log" 2>&1 ||
    { tail -n 30 "$work/log" >&2; exit 1; }
  mv "$kept/$1.part.tar" "$kept/$1.tar"
}

try() {  # USERLAND
  local suite=bookworm architecture=amd64 packages=ca-certificates,python3 root=$work/$1
  local apart=(unshare --mount --pid --fork --kill-child --mount-proc)
  case $1 in
    debian-12) packages+=,cmake,make,g++ ;;
    debian-13) suite=trixie ;;
    debian-12-arm64)
      architecture=arm64
      apart=(python3 -B "$here/with_arm64.py")
      ;;
    *) say "unknown userland '$1'; there are debian-12, debian-13, debian-12-arm64"; exit 2 ;;
  esac
  make_root "$1" "$suite" "$architecture" "$packages"
  mkdir "$root"
  "${apart[@]}" tar --extract --directory="$root" --file="$kept/$1.tar" --exclude='./dev/*'
  mkdir "$root/try"
  cp -r "$dist" "$root/try/dist"
  cp -r "$tree/examples/demo_engine" "$tree/examples/cpp_engine" "$here/inside.sh" "$root/try/"
  # The chroot's own devices would need a right that a user namespace does not have.
  # shellcheck disable=SC2016
  "${apart[@]}" sh -euc 'mount --rbind /dev "$1/dev"; mount -t proc none "$1/proc"
    cp /etc/resolv.conf "$1/etc/"
    exec chroot "$1" /usr/bin/env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/tmp LC_ALL=C.UTF-8 \
      DEBIAN_FRONTEND=noninteractive bash /try/inside.sh "$2"' sh "$root" "$1"
  rm -rf "$root"
}

for each in "$@"; do try "$each"; done
say "all of it works: $*"
