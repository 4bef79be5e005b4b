#!/usr/bin/env bash
# Unit tests compiled for arm64, under qemu-user: arm64_tests.sh FOLDER [TEST...]
#
# FOLDER is what arm64_root.sh has unpacked, a TEST as `test_core`; without one those of all that
# computes. Each program runs once, not once a test: qemu takes long to start. What starts other
# programs is tried in a userland (try.sh), where the kernel hands them to qemu.
set -euo pipefail
root=$(cd "$1" && pwd -P)
shift
if (($# == 0)); then set -- test_base test_core test_relay test_shim test_continuation; fi
qemu=/usr/bin/qemu-aarch64-static
build=build/arm64-dev

# Tests are looked for as soon as their program is linked.
cmake --preset dev -B "$build" --toolchain cmake/aarch64.cmake -DLASTCALL_UNITY=ON \
  -DLASTCALL_ARM64_ROOT="$root" "-DCMAKE_CROSSCOMPILING_EMULATOR=$qemu;-L;$root" >"$build.log" ||
  { cat "$build.log" >&2; exit 1; }
ninja -C "$build" --quiet "$@"
for name in "$@"; do
  program=$(find "$build/tests" -type f -name "$name" -perm -u+x)
  printf '%s, a program for %s\n' "$name" "$(readelf -h "$program" | sed -n 's/ *Machine: *//p')"
  "$qemu" -L "$root" "$program" --gtest_brief=1
done
