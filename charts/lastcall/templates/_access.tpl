{{/* Who runs as whom, and what the API server lets the pods do. */}}

{{/*
What holds for a container's process: its own security context's word, else the pod's; nothing
where the image decides. Call with (list $ "engine" "runAsUser"), or "sidecar".
*/}}
{{- define "lastcall.securityOf" -}}
{{- $root := index . 0 -}}
{{- $key := index . 2 -}}
{{- $value := get ((index $root.Values (index . 1)).securityContext | default dict) $key -}}
{{- if or (kindIs "invalid" $value) (kindIs "string" $value) -}}
{{- $value = get ($root.Values.podSecurityContext | default dict) $key -}}
{{- end -}}
{{- if kindIs "bool" $value -}}
{{- $value -}}
{{- else if not (or (kindIs "invalid" $value) (kindIs "string" $value)) -}}
{{- int64 $value -}}
{{- end -}}
{{- end -}}

{{/* Whether processes of both containers are in one group that the socket has: "true" or nothing. */}}
{{- define "lastcall.haveCommonGroup" -}}
{{- $pod := .Values.podSecurityContext | default dict -}}
{{- $sidecar := include "lastcall.securityOf" (list . "sidecar" "runAsGroup") -}}
{{- $groups := list (include "lastcall.securityOf" (list . "engine" "runAsGroup")) -}}
{{- range $pod.supplementalGroups -}}
{{- $groups = append $groups (int64 . | toString) -}}
{{- end -}}
{{- if or (get $pod "fsGroup" | toString | regexMatch "^[0-9]") (and $sidecar (has $sidecar $groups)) -}}
true
{{- end -}}
{{- end -}}

{{/* What `config.discovery` asks of the Kubernetes API, as a JSON list. */}}
{{- define "lastcall.kubernetesRegistries" -}}
{{- $found := list -}}
{{- range (.Values.config | default dict).discovery | default list -}}
{{- if hasKey . "kubernetes" -}}
{{- $found = append $found (.kubernetes | default dict) -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{- define "lastcall.readinessGates" -}}
{{- $found := list -}}
{{- range include "lastcall.kubernetesRegistries" . | fromJsonArray -}}
{{- with .readiness_gate -}}
{{- $found = append $found . -}}
{{- end -}}
{{- end -}}
{{- uniq $found | toJson -}}
{{- end -}}

{{/* Whether the chart makes the account: as it is told, else where it makes the rights. */}}
{{- define "lastcall.makesAccount" -}}
{{- $create := (.Values.serviceAccount | default dict).create -}}
{{- if kindIs "invalid" $create -}}
{{- $create = .Values.rbac.create -}}
{{- end -}}
{{- if $create -}}
true
{{- end -}}
{{- end -}}

{{/* The pods' account; nothing: the namespace's default. */}}
{{- define "lastcall.accountName" -}}
{{- $given := (.Values.serviceAccount | default dict).name | default .Values.serviceAccountName -}}
{{- if $given -}}
{{- $given -}}
{{- else if include "lastcall.makesAccount" . -}}
{{- include "lastcall.fullname" . -}}
{{- end -}}
{{- end -}}

{{/* Whether a list of mounts has a path; call with (list MOUNTS PATH): "true" or nothing. */}}
{{- define "lastcall.mountsAt" -}}
{{- $path := index . 1 -}}
{{- range index . 0 -}}
{{- if eq (clean (toString .mountPath)) $path -}}
true
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "lastcall.tokenFolder" -}}
/var/run/secrets/kubernetes.io/serviceaccount
{{- end -}}

{{/* Whether the supervisor gets a token that nobody else mounts for it: "true" or nothing. */}}
{{- define "lastcall.mountsToken" -}}
{{- $isMounted := include "lastcall.mountsAt" (list .Values.sidecar.volumeMounts (include "lastcall.tokenFolder" .)) -}}
{{- if and (include "lastcall.kubernetesRegistries" . | fromJsonArray) (not $isMounted) -}}
true
{{- end -}}
{{- end -}}

{{- define "lastcall.hasOwnTmp" -}}
{{- range .Values.volumes -}}
{{- if eq (toString .name) "tmp" -}}
true
{{- end -}}
{{- end -}}
{{- end -}}
