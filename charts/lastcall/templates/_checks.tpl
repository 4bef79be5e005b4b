{{/* What the schema cannot see: values that do not fit together. Each message names the numbers. */}}

{{- define "lastcall.checks" -}}
{{- $mode := include "lastcall.mode" . -}}
{{- $config := .Values.config | default dict -}}
{{- $problems := list -}}

{{- if and (eq $mode "native") (semverCompare "<1.29.0-0" .Capabilities.KubeVersion.Version) -}}
{{- $problems = append $problems (printf "mode native needs Kubernetes 1.29, this cluster is %s; use mode auto or plain" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- if and (eq $mode "prestop") (($config.lifecycle | default dict).token) (semverCompare "<1.26.0-0" .Capabilities.KubeVersion.Version) -}}
{{- $problems = append $problems (printf "config.lifecycle.token needs Kubernetes 1.26, this cluster is %s: its kubelet leaves the headers of a preStop call out" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- if not .Values.engine.image.repository -}}
{{- $problems = append $problems "engine.image.repository is empty, expected the engine's image" -}}
{{- end -}}
{{- if and (ne $mode "prestop") (not .Values.engine.command) -}}
{{- $problems = append $problems (printf "engine.command is empty: in mode %s the shim starts the engine, so the image's own entry point has to be written out" $mode) -}}
{{- end -}}

{{- $b := include "lastcall.budgets" . | fromJson -}}
{{- $asked := int64 $b.asked.grace_period -}}
{{- if lt (int64 $b.pod) (add $asked 2000) -}}
{{- $problems = append $problems (printf "terminationGracePeriodSeconds %d is too small: config.shutdown.grace_period is %dms and the kubelet needs 2000ms, together %dms; leave it out to have it computed" (div (int64 $b.pod) 1000) $asked (add $asked 2000)) -}}
{{- end -}}
{{- $phases := add (int64 $b.asked.deregister_timeout) (int64 $b.asked.late_accept) -}}
{{- if gt $phases (int64 $b.half) -}}
{{- $problems = append $problems (printf "config.shutdown: deregister_timeout %dms and late_accept %dms are %dms together, more than half (%dms) of the time before cleanup (%dms less cleanup_reserve %dms and cancel_settle %dms)" (int64 $b.asked.deregister_timeout) (int64 $b.asked.late_accept) $phases (int64 $b.half) (int64 $b.total) (int64 $b.reserve) (int64 $b.settle)) -}}
{{- end -}}
{{- range $pair := list (list "cleanup_reserve" "reserve" "half") (list "cancel_settle" "settle" "an eighth") -}}
{{- $wanted := get $b.asked (index $pair 0) | int64 -}}
{{- if gt $wanted (get $b (index $pair 1) | int64) -}}
{{- $problems = append $problems (printf "config.shutdown.%s %dms is more than %s of the whole stop (%dms)" (index $pair 0) $wanted (index $pair 2) (int64 $b.total)) -}}
{{- end -}}
{{- end -}}

{{- $ports := dict "engine.port" (int64 .Values.engine.port) "config.probes.listen" (include "lastcall.probePort" . | int64) -}}
{{- if eq $mode "prestop" -}}
{{- $_ := set $ports "config.lifecycle.listen" (include "lastcall.lifecyclePort" . | int64) -}}
{{- end -}}
{{- $seen := dict -}}
{{- range $key, $port := $ports -}}
{{- if hasKey $seen ($port | toString) -}}
{{- $problems = append $problems (printf "%s and %s are both port %d, but share one network" $key (get $seen ($port | toString)) $port) -}}
{{- end -}}
{{- $_ := set $seen ($port | toString) $key -}}
{{- end -}}
{{- if (($config.ipc | default dict).socket | default "/run/lastcall/lastcall.sock") | hasPrefix "/run/lastcall/" | not -}}
{{- $problems = append $problems (printf "config.ipc.socket is %s, expected a file in /run/lastcall, which both containers mount" $config.ipc.socket) -}}
{{- end -}}

{{- if $problems -}}
{{- fail (printf "\n  - %s" (join "\n  - " $problems)) -}}
{{- end -}}
{{- end -}}
