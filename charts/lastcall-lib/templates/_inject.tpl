{{/*
Injection: a pod template that somebody else wrote, with lastcall in it. What comes out is what
`lastcall inject` and the admission policy of charts/lastcall-injector make of the same pod
(tests/chart/golden holds all of them to it, docs/injection.md says it in words).
*/}}

{{/* What a chart need not say. charts/lastcall has the same defaults in its values.yaml. */}}
{{- define "lastcall-lib.defaults" -}}
mode: auto
image: {repository: lastcall, tag: "", digest: "", pullPolicy: IfNotPresent}
shimImage: {repository: lastcall-shim, tag: "", digest: "", pullPolicy: IfNotPresent}
# Secrets ({name: NAME}) of the pod's namespace with which the kubelet pulls the two images.
imagePullSecrets: []
prestop:
  hook: exec
  sidecar: auto
  tokenSecret: {name: "", key: token}
install:
  resources:
    requests: {cpu: 10m, memory: 8Mi}
    limits: {memory: 32Mi}
sidecar:
  env: []
  resources:
    requests: {cpu: 50m, memory: 32Mi}
    limits: {memory: auto}
  volumeMounts: []
  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities: {drop: [ALL]}
    runAsNonRoot: true
    seccompProfile: {type: RuntimeDefault}
  readinessProbe: {periodSeconds: 2, timeoutSeconds: 1, failureThreshold: 1}
  livenessProbe: {periodSeconds: 5, timeoutSeconds: 2, failureThreshold: 3}
  startupProbe: {periodSeconds: 1, timeoutSeconds: 1, failureThreshold: 30}
# The user of the sidecar where nothing says as whom the engine runs, or where that is root.
uid: 65532
# The longest stop, where the pod's own terminationGracePeriodSeconds has no room for more.
gracePeriod: 60s
{{- end -}}

{{/* Keys of the configuration on which the containers have to agree, as a JSON list. */}}
{{- define "lastcall-lib.decidedKeys" -}}
{{- list "ipc.socket" "ipc.admin_socket" "probes.listen" "lifecycle.enabled" "lifecycle.http" "lifecycle.listen" | toJson -}}
{{- end -}}

{{/* A volume with the file that an annotation of the pod holds. */}}
{{- define "lastcall-lib.fileOfAnnotation" -}}
downwardAPI:
  items:
    - path: lastcall.yaml
      fieldRef: {fieldPath: "metadata.annotations['lastcall.dev/config']"}
{{- end -}}

{{/* What a user wrote for a key of lastcall's configuration: lastcall.dev/config.KEY, or nothing. */}}
{{- define "lastcall-lib.noted" -}}
{{- get (index . 0) (printf "lastcall.dev/config.%s" (index . 1)) -}}
{{- end -}}

{{/* Containers that service meshes put in front of the others, as a JSON list. */}}
{{- define "lastcall-lib.meshProxies" -}}
{{- list "istio-proxy" "linkerd-proxy" | toJson -}}
{{- end -}}

{{/*
The container that a pod is about where nobody names the engine's: kubectl's own annotation, which
Istio writes too, else the first that is no proxy of a mesh. Call with (list ANNOTATIONS CONTAINERS).
*/}}
{{- define "lastcall-lib.mainContainer" -}}
{{- $proxies := include "lastcall-lib.meshProxies" . | fromJsonArray -}}
{{- $names := list -}}
{{- $own := list -}}
{{- range index . 1 -}}
{{- $names = append $names .name -}}
{{- if not (has .name $proxies) -}}
{{- $own = append $own .name -}}
{{- end -}}
{{- end -}}
{{- $noted := get (index . 0) "kubectl.kubernetes.io/default-container" -}}
{{- has $noted $names | ternary $noted (concat $own $names | first) -}}
{{- end -}}

{{/*
Whether the file in a pod's annotation gives a key, which is then left to it: "true" or nothing. Call
with (list ANNOTATIONS KEY).
*/}}
{{- define "lastcall-lib.fileGives" -}}
{{- $at := get (index . 0) "lastcall.dev/config" | default "{}" | fromYaml -}}
{{- $isGiven := true -}}
{{- range splitList "." (index . 1) -}}
{{- if not (kindIs "map" $at) -}}
{{- $isGiven = false -}}
{{- else -}}
{{- $isGiven = and $isGiven (hasKey $at .) -}}
{{- $at = get $at . -}}
{{- end -}}
{{- end -}}
{{- if $isGiven -}}
true
{{- end -}}
{{- end -}}

{{/*
vllm, sglang or trtllm, where the name of an image tells; else custom. Triton's images name the engine that
they embed, but Triton answers at other paths than that engine's own server.
*/}}
{{- define "lastcall-lib.kindOfImage" -}}
{{- $image := lower . -}}
{{- if contains "tritonserver" $image -}}
custom
{{- else if contains "vllm" $image -}}
vllm
{{- else if contains "sglang" $image -}}
sglang
{{- else if or (contains "tensorrt-llm" $image) (contains "tensorrtllm" $image) (contains "trtllm" $image) -}}
trtllm
{{- else -}}
custom
{{- end -}}
{{- end -}}

{{/*
The engine's port: its first containerPort of TCP, else that of --port in its command, where one word may be
a script of `sh -c`, else the one of its kind. Call with (dict "engine" CONTAINER "kind" KIND).
*/}}
{{- define "lastcall-lib.portOfEngine" -}}
{{- $found := "" -}}
{{- range .engine.ports -}}
{{- if and (not $found) (eq (.protocol | default "TCP") "TCP") -}}
{{- $found = .containerPort | int64 | toString -}}
{{- end -}}
{{- end -}}
{{- $before := "" -}}
{{- $words := concat (.engine.command | default list) (.engine.args | default list) | join " " -}}
{{- range $word := regexSplit "[ \\t\\n\\f\\r]+" $words -1 -}}
{{- if not $found -}}
{{- if regexMatch "^--port=[0-9]+$" $word -}}
{{- $found = trimPrefix "--port=" $word -}}
{{- else if and (eq $before "--port") (regexMatch "^[0-9]+$" $word) -}}
{{- $found = $word -}}
{{- end -}}
{{- end -}}
{{- $before = $word -}}
{{- end -}}
{{- $found | default (eq .kind "sglang" | ternary "30000" "8000") -}}
{{- end -}}

{{/* grace_period: the user's word, else the pod's own grace less 2 s where that is longer than the default. */}}
{{- define "lastcall-lib.graceOfPod" -}}
{{- $own := .spec.terminationGracePeriodSeconds | default 0 | int64 -}}
{{- $usual := include "lastcall-lib.ms" .usual | int64 -}}
{{- if .noted -}}
{{- .noted -}}
{{- else if gt (mul 1000 (sub $own 2)) $usual -}}
{{- printf "%ds" (sub $own 2) -}}
{{- else -}}
{{- .usual -}}
{{- end -}}
{{- end -}}

{{/* The uid that a container's processes have as far as the pod says it: digits or nothing. */}}
{{- define "lastcall-lib.uidOf" -}}
{{- $uid := get (.engine.securityContext | default dict) "runAsUser" -}}
{{- if or (kindIs "invalid" $uid) (kindIs "string" $uid) -}}
{{- $uid = get (.spec.securityContext | default dict) "runAsUser" -}}
{{- end -}}
{{- if not (or (kindIs "invalid" $uid) (kindIs "string" $uid)) -}}
{{- int64 $uid -}}
{{- end -}}
{{- end -}}

{{/* The place that a container runtime mounts at: absolute, without "//", "." and "..". */}}
{{- define "lastcall-lib.placeOf" -}}
{{- clean (print "/" .) -}}
{{- end -}}

{{/*
The first mount of an engine in which no folder can be made for lastcall's own mounts, as text, or
nothing. Call with (dict "spec" SPEC "engine" CONTAINER).
*/}}
{{- define "lastcall-lib.readOnlyParent" -}}
{{- $volumes := dict -}}
{{- range .spec.volumes -}}
{{- $_ := set $volumes .name . -}}
{{- end -}}
{{- $found := "" -}}
{{- range $mount := .engine.volumeMounts -}}
{{- $isReadOnly := $mount.readOnly -}}
{{- range $type := include "lastcall-lib.readOnlyTypes" . | fromJsonArray -}}
{{- $isReadOnly = or $isReadOnly (hasKey (get $volumes $mount.name | default dict) $type) -}}
{{- end -}}
{{- if and (not $found) $isReadOnly (regexMatch "^/(opt|run)$" (include "lastcall-lib.placeOf" $mount.mountPath)) -}}
{{- $found = printf "%s at %s" $mount.name $mount.mountPath -}}
{{- end -}}
{{- end -}}
{{- $found -}}
{{- end -}}

{{/* What is where lastcall has to be, as text, or nothing; called like the one above. */}}
{{- define "lastcall-lib.takenPlace" -}}
{{- $found := "" -}}
{{- $port := include "lastcall-lib.probePort" (dict "Values" dict) -}}
{{- range .engine.volumeMounts -}}
{{- if and (not $found) (regexMatch "^/(opt|run)/lastcall(/|$)" (include "lastcall-lib.placeOf" .mountPath)) -}}
{{- $found = printf "the volume %s of container %s is mounted at %s, expected nothing at or below /opt/lastcall and /run/lastcall" .name $.engine.name .mountPath -}}
{{- end -}}
{{- end -}}
{{- $running := .spec.containers -}}
{{- range .spec.initContainers -}}
{{- if eq (.restartPolicy | default "") "Always" -}}
{{- $running = append $running . -}}
{{- end -}}
{{- end -}}
{{- range $container := $running -}}
{{- range $container.ports -}}
{{- if and (not $found) (eq (.protocol | default "TCP") "TCP") (eq (int64 .containerPort) (int64 $port)) -}}
{{- $found = printf "container %s has port %s, which is the sidecar's, expected another one" $container.name $port -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $found -}}
{{- end -}}

{{/* Types of volumes that are mounted read-only, whatever a mount says, as a JSON list. */}}
{{- define "lastcall-lib.readOnlyTypes" -}}
{{- list "configMap" "secret" "downwardAPI" "projected" "image" | toJson -}}
{{- end -}}

{{/*
A pod template (`metadata` and `spec`) with lastcall in it. One that has it already comes back as it is.
Call with (dict "root" $ "template" TEMPLATE "values" WHAT-DIFFERS-FROM-THE-DEFAULTS); the answer is YAML.
Annotations of the pod say the rest: lastcall.dev/container, lastcall.dev/config, lastcall.dev/config.KEY.
*/}}
{{- define "lastcall-lib.inject" -}}
{{- $template := deepCopy .template -}}
{{- $spec := $template.spec -}}
{{- $notes := ($template.metadata | default dict).annotations | default dict -}}
{{- $names := list -}}
{{- range concat ($spec.initContainers | default list) $spec.containers -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- if not (has "lastcall" $names) -}}
{{- $wanted := get $notes "lastcall.dev/container" | default (include "lastcall-lib.mainContainer" (list $notes $spec.containers)) -}}
{{- $engine := dict -}}
{{- range $spec.containers -}}
{{- if eq .name $wanted -}}
{{- $engine = . -}}
{{- end -}}
{{- end -}}
{{- if not $engine -}}
{{- fail (printf "lastcall.dev/container is %s, expected the name of a container of the pod" $wanted) -}}
{{- end -}}
{{- if and (not $engine.command) ($engine.lifecycle | default dict).preStop -}}
{{- fail (printf "container %s has no command, so its preStop hook would have to hold the kubelet's TERM back, but it has one already; expected no preStop hook, or the image's entry point written out as the command" $wanted) -}}
{{- end -}}
{{- with include "lastcall-lib.takenPlace" (dict "spec" $spec "engine" $engine) -}}
{{- fail . -}}
{{- end -}}
{{- $readOnly := include "lastcall-lib.readOnlyParent" (dict "spec" $spec "engine" $engine) -}}
{{- if $readOnly -}}
{{- fail (printf "the volume %s of container %s is read-only, expected it to be writable or elsewhere: lastcall's volumes are mounted below that folder" $readOnly $wanted) -}}
{{- end -}}
{{- $_ := set $template "spec" (include "lastcall-lib.injectedSpec" (dict "root" .root "values" (.values | default dict) "spec" $spec "engine" $engine "notes" $notes) | fromYaml) -}}
{{- end -}}
{{- toYaml $template -}}
{{- end -}}

{{- define "lastcall-lib.injectedSpec" -}}
{{- $defaults := include "lastcall-lib.defaults" . | fromYaml -}}
{{- range $key, $_ := .values -}}
{{- if not (hasKey $defaults $key) -}}
{{- fail (printf "lastcall-lib.inject: values has %s, expected one of %s" $key (keys $defaults | sortAlpha | join ", ")) -}}
{{- end -}}
{{- end -}}
{{- $values := mergeOverwrite (include "lastcall-lib.defaults" . | fromYaml) (deepCopy .values) -}}
{{- $chart := dict "AppVersion" (include "lastcall-lib.appVersion" .) -}}
{{- $context := dict "Values" $values "Capabilities" .root.Capabilities "Release" .root.Release "Chart" $chart -}}
{{- if not (has $values.mode (list "auto" "native" "plain")) -}}
{{- fail (printf "lastcall-lib.inject: mode is %s, expected auto, native or plain; without a command the hook of mode prestop is chosen by itself" $values.mode) -}}
{{- else if and (eq $values.mode "native") (not (include "lastcall-lib.hasNativeSidecars" $context)) -}}
{{- fail (printf "lastcall-lib.inject: mode native needs Kubernetes 1.29, this cluster is %s; use mode auto or plain" .root.Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- if lt (int64 $values.uid) 1 -}}
{{- fail (printf "lastcall-lib.inject: uid is %v, expected 1 or more: the sidecar never runs as root" $values.uid) -}}
{{- end -}}
{{- if not .engine.command -}}
{{- $_ := set $values "mode" "prestop" -}}
{{- if ne (.values.mode | default "auto") "auto" -}}
{{- $_ := set $values.prestop "sidecar" .values.mode -}}
{{- end -}}
{{- end -}}

{{- $noted := include "lastcall-lib.noted" (list .notes "shutdown.grace_period") -}}
{{- $given := "" -}}
{{- if and (not $noted) (include "lastcall-lib.fileGives" (list .notes "shutdown.grace_period")) -}}
{{- $given = (get .notes "lastcall.dev/config" | fromYaml).shutdown.grace_period | toString -}}
{{- end -}}
{{- if and (not $noted) (not $given) (gt (.spec.terminationGracePeriodSeconds | default 0 | int64) 86402) -}}
{{- fail (printf "terminationGracePeriodSeconds is %d, expected at most 86402, or a shutdown.grace_period of at most 24h besides it" (.spec.terminationGracePeriodSeconds | int64)) -}}
{{- end -}}
{{- $graceFrom := list "gracePeriod" $values.gracePeriod -}}
{{- if hasKey .notes "lastcall.dev/config.shutdown.grace_period" -}}
{{- $graceFrom = list "lastcall.dev/config.shutdown.grace_period" $noted -}}
{{- else if $given -}}
{{- $graceFrom = list "shutdown.grace_period in lastcall.dev/config" $given -}}
{{- end -}}
{{- with include "lastcall-lib.graceProblem" $graceFrom -}}
{{- fail . -}}
{{- end -}}
{{- $grace := include "lastcall-lib.graceOfPod" (dict "spec" .spec "usual" $values.gracePeriod "noted" ($noted | default $given)) -}}
{{- $needed := add 2 (div (add (include "lastcall-lib.ms" $grace | int64) 999) 1000) -}}
{{- $_ := set $values "config" (dict "shutdown" (dict "grace_period" $grace)) -}}
{{- $_ := set $values "terminationGracePeriodSeconds" (max $needed (.spec.terminationGracePeriodSeconds | default 0 | int64)) -}}
{{- $_ := set $values "engine" dict -}}

{{- $uid := include "lastcall-lib.uidOf" . -}}
{{- $isKnown := not (or (empty $uid) (eq $uid "0")) -}}
{{- $_ := set $values.sidecar.securityContext "runAsUser" ($isKnown | ternary $uid (toString (int64 $values.uid)) | int64) -}}

{{- /* late_accept as in charts/lastcall: endpoint removal takes seconds to reach the whole cluster. */ -}}
{{- $sets := dict "shutdown.late_accept" "5s" -}}
{{- if not $isKnown -}}
{{- /* An image's own user may connect, whoever that is: only containers of this pod mount the volume. */ -}}
{{- $_ := set $sets "ipc.allow_uids" "any" -}}
{{- $_ := set $sets "ipc.mode" "0666" -}}
{{- end -}}
{{- if has .spec.restartPolicy (list "Never" "OnFailure") -}}
{{- /* As in a Job: an engine that has finished its work ends by itself, and so must the pod. */ -}}
{{- $_ := set $sets "engine.on_exit" "propagate" -}}
{{- if not (include "lastcall-lib.isNative" $context) -}}
{{- $_ := set $sets "shutdown.after_stop" "exit" -}}
{{- end -}}
{{- end -}}
{{- range $key := keys $sets -}}
{{- if include "lastcall-lib.fileGives" (list $.notes $key) -}}
{{- $sets = omit $sets $key -}}
{{- end -}}
{{- end -}}
{{- if not $given -}}
{{- $_ := set $sets "shutdown.grace_period" $grace -}}
{{- end -}}
{{- if not (get .notes "lastcall.dev/config") -}}
{{- $kind := include "lastcall-lib.noted" (list .notes "engine.kind") | default (include "lastcall-lib.kindOfImage" .engine.image) -}}
{{- $port := include "lastcall-lib.portOfEngine" (dict "engine" .engine "kind" $kind) -}}
{{- $_ := set $sets "engine.kind" $kind -}}
{{- $_ := set $sets "engine.url" (printf "http://127.0.0.1:%s" $port) -}}
{{- end -}}
{{- if eq $values.mode "prestop" -}}
{{- $_ := set $sets "lifecycle.enabled" "true" -}}
{{- $_ := set $sets "lifecycle.http" "false" -}}
{{- end -}}
{{- range $key := include "lastcall-lib.decidedKeys" . | fromJsonArray -}}
{{- if hasKey $.notes (printf "lastcall.dev/config.%s" $key) -}}
{{- fail (printf "lastcall.dev/config.%s is set, expected it to be left out: injection decides it for all containers of the pod" $key) -}}
{{- end -}}
{{- end -}}
{{- range $key, $value := .notes -}}
{{- if hasPrefix "lastcall.dev/config." $key -}}
{{- $_ := set $sets (trimPrefix "lastcall.dev/config." $key) $value -}}
{{- end -}}
{{- end -}}
{{- $words := list -}}
{{- range $key := keys $sets | sortAlpha -}}
{{- $words = append $words (printf "--set=%s=%s" $key (get $sets $key)) -}}
{{- end -}}
{{- $lastcall := dict "args" $words -}}
{{- if get .notes "lastcall.dev/config" -}}
{{- $_ := set $lastcall "configVolume" (include "lastcall-lib.fileOfAnnotation" . | fromYaml) -}}
{{- end -}}
{{- $_ := set $context "Lastcall" $lastcall -}}
{{- $secrets := .spec.imagePullSecrets | default list -}}
{{- range $values.imagePullSecrets -}}
{{- if not (has . $secrets) -}}
{{- $secrets = append $secrets . -}}
{{- end -}}
{{- end -}}
{{- with $secrets -}}
{{- $_ := set $.spec "imagePullSecrets" . -}}
{{- end -}}
{{- include "lastcall-lib.podSpec" (dict "context" $context "spec" .spec "container" .engine.name) -}}
{{- end -}}
