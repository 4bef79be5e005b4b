#!/bin/sh
# Describes what the programs of a build directory are made of: describe_programs.sh BUILD OUT
#
# OUT/NAME.spdx.json of each program, and OUT/shim-rootfs with the records that
# scanners of the shim's image look for. Runs where the programs were compiled, since only there the
# linker's inputs are.
set -eu
build=$1 out=$2 here=$(dirname "$0")

# The launcher is made of nothing but its one file.
for target in supervisor/libexec/lastcall/lastcall supervisor/cli/lastcall-doctor \
  supervisor/cli/lastcall-kube router/lastcall-router shim/lastcall-shim; do
  # A build of single targets may lack those beside `lastcall`; the other two are always there.
  case $target in
  supervisor/cli/lastcall-* | router/*) if ! [ -e "$build/$target" ]; then continue; fi ;;
  esac
  python3 -B "$here/sbom.py" program "$build" "$target" "$out/$(basename "$target").spdx.json"
done
mkdir -p "$out/shim-rootfs/etc"
cp -L /etc/os-release "$out/shim-rootfs/etc/os-release"
python3 -B "$here/package_records.py" "$out/shim-rootfs" --linked "$out/lastcall-shim.spdx.json"
