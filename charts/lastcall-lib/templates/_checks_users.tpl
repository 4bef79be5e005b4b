{{/* Users that cannot work together. See _checks.tpl. */}}

{{- define "lastcall-lib.checksUsers" -}}
{{- $root := . -}}
{{- range $who := list "engine" "sidecar" -}}
{{- $uid := include "lastcall-lib.securityOf" (list $root $who "runAsUser") -}}
{{- $isNonRoot := include "lastcall-lib.securityOf" (list $root $who "runAsNonRoot") -}}
{{- if and (eq $uid "0") (eq $isNonRoot "true") -}}
{{- include "lastcall-lib.problem" (printf "the %s's user is 0, but runAsNonRoot is true, so the kubelet would not start it, expected %s.securityContext.runAsNonRoot: false" $who $who) -}}
{{- end -}}
{{- end -}}
{{- if include "lastcall-lib.installsShim" . -}}
{{- include "lastcall-lib.checksSocketAccess" . -}}
{{- end -}}
{{- end -}}

{{/* The shim, and its hook of mode prestop, runs as the engine's user, and connects to the sidecar's socket. */}}
{{- define "lastcall-lib.checksSocketAccess" -}}
{{- $engine := include "lastcall-lib.securityOf" (list . "engine" "runAsUser") -}}
{{- $sidecar := include "lastcall-lib.securityOf" (list . "sidecar" "runAsUser") -}}
{{- $mode := ((.Values.config | default dict).ipc | default dict).mode | default "0660" -}}
{{- if and $engine (not $sidecar) -}}
{{- include "lastcall-lib.problem" (printf "the engine's user is %s and the sidecar's is its image's, so it is unknown whether both can use the socket between them, expected sidecar.securityContext.runAsUser or podSecurityContext.runAsUser" $engine) -}}
{{- else if and $sidecar (not $engine) -}}
{{- include "lastcall-lib.problem" (printf "the sidecar's user is %s and the engine's is its image's, so it is unknown whether both can use the socket between them, expected engine.securityContext.runAsUser or podSecurityContext.runAsUser" $sidecar) -}}
{{- else if and (ne $engine $sidecar) (not (regexMatch "[2367]$" $mode)) -}}
{{- if not (include "lastcall-lib.haveCommonGroup" .) -}}
{{- include "lastcall-lib.problem" (printf "the engine's user %s and the sidecar's %s have no group in common, so the engine would not reach the socket between them, expected podSecurityContext.fsGroup, or the same runAsGroup for both" $engine $sidecar) -}}
{{- else if not (regexMatch "[2367][0-7]$" $mode) -}}
{{- include "lastcall-lib.problem" (printf "config.ipc.mode is %s, but the engine's user %s is not the sidecar's %s, expected a mode that lets the group write, such as 0660" $mode $engine $sidecar) -}}
{{- end -}}
{{- end -}}
{{- end -}}
