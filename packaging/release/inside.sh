#!/usr/bin/env bash
# What try.sh does within a userland, as its root: inside.sh USERLAND
set -euo pipefail
userland=$1
architecture=$(dpkg --print-architecture)
machine=$(uname -m)
log=/tmp/log

say() { printf 'try: %s: %s\n' "$userland" "$*"; }
fail() { say "$*"; tail -n 40 "$log"; exit 1; }
quiet() { "$@" >"$log" 2>&1 || fail "'$*' failed"; }

install() {  # PACKAGE...
  local files=()
  for name in "$@"; do files+=(/try/dist/"${name}"_*_"$architecture".deb); done
  quiet apt-get install -y -q --no-install-recommends "${files[@]}"
  say "$* installed"
}

quiet apt-get update -q
# This does what pip does with a wheel, without pip.
python3 -m zipfile -e /try/dist/lastcall-*-py3-none-any.whl /opt/python
export PYTHONPATH=/opt/python

# An engine with streams is stopped: each stream completes, is handed off or refused; then the exit
# code is 0.
show() {  # LASTCALL
  say "$("$1" version) of $1 on $(uname -m), $(ldd --version | head -n 1)"
  quiet "$1" check --set engine.kind=vllm
  quiet "$1" plan
  # The other programs follow. The doctor finds a problem, because no supervisor runs here.
  "$1" doctor >"$log" 2>&1 || test $? = 1 || fail 'the doctor failed'
  # shellcheck disable=SC2016
  quiet sh -c '"$1" inject --help && "${1%lastcall}kubectl-lastcall" --help &&
    "${1%lastcall}lastcall-router" --help' sh "$1"
  quiet python3 -B /try/demo_engine/demo.py "$1"
  grep '^clean: ' "$log" || fail 'the demonstration was not clean'
}

from_packages() {
  install lastcall-shim lastcall lastcall-router lastcall-dev
  for path in share/man/man1/lastcall.1.gz share/man/man1/lastcall-shim.1.gz \
    share/man/man1/lastcall-router.1.gz share/lastcall/router-config.schema.json \
    share/bash-completion/completions/lastcall share/zsh/site-functions/_lastcall \
    share/bash-completion/completions/lastcall-router share/zsh/site-functions/_lastcall-router \
    share/fish/vendor_completions.d/lastcall-router.fish \
    share/fish/vendor_completions.d/lastcall.fish lib/systemd/system/lastcall.service; do
    test -s "/usr/$path" || fail "missing: /usr/$path"
  done
  show /usr/bin/lastcall
}

from_tarball() {
  tar xzf /try/dist/lastcall-*-linux-"$machine".tar.gz -C /opt
  show "$(echo /opt/lastcall-*/bin/lastcall)"
}

program() {
  cp -r /try/cpp_engine /tmp/
  quiet cmake -S /tmp/cpp_engine -B /tmp/program
  quiet make -s -C /tmp/program
  say 'a program is built with find_package(lastcall)'
}

case $userland in
  debian-12)
    from_packages
    program
    quiet dpkg -r lastcall lastcall-router lastcall-dev lastcall-shim
    from_tarball
    ;;
  debian-12-arm64)
    from_packages
    quiet dpkg -r lastcall lastcall-router lastcall-dev lastcall-shim
    from_tarball
    ;;
  *)
    install lastcall-shim
    quiet lastcall-shim --version
    from_tarball
    ;;
esac
