#!/usr/bin/env bash
# Builds the three images, and the demo engine's, and holds them to their sizes.
#
#   packaging/images.sh [--tag TAG] [--base IMAGE] [--binaries FOLDER]
#                       [--packages locked|exact|newest] [--sources FILE] [--refresh-lock]
#                       [--load kind|k3s [--cluster NAME]] [--without-demo-engine]
#
#   --base       Debian 12; `bootstrap` makes one from packages where no image registry can be
#                reached. Default: debian:12-slim, else what a bootstrap gives.
#   --binaries   use the programs of FOLDER, a build directory, instead of compiling in the image:
#                supervisor/cli/lastcall, supervisor/libexec/lastcall/lastcall, shim/lastcall-shim;
#                without router/lastcall-router there is no image of the router
#   --packages   which versions of packages: packaging/install_packages.sh explains the words
#   --sources    a file in apt's deb822 form to take packages from, in place of what the base names:
#                a mirror of your own, or a snapshot archive at a date, with which `exact` can hold
#   --load       give them to the nodes of a kind cluster (--cluster, default `kind`), or to this
#                machine's k3s, so that no registry is needed; the tag is the version by default
#   --without-demo-engine   leave out the engine of charts/lastcall/examples/demo-engine.yaml
#   --refresh-lock   write packaging/packages.lock again from what the mirror has, and build nothing
#
# CONTAINER_ENGINE names the builder: podman, else docker. Images: lastcall:TAG, lastcall-shim:TAG,
# lastcall-router:TAG; their bills of materials (SPDX 2.3) are in them below
# /usr/share/lastcall, and in build/sbom.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

engine=${CONTAINER_ENGINE:-$(command -v podman || command -v docker || true)}
version=$(sed -n 's/^project(lastcall VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
tag='' base='' binaries='' packages=locked apt_sources='' refresh=''
cluster_kind='' cluster=kind demo_engine=lastcall-demo-engine
largest_supervisor=30000000 largest_shim=2000000 largest_router=10000000
bootstrapped=localhost/lastcall-base:12

die() { printf 'images.sh: %s\n' "$*" >&2; exit 2; }

while (($# > 0)); do
  case $1 in
    --tag) tag=${2:?} ;;
    --base) base=${2:?} ;;
    --binaries) binaries=${2:?} ;;
    --packages) packages=${2:?} ;;
    --sources) apt_sources=${2:?} ;;
    --load) cluster_kind=${2:?} ;;
    --cluster) cluster=${2:?} ;;
    --without-demo-engine) demo_engine=''; shift; continue ;;
    --refresh-lock) refresh=1 packages=newest; shift; continue ;;
    *) die "unknown argument '$1', expected one of those that $0 lists at its top" ;;
  esac
  shift 2
done

as_root() { if ((EUID == 0)); then "$@"; else sudo "$@"; fi; }

# Images take long to build: whether there is a cluster for them is asked before that.
find_cluster() {
  if [[ $cluster_kind == k3s ]]; then
    as_root k3s ctr version >/dev/null || die "--load: this machine's k3s does not answer; start it"
  elif [[ -z $(kind get nodes --name "$cluster" 2>/dev/null) ]]; then
    die "--load: kind has no cluster '$cluster': \`kind create cluster --name $cluster\` makes it"
  fi
}

if [[ -z $engine ]]; then die 'neither podman nor docker is on PATH'; fi
case $cluster_kind in
  '') tag=${tag:-dev} ;;
  kind | k3s)
    tag=${tag:-$version}
    command -v "$cluster_kind" >/dev/null || die "--load: $cluster_kind is not on PATH"
    find_cluster
    ;;
  *) die "--load takes kind or k3s, not '$cluster_kind'" ;;
esac

bootstrap() {
  if "$engine" image inspect "$bootstrapped" >/dev/null 2>&1; then return; fi
  if ! command -v mmdebstrap >/dev/null; then
    die 'cannot get debian:12-slim, and mmdebstrap to make a base with is missing'
  fi
  echo "bootstrapping $bootstrapped"
  # Packages come from where this machine has its own, if that is known and is the same Debian.
  local sources=()
  # The format's fields are apt's to fill in.
  # shellcheck disable=SC2016
  if command -v apt-get >/dev/null; then
    mapfile -t sources < <(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) main' \
      'Created-By: Packages' 'Origin: Debian' 'Component: main' 2>/dev/null |
      grep -E ' bookworm[a-z-]* main$' || true)
  fi
  # The bootstrap writes a file first: if it failed in a pipe, its half would be imported, and used
  # ever after.
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

arguments=(--build-arg "BASE=$base" --build-arg "VERSION=$version")
arguments+=(--build-arg "PACKAGES=$packages")
rm -rf build/image
trap 'rm -rf build/image' EXIT
if [[ -n $binaries || -n $apt_sources ]]; then mkdir -p build/image/program; fi
if [[ -n $binaries ]]; then
  cp "$binaries/supervisor/cli/lastcall" "$binaries/shim/lastcall-shim" build/image/
  cp "$binaries/supervisor/libexec/lastcall/lastcall" build/image/program/
  for name in supervisor/cli/lastcall-doctor supervisor/cli/lastcall-kube router/lastcall-router; do
    if [[ -e $binaries/$name ]]; then cp "$binaries/$name" build/image/; fi
  done
  packaging/describe_programs.sh "$binaries" build/image ||
    { echo 'images.sh: what the programs are made of is not known here and will not be recorded'
      rm -rf build/image/*.spdx.json build/image/shim-rootfs; }
fi
if [[ -n $apt_sources ]]; then cp "$apt_sources" build/image/apt.sources; fi
# Without a network of their own its containers need no packet filter of the machine's.
if [[ $engine == *podman ]]; then arguments+=(--format oci --network host); fi

copy_out() {  # IMAGE PATH PLACE
  local container
  container=$("$engine" create "$1" none)
  "$engine" cp "$container:$2" "$3" || true
  "$engine" rm "$container" >/dev/null
}

refresh_lock() {
  "$engine" build "${arguments[@]}" --target lock -t localhost/lastcall-lock .
  mkdir -p build/lock
  for stage in tools libraries; do
    copy_out localhost/lastcall-lock "/$stage" "build/lock/$stage"
  done
  {
    echo '# Packages of Debian 12 that the images are made with beyond their base: name, version.'
    echo '# packaging/images.sh --refresh-lock makes it; packaging/install_packages.sh says what it'
    echo '# binds.'
    sort -u build/lock/tools build/lock/libraries
  } >packaging/packages.lock
  "$engine" rmi localhost/lastcall-lock >/dev/null
}

if [[ -n $refresh ]]; then refresh_lock; exit; fi
names=(lastcall-shim lastcall)
if [[ -z $binaries || -e build/image/lastcall-router ]]; then names+=(lastcall-router); fi
for name in "${names[@]}"; do
  target=supervisor; if [[ $name != lastcall ]]; then target=${name#lastcall-}; fi
  "$engine" build "${arguments[@]}" --target "$target" -t "$name:$tag" .
done

if [[ -n $demo_engine ]]; then
  "$engine" build "${arguments[@]}" -t "$demo_engine:$tag" -f examples/demo_engine/Dockerfile .
fi

mkdir -p build/sbom
for name in "${names[@]}"; do
  copy_out "$name:$tag" "/usr/share/lastcall/$name.spdx.json" "build/sbom/$name.spdx.json"
done

size_of() { "$engine" image inspect --format '{{.Size}}' "$1"; }
added=$(($(size_of "lastcall:$tag") - $(size_of "$base")))
shim=$(size_of "lastcall-shim:$tag")
echo "lastcall:$tag: $added bytes above $base (at most $largest_supervisor)"
echo "lastcall-shim:$tag: $shim bytes (at most $largest_shim)"
router=0
if [[ " ${names[*]} " == *' lastcall-router '* ]]; then
  router=$(($(size_of "lastcall-router:$tag") - $(size_of "lastcall:$tag")))
  echo "lastcall-router:$tag: $router bytes above lastcall:$tag (at most $largest_router)"
fi
if ((added > largest_supervisor || shim > largest_shim || router > largest_router)); then
  die 'an image is too large'
fi

# A pod whose image has no registry's name asks for these names.
load() {  # IMAGE
  local name=docker.io/library/$1:$tag archive=build/image-archive.tar
  rm -f "$archive"
  "$engine" tag "$1:$tag" "$name"
  "$engine" save -o "$archive" "$name"
  if [[ $cluster_kind == kind ]]; then
    kind load image-archive "$archive" --name "$cluster"
  else
    as_root k3s ctr images import "$archive"
  fi
  rm -f "$archive"
}

if [[ -n $cluster_kind ]]; then
  for name in "${names[@]}" $demo_engine; do load "$name"; done
  echo "the cluster has them; now:"
  echo "  helm install demo charts/lastcall -f charts/lastcall/examples/demo-engine.yaml --wait" \
    "$(if [[ $tag != "$version" ]]; then
      echo "--set image.tag=$tag --set shimImage.tag=$tag --set engine.image.tag=$tag"
    fi)"
fi
