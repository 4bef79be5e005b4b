#!/usr/bin/env bash
# End-to-end tests: run.sh podman|kubernetes [PYTEST-ARGUMENT...]
#
#   podman       pods of podman's containers, made by hand; needs root. Where no container can run,
#                its tests are skipped, and the reason is shown
#   kubernetes   the cluster that KUBECONFIG names; E2E_LOAD_IMAGE is a command that gets the file
#                of an image archive (docker format) and loads it into the cluster's nodes; HELM and
#                KUBECTL name the programs; E2E_ENTER is a command that the tests are run by, where
#                the cluster is not reached from here. one_node.sh makes such a cluster
#
# LASTCALL_BUILD_DIR names the build whose programs go into the images (build/dev). E2E_BASE names
# their base: Debian 12; by default one is bootstrapped from packages. Everything is written below
# build/e2e.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
rung=${1:-podman}
if (($# > 0)); then shift; fi
case $rung in podman | kubernetes) ;; *) echo "run.sh: unknown rung '$rung'" >&2; exit 2 ;; esac
binaries=${LASTCALL_BUILD_DIR:-build/dev}
store=build/e2e/podman
with_podman=(tests/e2e/podman_env.sh "$store")
mkdir -p build/e2e build/results

# Only a trial shows whether this machine can do it: overlay mounts and cgroups, for a container
# with only the shim.
try_container() {
  local rootfs=build/e2e/trial
  mkdir -p "$rootfs"
  cp "$binaries/shim/lastcall-shim" "$rootfs/"
  timeout --kill-after=5 60 "${with_podman[@]}" podman run --rm --network none --read-only \
    --cap-drop all --rootfs "$PWD/$rootfs:O" /lastcall-shim --version >build/e2e/trial.log 2>&1
}

why_not() {
  local reason
  reason=$(tests/e2e/why_not.sh)
  if [[ -n $reason ]]; then
    echo "$reason"
  elif ! command -v podman >/dev/null; then
    echo 'podman is not installed'
  elif ! try_container; then
    echo "podman cannot run a container: $(tail -n 1 build/e2e/trial.log)"
  fi
}

build_images() {
  CONTAINER_ENGINE=podman "${with_podman[@]}" packaging/images.sh --tag e2e \
    --base "${E2E_BASE:-bootstrap}" --binaries "$binaries" --without-demo-engine \
    >build/e2e/images.log 2>&1 ||
    { tail -n 30 build/e2e/images.log >&2; exit 1; }
  grep -E '^lastcall.* bytes' build/e2e/images.log
  "${with_podman[@]}" podman build -q --network host \
    --build-arg "BASE=${E2E_BASE:-localhost/lastcall-base:12}" \
    -t localhost/lastcall-e2e:e2e -f tests/e2e/Dockerfile . >/dev/null
  if [[ $rung == kubernetes ]]; then
    "${with_podman[@]}" podman build -q --network host \
      --build-arg "BASE=${E2E_BASE:-localhost/lastcall-base:12}" \
      -t localhost/lastcall-demo-engine:e2e -f examples/demo_engine/Dockerfile . >/dev/null
  fi
}

load_images() {
  local image
  for image in lastcall lastcall-shim lastcall-router lastcall-e2e lastcall-demo-engine; do
    rm -f "build/e2e/$image.tar"
    "${with_podman[@]}" podman save -q --format docker-archive -o "build/e2e/$image.tar" \
      "localhost/$image:e2e" >/dev/null
    # The command is the user's, with its own words.
    # shellcheck disable=SC2086
    $E2E_LOAD_IMAGE "$PWD/build/e2e/$image.tar" >/dev/null
  done
}

reason=$(why_not)
if [[ -z $reason ]]; then
  build_images
elif [[ $rung == podman ]]; then
  echo "run.sh: the tests are skipped: $reason"
else
  echo "run.sh: cannot build the images: $reason" >&2
  exit 2
fi
if [[ $rung == kubernetes ]]; then
  : "${KUBECONFIG:?expected the configuration of a cluster}" "${E2E_LOAD_IMAGE:?expected a command}"
  load_images
fi
# The command is the user's, with its own words.
# shellcheck disable=SC2086
LASTCALL_E2E=$rung LASTCALL_E2E_SKIP=$reason PYTHONDONTWRITEBYTECODE=1 exec \
  "${with_podman[@]}" ${E2E_ENTER:-} /usr/bin/python3 -m pytest -q -ra -p no:cacheprovider -n 4 \
  --timeout 240 --junitxml "build/results/e2e-$rung.xml" tests/e2e "$@"
