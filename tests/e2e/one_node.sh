#!/usr/bin/env bash
# A Kubernetes of one node, in a network and a mount namespace of its own, for `run.sh kubernetes`.
#
#   one_node.sh build          its programs from their Go modules, into K8S_BIN; ten minutes
#   one_node.sh up             starts it, in about 15 s
#   one_node.sh load ARCHIVE   gives the node an image
#   one_node.sh in COMMAND...  runs a command beside it, with its KUBECONFIG
#   one_node.sh down           ends it and removes what it made
#   one_node.sh test [ARG...]  up, the end-to-end tests (pytest's arguments), down
#
# K8S_BIN (build/kubernetes) has kube-apiserver, kube-controller-manager, kube-scheduler,
# kube-proxy, kubelet, kubectl and an etcd of 3.5 or newer. It needs root, containerd, runc,
# catatonit, containernetworking-plugins, iptables, iproute2 and openssl. 1.34 has native
# sidecars, and MutatingAdmissionPolicy behind a gate. HELM: as in run.sh. What it writes is below
# build/e2e/node.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=1.34.4
etcd_version=3.5.21
bin=${K8S_BIN:-$PWD/build/kubernetes}
node=${E2E_NODE:-$PWD/build/e2e/node}
self=$PWD/tests/e2e/one_node.sh
netns=lc$(cksum <<<"$node" | cut -d' ' -f1)
address=10.99.0.2

enter() {
  exec nsenter --wd="$PWD" --net="/run/netns/$netns" \
    --mount="/proc/$(cat "$node/anchor.pid")/ns/mnt" -- "$@"
}
inside() { (enter "$@"); }
kubectl() { inside "$bin/kubectl" --kubeconfig "$node/kubeconfig" "$@"; }
start() {  # NAME COMMAND...
  (enter "${@:2}") >>"$node/$1.log" 2>&1 </dev/null &
  echo $! >"$node/$1.pid"
}
wait_for() {
  local end=$((SECONDS + 180))  # an API server on a busy machine takes more than a minute
  while ((SECONDS < end)); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.1
  done
  echo "one_node.sh: within 180 s not: $*; the logs are in $node" >&2
  return 1
}
is_ready() { kubectl get node n1 --no-headers | grep -q ' Ready'; }

# The machine's own /proc/sys is kept from what the kubelet writes into it.
namespaces() {
  ip netns add "$netns"
  ip -n "$netns" link set lo up
  ip -n "$netns" link add n0 type bridge
  ip -n "$netns" addr add "$address/24" dev n0
  ip -n "$netns" link set n0 up
  ip -n "$netns" route add default via 10.99.0.1
  # shellcheck disable=SC2016
  unshare -m --propagation private sh -c '
    for file in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
      kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
      own=$0/sys/$file
      mkdir -p "${own%/*}"
      cat "/proc/sys/$file" >"$own"
      mount --bind "$own" "/proc/sys/$file"
    done
    mount --make-rshared /; touch "$0/entered"; exec sleep infinity' "$node" \
    >/dev/null 2>&1 </dev/null &
  echo $! >"$node/anchor.pid"
  wait_for test -e "$node/entered"
  inside sysctl -qw net.ipv4.ip_forward=1
}

container_runtime() {
  local old='' name
  for name in aufs btrfs devmapper zfs; do old+="\"io.containerd.snapshotter.v1.$name\","; done
  cat >"$node/containerd.toml" <<TOML
version = 2
root = "$node/containerd/root"
state = "$node/containerd/state"
disabled_plugins = [$old"io.containerd.internal.v1.opt","io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "$node/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$node/cni"
TOML
  mkdir -p "$node/cni"
  cat >"$node/cni/10-bridge.conflist" <<JSON
{"cniVersion": "1.0.0", "name": "b", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.0.0/24"}]],
            "routes": [{"dst": "0.0.0.0/0"}], "dataDir": "$node/ipam"}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
JSON
  start containerd containerd -c "$node/containerd.toml"
  wait_for inside ctr -a "$node/containerd.sock" version
}

pause_image() {
  local root=$node/pause digest
  mkdir -p "$root/layer"
  cp "$(command -v catatonit)" "$root/layer/"
  tar -C "$root/layer" -cf "$root/layer.tar" .
  digest=$(sha256sum "$root/layer.tar" | cut -d' ' -f1)
  printf '{"architecture": "%s", "os": "linux", "config": {"Entrypoint": ["/catatonit", "-P"]},
    "rootfs": {"type": "layers", "diff_ids": ["sha256:%s"]}}' \
    "$(dpkg --print-architecture)" "$digest" >"$root/config.json"
  echo '[{"Config": "config.json", "RepoTags": ["localhost/pause:1"], "Layers": ["layer.tar"]}]' \
    >"$root/manifest.json"
  tar -C "$root" -cf "$node/pause.tar" manifest.json config.json layer.tar
  load "$node/pause.tar"
}

load() { inside ctr -a "$node/containerd.sock" -n k8s.io images import "$1" >/dev/null; }

control_plane() {
  local keys=$node/keys
  mkdir -p "$keys"
  openssl genrsa -out "$keys/accounts.key" 2048 2>/dev/null
  echo 'tok,admin,1,"system:masters"' >"$keys/tokens.csv"
  cat >"$node/kubeconfig" <<YAML
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://$address:6443", insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: tok}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
YAML
  start etcd "$bin/etcd" --data-dir "$node/etcd" --log-level warn --unsafe-no-fsync \
    --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
    --listen-peer-urls http://127.0.0.1:2380
  start api "$bin/kube-apiserver" --etcd-servers=http://127.0.0.1:2379 --secure-port=6443 \
    --bind-address=$address --advertise-address=$address --cert-dir="$keys" \
    --token-auth-file="$keys/tokens.csv" --authorization-mode=RBAC --allow-privileged=true \
    --service-cluster-ip-range=10.96.0.0/16 --service-account-issuer=https://k \
    --service-account-key-file="$keys/accounts.key" \
    --service-account-signing-key-file="$keys/accounts.key" \
    --kubelet-preferred-address-types=InternalIP \
    --feature-gates=MutatingAdmissionPolicy=true \
    --runtime-config=admissionregistration.k8s.io/v1beta1=true
  wait_for kubectl get --raw /readyz
  start controllers "$bin/kube-controller-manager" --kubeconfig="$node/kubeconfig" \
    --service-account-private-key-file="$keys/accounts.key" --root-ca-file="$keys/apiserver.crt" \
    --use-service-account-credentials=true --leader-elect=false --cert-dir="$keys/controllers" \
    --controllers='*,-node-ipam-controller,-node-route-controller,-cloud-node-lifecycle-controller'
  start scheduler "$bin/kube-scheduler" --kubeconfig="$node/kubeconfig" --leader-elect=false \
    --cert-dir="$keys/scheduler"
}

kubelet() {
  mkdir -p "$node/manifests"
  cat >"$node/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 0.0.0.0
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
staticPodPath: $node/manifests
clusterDNS: [$address]
clusterDomain: cluster.local
containerRuntimeEndpoint: unix://$node/containerd.sock
failCgroupV1: false
cgroupDriver: cgroupfs
enforceNodeAllocatable: []
# The kubelet must not remove images, because they could not be pulled again.
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
failSwapOn: false
makeIPTablesUtilChains: false
oomScoreAdj: 0
resolvConf: /etc/resolv.conf
evictionHard: {memory.available: "50Mi", nodefs.available: "1%", imagefs.available: "1%"}
podLogsDir: $node/logs
volumePluginDir: $node/plugins
YAML
  start kubelet "$bin/kubelet" --config="$node/kubelet.yaml" --kubeconfig="$node/kubeconfig" \
    --root-dir="$node/kubelet" --cert-dir="$node/keys/kubelet" --hostname-override=n1 \
    --node-ip=$address
  start proxy "$bin/kube-proxy" --kubeconfig="$node/kubeconfig" --proxy-mode=iptables \
    --cluster-cidr=10.244.0.0/16 --hostname-override=n1 --conntrack-max-per-core=0 \
    --conntrack-tcp-timeout-established=0 --conntrack-tcp-timeout-close-wait=0
  start dns /usr/bin/python3 -B tests/e2e/node_dns.py "$address" "$bin/kubectl" "$node/kubeconfig"
  wait_for is_ready
}

up() {
  if [[ -e $node ]]; then
    echo "one_node.sh: $node is there: end that one first (down)" >&2
    exit 2
  fi
  mkdir -p "$node"
  printf '%s\n' /run/netns/cni-* >"$node/others"  # of other clusters on this machine
  namespaces
  container_runtime
  pause_image
  control_plane
  kubelet
}

down() {
  local name id marks control=(ctr -a "$node/containerd.sock" -n k8s.io)
  # The files of its pods' networks are the machine's; their mounts are in its own mount namespace,
  # and end with that.
  # shellcheck disable=SC2016
  marks=$(inside awk '$5 ~ "^/run/netns/cni-" { print $5 }' /proc/self/mountinfo |
    grep -Fxv -f "$node/others" || true)
  for name in dns proxy kubelet controllers scheduler api etcd; do
    kill "$(cat "$node/$name.pid")" || true
  done
  for id in $(inside "${control[@]}" tasks ls -q); do
    inside "${control[@]}" tasks kill -s 9 "$id" || true
  done
  sleep 0.5
  for name in containerd anchor; do kill -9 "$(cat "$node/$name.pid")" || true; done
  ip netns del "$netns" || true
  if [[ -n $marks ]]; then xargs rm -f <<<"$marks"; fi
  # Another cluster of this machine may have its own further below, which stay.
  find /sys/fs/cgroup/kubepods /sys/fs/cgroup/*/kubepods -depth -type d -exec rmdir {} \; \
    2>/dev/null || true
  rm -rf "$node"
}

build() {
  local name modules=api,apiextensions-apiserver,apimachinery,apiserver,cli-runtime,client-go
  modules+=,cloud-provider,cluster-bootstrap,code-generator,component-base,component-helpers
  modules+=,controller-manager,cri-api,cri-client,csi-translation-lib,dynamic-resource-allocation
  modules+=,endpointslice,externaljwt,kms,kube-aggregator,kube-controller-manager,kube-proxy
  modules+=,kube-scheduler,kubectl,kubelet,metrics,mount-utils,pod-security-admission
  modules+=,sample-apiserver,sample-cli-plugin,sample-controller
  local programs=(kubelet kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubectl)
  mkdir -p "$bin/source" "$bin/etcd-source"
  export CGO_ENABLED=0 GOFLAGS='-mod=mod -buildvcs=false'
  {
    printf 'module node\n\ngo 1.24\n\ntool (\n'
    printf '\tk8s.io/kubernetes/cmd/%s\n' "${programs[@]}"
    printf ')\n\nrequire k8s.io/kubernetes v%s\n\nreplace (\n' "$version"
    for name in ${modules//,/ }; do
      printf '\tk8s.io/%s => k8s.io/%s v0.%s\n' "$name" "$name" "${version#1.}"
    done
    printf ')\n'
  } >"$bin/source/go.mod"
  (
    cd "$bin/source"
    go mod tidy
    for name in "${programs[@]}"; do
      nice go build -p 2 -trimpath -o "$bin/" -ldflags "-s -w
        -X k8s.io/component-base/version.gitVersion=v$version
        -X k8s.io/component-base/version.gitMajor=1
        -X k8s.io/component-base/version.gitMinor=34" "k8s.io/kubernetes/cmd/$name"
    done
  )
  (
    cd "$bin/etcd-source"
    if ! [[ -e go.mod ]]; then go mod init node; fi
    go get go.etcd.io/etcd/server/v3@v$etcd_version
    nice go build -p 2 -trimpath -ldflags '-s -w' -o "$bin/etcd" go.etcd.io/etcd/server/v3
  )
}

tests() {
  local status=0
  up
  # shellcheck disable=SC2064
  trap "'$self' down >/dev/null 2>&1" EXIT
  export KUBECTL=$bin/kubectl KUBECONFIG=$node/kubeconfig
  E2E_LOAD_IMAGE="$self load" E2E_ENTER="$self in" \
    tests/e2e/run.sh kubernetes "$@" || status=$?
  return $status
}

verb=${1:-}
if (($# > 0)); then shift; fi
case $verb in
  build | up | down) "$verb" ;;
  load) load "$1" ;;
  in) KUBECONFIG=$node/kubeconfig enter "$@" ;;
  test) tests "$@" ;;
  *) sed -n '2,9p' "$0" >&2; exit 2 ;;
esac
