#!/bin/sh
# Lays out what the supervisor's image adds to its base: collect_rootfs.sh PROGRAMS ROOTFS IN_BASE
#
# Only libraries that a program asks for and that IN_BASE (names of files, one a line) does not have
# are copied, so that the base's own packages stay as their distribution left them.
set -eu
programs=$1 rootfs=$2 in_base=$3

mkdir -p "$rootfs/usr/bin" "$rootfs/etc/lastcall" "$rootfs/run"
mkdir "$rootfs/run/lastcall" "$rootfs/run/lastcall-admin"
for name in lastcall lastcall-shim; do
  install -m 0755 "$programs/$name" "$rootfs/usr/bin/$name"
  strip --strip-all "$rootfs/usr/bin/$name"
done
# For a container without volumes there; in a pod, volumes cover both.
chown 65532:65532 "$rootfs/run/lastcall" "$rootfs/run/lastcall-admin"
chmod 2770 "$rootfs/run/lastcall"
chmod 0700 "$rootfs/run/lastcall-admin"

libraries=$(ldd "$rootfs/usr/bin/lastcall")
echo "$libraries"
case $libraries in *'not found'*) exit 1 ;; esac
echo "$libraries" | awk '$2 == "=>" { print $1, $3 }' | while read -r name path; do
  if grep -Fxq "$name" "$in_base"; then continue; fi
  folder=$rootfs/usr/lib/${path#/*lib/}
  folder=$(dirname "$folder")
  mkdir -p "$folder"
  cp -L "$path" "$folder/$name"
done

if ldd "$rootfs/usr/bin/lastcall-shim" 2>/dev/null | grep -q '=>'; then
  echo 'lastcall-shim is not static' >&2
  exit 1
fi
find "$rootfs" -type f -exec ls -l {} +
