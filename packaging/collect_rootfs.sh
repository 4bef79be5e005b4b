#!/bin/sh
# Lays out what the images add to their base:
#
#   collect_rootfs.sh PROGRAMS ROOTFS IN_BASE STATUS_OF_BASE SHIM_ROOTFS ROUTER_ROOTFS
#
# Only libraries that a program asks for and that IN_BASE (names of files, one a line) does not have
# are copied, so that the base's own packages stay as their distribution left them. Scanners find
# the packages of those that are in var/lib/dpkg/status.d, and the whole image is described in
# usr/share/lastcall/IMAGE.spdx.json.
set -eu
programs=$1 rootfs=$2 in_base=$3 status=$4 shim_rootfs=$5 router_rootfs=$6 here=$(dirname "$0")

mkdir -p "$rootfs/usr/bin" "$rootfs/usr/libexec/lastcall" "$rootfs/etc/lastcall" "$rootfs/run" \
  "$rootfs/usr/share/lastcall"
mkdir "$rootfs/run/lastcall" "$rootfs/run/lastcall-admin"
for name in lastcall lastcall-doctor lastcall-kube lastcall-shim; do
  # The programs that were handed over may be only `lastcall` and the shim.
  case $name in lastcall-doctor | lastcall-kube) [ -e "$programs/$name" ] || continue ;; esac
  install -m 0755 "$programs/$name" "$rootfs/usr/bin/$name"
  strip --strip-all "$rootfs/usr/bin/$name"
done
# The program that `lastcall`, the launcher, becomes.
install -m 0755 "$programs/program/lastcall" "$rootfs/usr/libexec/lastcall/lastcall"
strip --strip-all "$rootfs/usr/libexec/lastcall/lastcall"
# A container without volumes needs these folders; in a pod, volumes cover both.
chown 65532:65532 "$rootfs/run/lastcall" "$rootfs/run/lastcall-admin"
chmod 2770 "$rootfs/run/lastcall"
chmod 0700 "$rootfs/run/lastcall-admin"

libraries=$(ldd "$rootfs/usr/libexec/lastcall/lastcall")
echo "$libraries"
case $libraries in *'not found'*) exit 1 ;; esac
echo "$libraries" | awk '$2 == "=>" { print $1, $3 }' | while read -r name path; do
  if grep -Fxq "$name" "$in_base"; then continue; fi
  folder=$rootfs/usr/lib/${path#/*lib/}
  folder=$(dirname "$folder")
  mkdir -p "$folder"
  cp -L "$path" "$folder/$name"
  echo "$path" >>"$programs/copied"
done

if ldd "$rootfs/usr/bin/lastcall-shim" 2>/dev/null | grep -q '=>'; then
  echo 'lastcall-shim is not static' >&2
  exit 1
fi

mkdir -p "$shim_rootfs/usr/share/lastcall"
if [ -d "$programs/shim-rootfs" ]; then cp -R "$programs/shim-rootfs/." "$shim_rootfs/"; fi
cp "$rootfs/usr/bin/lastcall-shim" "$shim_rootfs/lastcall-shim"

# Paths of libraries have no spaces.
# shellcheck disable=SC2046
python3 -B "$here/package_records.py" "$rootfs" $(cat "$programs/copied")
of_shim=$programs/lastcall-shim.spdx.json
set -- --status "$status"
# There is no list if the programs were handed over without the list of their parts.
if [ -e "$of_shim" ]; then
  set -- "$@" --program "$programs/lastcall.spdx.json" --program "$of_shim"
  for name in lastcall-doctor lastcall-kube; do
    if [ -e "$programs/$name.spdx.json" ]; then
      set -- "$@" --program "$programs/$name.spdx.json"
    fi
  done
  python3 -B "$here/sbom.py" image lastcall-shim \
    "$shim_rootfs/usr/share/lastcall/lastcall-shim.spdx.json" --program "$of_shim"
fi
# shellcheck disable=SC2046
python3 -B "$here/sbom.py" image lastcall "$rootfs/usr/share/lastcall/lastcall.spdx.json" \
  "$@" $(sed 's/^/--library /' "$programs/copied")

# The image of the router has all of this in a lower layer, with its libraries.
mkdir -p "$router_rootfs/usr/bin" "$router_rootfs/usr/share/lastcall"
if [ -e "$programs/lastcall-router" ]; then
  install -m 0755 "$programs/lastcall-router" "$router_rootfs/usr/bin/lastcall-router"
  strip --strip-all "$router_rootfs/usr/bin/lastcall-router"
  own=$(ldd "$router_rootfs/usr/bin/lastcall-router" | awk '{ print $1 }' | sort)
  more=$(echo "$own" | grep -Fxv "$(echo "$libraries" | awk '{ print $1 }')" || true)
  if [ -n "$more" ]; then
    echo "lastcall-router needs libraries that its image has not: $more" >&2
    exit 1
  fi
  if [ -e "$programs/lastcall-router.spdx.json" ]; then
    set -- "$@" --program "$programs/lastcall-router.spdx.json"
  fi
  # shellcheck disable=SC2046
  python3 -B "$here/sbom.py" image lastcall-router \
    "$router_rootfs/usr/share/lastcall/lastcall-router.spdx.json" \
    "$@" $(sed 's/^/--library /' "$programs/copied")
fi
find "$rootfs" "$shim_rootfs" "$router_rootfs" -type f -exec ls -l {} +
