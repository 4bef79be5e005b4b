{{/* Users that cannot work together, rights that are missing. See _checks.tpl. */}}

{{- define "lastcall.checksUsers" -}}
{{- $root := . -}}
{{- range $who := list "engine" "sidecar" -}}
{{- $uid := include "lastcall.securityOf" (list $root $who "runAsUser") -}}
{{- $isNonRoot := include "lastcall.securityOf" (list $root $who "runAsNonRoot") -}}
{{- if and (eq $uid "0") (eq $isNonRoot "true") -}}
{{- include "lastcall.problem" (printf "the %s's user is 0, but runAsNonRoot is true, so the kubelet would not start it, expected %s.securityContext.runAsNonRoot: false" $who $who) -}}
{{- end -}}
{{- end -}}
{{- if include "lastcall.installsShim" . -}}
{{- include "lastcall.checksSocketAccess" . -}}
{{- end -}}
{{- end -}}

{{/* The shim, and its hook of mode prestop, runs as the engine's user, and connects to the sidecar's socket. */}}
{{- define "lastcall.checksSocketAccess" -}}
{{- $engine := include "lastcall.securityOf" (list . "engine" "runAsUser") -}}
{{- $sidecar := include "lastcall.securityOf" (list . "sidecar" "runAsUser") -}}
{{- $mode := ((.Values.config | default dict).ipc | default dict).mode | default "0660" -}}
{{- if and $engine (not $sidecar) -}}
{{- include "lastcall.problem" (printf "the engine's user is %s and the sidecar's is its image's, so nobody knows whether the socket between them takes both, expected sidecar.securityContext.runAsUser or podSecurityContext.runAsUser" $engine) -}}
{{- else if and $sidecar (not $engine) -}}
{{- include "lastcall.problem" (printf "the sidecar's user is %s and the engine's is its image's, so nobody knows whether the socket between them takes both, expected engine.securityContext.runAsUser or podSecurityContext.runAsUser" $sidecar) -}}
{{- else if and (ne $engine $sidecar) (not (regexMatch "[2367]$" $mode)) -}}
{{- if not (include "lastcall.haveCommonGroup" .) -}}
{{- include "lastcall.problem" (printf "the engine's user %s and the sidecar's %s have no group in common, so the engine would not reach the socket between them, expected podSecurityContext.fsGroup, or the same runAsGroup for both" $engine $sidecar) -}}
{{- else if not (regexMatch "[2367][0-7]$" $mode) -}}
{{- include "lastcall.problem" (printf "config.ipc.mode is %s, but the engine's user %s is not the sidecar's %s, expected a mode that lets the group write, such as 0660" $mode $engine $sidecar) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "lastcall.checksAccount" -}}
{{- $account := .Values.serviceAccount | default dict -}}
{{- if and $account.name .Values.serviceAccountName (ne $account.name .Values.serviceAccountName) -}}
{{- include "lastcall.problem" (printf "serviceAccount.name is %s and serviceAccountName is %s, expected one of them" $account.name .Values.serviceAccountName) -}}
{{- end -}}
{{- $name := include "lastcall.accountName" . -}}
{{- if and .Values.rbac.create (not $name) -}}
{{- include "lastcall.problem" "rbac.create without an account: the namespace's default one, of every other pod too, would get the rights, expected serviceAccount.name, or serviceAccount.create: true" -}}
{{- end -}}
{{- $asks := include "lastcall.kubernetesRegistries" . | fromJsonArray -}}
{{- if and $asks (not $name) (not .Values.automountServiceAccountToken) -}}
{{- include "lastcall.problem" "config.discovery has kubernetes, but the pods have no account with rights for it, expected rbac.create: true, or the name of an account of yours as serviceAccount.name" -}}
{{- end -}}
{{- end -}}
