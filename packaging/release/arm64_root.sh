#!/usr/bin/env bash
# Unpacks what programs for arm64 are compiled with: arm64_root.sh FOLDER PACKAGE...
#
# A Debian 12 for arm64 whose packages are unpacked and not configured, so that nothing of it is run
# and nothing of this machine changes. Takes packages from where this machine has its own. From
# dpkg's records it gets which package each file is from, and what is known of each package.
set -euo pipefail
folder=$1
shift
if [[ -e $folder/recorded ]]; then exit 0; fi
rm -rf "$folder"
mkdir -p "$(dirname "$folder")"  # a fresh clone has no build/

# The format's fields are apt's to fill in.
# shellcheck disable=SC2016
mapfile -t sources < <(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) main' \
  'Created-By: Packages' 'Origin: Debian' 'Component: main' 2>/dev/null |
  grep -E ' bookworm[a-z-]* main$' || true)
packages=$(IFS=,; echo "$*")
mmdebstrap --quiet --architectures=arm64 --variant=extract --include="$packages" \
  --skip=cleanup/apt/cache \
  bookworm "$folder" "${sources[@]}"
# A link to /lib/... would lead out of the folder, and the linker take a static library instead.
find "$folder" -type l -lname '/*' | while read -r link; do
  ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$folder$(readlink "$link")")" "$link"
done

records=$folder/var/lib/dpkg
for deb in "$folder"/var/cache/apt/archives/*.deb; do
  name=$(dpkg-deb --field "$deb" Package)
  dpkg-deb --fsys-tarfile "$deb" | tar --list | sed 's|^\.||; s|/$||' \
    >"$records/info/$name:arm64.list"
  dpkg-deb --info "$deb" shlibs >"$records/info/$name:arm64.shlibs" 2>/dev/null ||
    rm "$records/info/$name:arm64.shlibs"
  { dpkg-deb --field "$deb"; echo; } >>"$records/status"
done
rm -r "$folder/var/cache/apt/archives"
touch "$folder/recorded"
