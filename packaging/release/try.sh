#!/usr/bin/env bash
# Installs the files of a release where nothing else is: try.sh FOLDER
#
# A fresh Debian 12 gets the packages for x86-64: programs, manuals, completions, unit and SDK are
# there, an engine is stopped cleanly, and a program is built with find_package(lastcall). The
# tarballs are unpacked there, too; that for arm64 runs under qemu-user with the libc that its
# programs were compiled with.
set -euo pipefail
dist=$(cd "$1" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd "$here/../.." && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

say() { printf 'try: %s\n' "$*"; }

# shellcheck disable=SC2016
mapfile -t sources < <(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) main' \
  'Created-By: Packages' 'Origin: Debian' 'Component: main' 2>/dev/null |
  grep -E ' bookworm[a-z-]* main$' || true)
say 'makes a fresh Debian 12'
# Its hooks are expanded by mmdebstrap.
# shellcheck disable=SC2016
mmdebstrap --quiet --variant=apt --dpkgopt=force-unsafe-io \
  --include=ca-certificates,python3-minimal,cmake,make,g++ \
  --customize-hook="mkdir -p \"\$1/dist\"; cp $dist/* \"\$1/dist/\"" \
  --customize-hook='chroot "$1" sh -c "cd /dist; apt-get install -y -q --no-install-recommends \
    ./lastcall-shim_*_amd64.deb ./lastcall_*_amd64.deb ./lastcall-router_*_amd64.deb \
    ./lastcall-dev_*_amd64.deb" >&2' \
  bookworm "$root/root" "${sources[@]}" >"$root/log" 2>&1 ||
  { tail -n 30 "$root/log" >&2; exit 1; }

inside() { chroot "$root/root" /usr/bin/env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/tmp "$@"; }

say "installed: $(inside lastcall version)"
for path in usr/share/man/man1/lastcall.1.gz usr/share/man/man1/lastcall-shim.1.gz \
  usr/share/man/man1/lastcall-router.1.gz usr/share/lastcall/router-config.schema.json \
  usr/share/bash-completion/completions/lastcall usr/lib/systemd/system/lastcall.service \
  usr/share/zsh/site-functions/_lastcall usr/share/fish/vendor_completions.d/lastcall.fish; do
  test -s "$root/root/$path" || { say "missing: /$path"; exit 1; }
done
inside lastcall check --set engine.kind=vllm >/dev/null
inside lastcall-router check --set 'workers=[{file: {directory: /run/instances}}]' >/dev/null

say "a command under 'lastcall run' is stopped cleanly"
mount --bind /proc "$root/root/proc"
trap 'umount "$root/root/proc"; rm -rf "$root"' EXIT
printf 'probes: {listen: "127.0.0.1:0"}\nshutdown: {drain_unknown: 0s}\n' >"$root/root/tmp/c.yaml"
code=0
inside timeout -s TERM 3 lastcall run -c /tmp/c.yaml -- sleep 60 >"$root/log" 2>&1 || code=$?
# timeout's own code; what `run` ended with is in the report.
grep -q '"exit_code":0' "$root/log" || { say "the stop ended with $code"; cat "$root/log"; exit 1; }

say 'a program is built with find_package(lastcall)'
cp -r "$tree/examples/cpp_engine" "$root/root/tmp/"
inside sh -c 'cmake -S /tmp/cpp_engine -B /tmp/b && make -s -C /tmp/b' >"$root/log" 2>&1 ||
  { tail -n 20 "$root/log" >&2; exit 1; }

say 'the tarball runs where nothing is installed'
inside sh -c 'dpkg -r lastcall lastcall-dev lastcall-router lastcall-shim >/dev/null; cd /tmp
  tar xzf /dist/lastcall-*-linux-x86_64.tar.gz && lastcall-*-linux-x86_64/bin/lastcall version &&
  lastcall-*-linux-x86_64/bin/lastcall-router --version'

arm=$(find "$dist" -name '*-linux-aarch64.tar.gz')
if [[ -n $arm ]] && command -v qemu-aarch64-static >/dev/null; then
  say 'the programs for arm64 run under qemu-user'
  tar xzf "$arm" -C "$root"
  name=$(basename "$arm" .tar.gz)
  # What a program of it starts is one of this machine, which qemu hands to the kernel: the launcher
  # gets one in place of what it becomes.
  program=$root/$name/libexec/lastcall/lastcall
  qemu-aarch64-static -L "$tree/build/arm64-root" "$program" version
  qemu-aarch64-static -L "$tree/build/arm64-root" "$program" plan >/dev/null
  mv "$program" "$program.arm64"
  ln -s /bin/echo "$program"
  said=$(qemu-aarch64-static "$root/$name/bin/lastcall" run it)
  mv "$program.arm64" "$program"
  test "$said" = 'run it' || { say "the launcher for arm64 said '$said'"; exit 1; }
  qemu-aarch64-static "$root/$name/bin/lastcall-shim" --version
  code=0
  qemu-aarch64-static "$root/$name/bin/lastcall-shim" -- /bin/sh -c 'exit 7' || code=$?
  test "$code" = 7 || { say "the shim for arm64 ended with $code, expected 7"; exit 1; }
fi
say 'all of it works'
