#!/bin/sh
# Installs Debian packages for the image: install_packages.sh NAME...
#
# PACKAGES says which versions; packages.lock lies beside this script.
#   locked   those of the lock. A newer one of Debian's security archive is taken instead, and so is
#            what the mirror has where it has dropped the locked one: it keeps one version of each
#            package, so that a pin without a way out fails the first build after an update. What
#            differs is printed, and the image's bill of materials has the versions that are in it
#   exact    those of the lock or an error: for a mirror that keeps versions, such as a snapshot
#            archive, which apt.sources beside this script names
#   newest   what the mirror has: how the lock is refreshed
set -eu
here=$(dirname "$0")
mode=${PACKAGES:-locked} lock=$here/packages.lock pins=/etc/apt/preferences.d/lastcall-lock
case $mode in locked | exact | newest) ;; *)
  echo "PACKAGES is '$mode', expected locked, exact or newest" >&2
  exit 2 ;;
esac

if [ -e "$here/apt.sources" ]; then
  rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*
  cp "$here/apt.sources" /etc/apt/sources.list.d/image.sources
fi

pin() {
  sed '/^#/d' "$lock" | while read -r name version; do
    printf 'Package: %s\nPin: version %s\nPin-Priority: 990\n\n' "$name" "$version"
  done
  if [ "$mode" = locked ]; then
    printf 'Package: *\nPin: release l=Debian-Security\nPin-Priority: 991\n'
  fi
}

install() {
  # A snapshot's index is older than its own word on how long it is valid.
  apt-get -q -o Acquire::Check-Valid-Until=false update &&
    apt-get install -y -q --no-install-recommends "$@"
}

listed() { dpkg-query -W -f '${Package} ${Version}\n' | sort -u; }

listed >/tmp/before
if [ "$mode" != newest ]; then pin >"$pins"; fi
if ! install "$@"; then
  if [ "$mode" != locked ]; then exit 1; fi
  # A locked package needs another version of something that the base has, and the base is not ours
  # to choose.
  echo 'packages.lock does not fit this base: taking what the mirror has'
  rm -f "$pins"
  install "$@"
fi
listed | comm -13 /tmp/before - >>"$here/installed"
sed '/^#/d' "$lock" | sort | comm -13 - "$here/installed" >/tmp/differing
if [ -s /tmp/differing ] && [ "$mode" != newest ]; then
  echo 'not the version of packages.lock:'
  cat /tmp/differing
  if [ "$mode" = exact ]; then exit 1; fi
fi
rm -rf "$pins" /tmp/before /tmp/differing /var/lib/apt/lists/*
