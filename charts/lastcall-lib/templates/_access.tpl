{{/* The users that containers run as, and the pods that have the API's token. */}}

{{/*
What holds for a container's process: its own security context's word, else the pod's; nothing
where the image decides. Call with (list $ "engine" "runAsUser"), or "sidecar".
*/}}
{{- define "lastcall-lib.securityOf" -}}
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
{{- define "lastcall-lib.haveCommonGroup" -}}
{{- $pod := .Values.podSecurityContext | default dict -}}
{{- $sidecar := include "lastcall-lib.securityOf" (list . "sidecar" "runAsGroup") -}}
{{- $groups := list (include "lastcall-lib.securityOf" (list . "engine" "runAsGroup")) -}}
{{- range $pod.supplementalGroups -}}
{{- $groups = append $groups (int64 . | toString) -}}
{{- end -}}
{{- if or (get $pod "fsGroup" | toString | regexMatch "^[0-9]") (and $sidecar (has $sidecar $groups)) -}}
true
{{- end -}}
{{- end -}}

{{/* What `config.discovery` asks of the Kubernetes API, as a JSON list. */}}
{{- define "lastcall-lib.kubernetesRegistries" -}}
{{- $found := list -}}
{{- range (.Values.config | default dict).discovery | default list -}}
{{- if hasKey . "kubernetes" -}}
{{- $found = append $found (.kubernetes | default dict) -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/* Whether a list of mounts has a path; call with (list MOUNTS PATH): "true" or nothing. */}}
{{- define "lastcall-lib.mountsAt" -}}
{{- $path := index . 1 -}}
{{- range index . 0 -}}
{{- if eq (clean (toString .mountPath)) $path -}}
true
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "lastcall-lib.tokenFolder" -}}
/var/run/secrets/kubernetes.io/serviceaccount
{{- end -}}

{{/* Whether the supervisor gets a token that nobody else mounts for it: "true" or nothing. */}}
{{- define "lastcall-lib.mountsToken" -}}
{{- $isMounted := include "lastcall-lib.mountsAt" (list .Values.sidecar.volumeMounts (include "lastcall-lib.tokenFolder" .)) -}}
{{- if and (include "lastcall-lib.kubernetesRegistries" . | fromJsonArray) (not $isMounted) -}}
true
{{- end -}}
{{- end -}}
