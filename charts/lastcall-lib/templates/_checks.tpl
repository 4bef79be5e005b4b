{{/*
What a schema cannot see: values that do not fit together. Each `lastcall-lib.checks...` prints its
problems, one a line; each message names the values and what was expected.
*/}}

{{/* All problems, one a line; nothing where the values fit together. */}}
{{- define "lastcall-lib.problems" -}}
{{- $root := . -}}
{{- range list "Mode" "Time" "Listeners" "Engine" "Users" -}}
{{- include (printf "lastcall-lib.checks%s" .) $root -}}
{{- end -}}
{{- end -}}

{{- define "lastcall-lib.checks" -}}
{{- with include "lastcall-lib.problems" . -}}
{{- fail . -}}
{{- end -}}
{{- end -}}

{{- define "lastcall-lib.problem" -}}
{{- printf "\n  - %s" . -}}
{{- end -}}

{{/* The problem of an image, given as (list KEY IMAGE); a tag in the repository would get a second one. */}}
{{- define "lastcall-lib.imageProblem" -}}
{{- $key := first . -}}
{{- $name := (last . | default dict).repository | default "" -}}
{{- if regexMatch "[:@][^/]*$" $name -}}
{{- printf "%s.repository is %s, expected no tag and no digest there; set %s.tag or %s.digest" $key $name $key $key -}}
{{- end -}}
{{- end -}}

{{- define "lastcall-lib.checksMode" -}}
{{- $mode := include "lastcall-lib.mode" . -}}
{{- $version := .Capabilities.KubeVersion.Version -}}
{{- if and (eq $mode "native") (semverCompare "<1.29.0-0" $version) -}}
{{- include "lastcall-lib.problem" (printf "mode native needs Kubernetes 1.29, this cluster is %s; use mode auto or plain" $version) -}}
{{- end -}}
{{- if include "lastcall-lib.hooksByHttp" . -}}
{{- include "lastcall-lib.checksHookToken" . -}}
{{- end -}}
{{- if eq $mode "prestop" -}}
{{- $asked := ((.Values.config | default dict).lifecycle | default dict).http -}}
{{- if and (kindIs "bool" $asked) (ne $asked (eq .Values.prestop.hook "http")) -}}
{{- include "lastcall-lib.problem" (printf "config.lifecycle.http is %t, but prestop.hook is %s; leave config.lifecycle.http out" $asked .Values.prestop.hook) -}}
{{- end -}}
{{- else if not .Values.engine.command -}}
{{- include "lastcall-lib.problem" (printf "engine.command is empty: in mode %s the shim starts the engine, so the image's own entry point has to be written out" $mode) -}}
{{- end -}}
{{- if not .Values.engine.image.repository -}}
{{- include "lastcall-lib.problem" "engine.image.repository is empty, expected the engine's image" -}}
{{- end -}}
{{- end -}}

{{/* A token has to be known to both sides: the sidecar, and the kubelet by the pod's specification. */}}
{{- define "lastcall-lib.checksHookToken" -}}
{{- $version := .Capabilities.KubeVersion.Version -}}
{{- $token := ((.Values.config | default dict).lifecycle | default dict).token -}}
{{- $secret := .Values.prestop.tokenSecret -}}
{{- if and (or $token $secret.name) (semverCompare "<1.26.0-0" $version) -}}
{{- include "lastcall-lib.problem" (printf "config.lifecycle.token and prestop.tokenSecret need Kubernetes 1.26, this cluster is %s: its kubelet leaves the headers of a preStop call out; expected prestop.hook: exec" $version) -}}
{{- end -}}
{{- if and $token $secret.name -}}
{{- include "lastcall-lib.problem" "config.lifecycle.token and prestop.tokenSecret.name are both set, expected one of them" -}}
{{- else if and $secret.name (not (include "lastcall-lib.hookToken" .)) -}}
{{- include "lastcall-lib.problem" (printf "prestop.tokenSecret: there is no key %s in a Secret %s of namespace %s that this rendering can read; `helm template` reads none: expected the Secret before an install or upgrade, prestop.hook: exec, or config.lifecycle.token" $secret.key $secret.name .Release.Namespace) -}}
{{- end -}}
{{- range .Values.sidecar.env -}}
{{- if eq (toString .name) "LASTCALL_LIFECYCLE_TOKEN" -}}
{{- include "lastcall-lib.problem" "sidecar.env has LASTCALL_LIFECYCLE_TOKEN, which the kubelet cannot send with the hooks of mode prestop: they would be refused; expected prestop.hook: exec, prestop.tokenSecret, or config.lifecycle.token" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "lastcall-lib.checksTime" -}}
{{- $b := include "lastcall-lib.budgets" . | fromJson -}}
{{- $asked := int64 $b.asked.grace_period -}}
{{- with include "lastcall-lib.graceProblem" (list "config.shutdown.grace_period" (((.Values.config | default dict).shutdown | default dict).grace_period | default "60s")) -}}
{{- include "lastcall-lib.problem" . -}}
{{- end -}}
{{- if lt (int64 $b.pod) (add $asked 2000) -}}
{{- include "lastcall-lib.problem" (printf "terminationGracePeriodSeconds %d is too small: config.shutdown.grace_period is %dms and the kubelet needs 2000ms, together %dms; leave it out to have it computed" (div (int64 $b.pod) 1000) $asked (add $asked 2000)) -}}
{{- end -}}
{{- $phases := int64 $b.asked.late_accept -}}
{{- if not (empty (.Values.config | default dict).discovery) -}}
{{- $phases = add $phases (int64 $b.asked.deregister_timeout) -}}
{{- end -}}
{{- if gt $phases (int64 $b.half) -}}
{{- include "lastcall-lib.problem" (printf "config.shutdown: deregister_timeout %dms (0 without config.discovery) and late_accept %dms are %dms together, more than half (%dms) of the time before cleanup (%dms less a reserve of %dms and cancel_settle %dms)" (sub $phases (int64 $b.asked.late_accept)) (int64 $b.asked.late_accept) $phases (int64 $b.half) (int64 $b.total) (int64 $b.reserve) (int64 $b.settle)) -}}
{{- end -}}
{{- range $pair := list (list "cleanup_reserve" "reserve" "half") (list "cancel_settle" "settle" "an eighth") -}}
{{- $wanted := get $b.asked (index $pair 0) | int64 -}}
{{- if eq (index $pair 0) "cleanup_reserve" -}}
{{- $wanted = min $wanted (int64 $b.usable) -}}
{{- end -}}
{{- if gt $wanted (get $b (index $pair 1) | int64) -}}
{{- include "lastcall-lib.problem" (printf "config.shutdown.%s %dms is more than %s of the whole stop (%dms)" (index $pair 0) $wanted (index $pair 2) (int64 $b.total)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
