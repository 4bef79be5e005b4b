#!/usr/bin/env bash
# Podman with a configuration and a storage of its own: podman_env.sh FOLDER COMMAND...
#
# Nothing of the machine's own containers is seen or changed. The limits are written out because
# podman otherwise asks for more than a process without CAP_SYS_RESOURCE may have.
set -euo pipefail
folder=$1
shift
mkdir -p "$folder/networks"
folder=$(cd "$folder" && pwd)

limit_of() {  # ULIMIT-OPTION
  local hard
  hard=$(ulimit -H "$1")
  if [[ $hard == unlimited ]] || ((hard > 20000)); then hard=20000; fi
  echo "$hard:$hard"
}

printf '[storage]\ndriver = "overlay"\ngraphroot = "%s/root"\nrunroot = "%s/run"\n' \
  "$folder" "$folder" >"$folder/storage.conf"
cat >"$folder/containers.conf" <<TOML
[containers]
default_ulimits = ["nofile=$(limit_of -n)", "nproc=$(limit_of -u)"]
log_driver = "k8s-file"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
[network]
network_backend = "netavark"
network_config_dir = "$folder/networks"
TOML
export CONTAINERS_CONF=$folder/containers.conf CONTAINERS_STORAGE_CONF=$folder/storage.conf
exec "$@"
