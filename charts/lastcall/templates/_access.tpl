{{/* What the API server lets the pods do. */}}

{{- define "lastcall.readinessGates" -}}
{{- $found := list -}}
{{- range include "lastcall-lib.kubernetesRegistries" . | fromJsonArray -}}
{{- with .readiness_gate -}}
{{- $found = append $found . -}}
{{- end -}}
{{- end -}}
{{- uniq $found | toJson -}}
{{- end -}}

{{/* Whether the chart makes the account: as the values set it, else where it makes the rights. */}}
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
