{{/* Where the Service sends requests. */}}

{{/*
What the Service sends requests to. The sidecar's port by its number: not every version of the
controllers looks for a port's name in an init container.
*/}}
{{- define "lastcall.targetPort" -}}
{{- if .Values.service.targetPort -}}
{{- int64 .Values.service.targetPort -}}
{{- else if include "lastcall-lib.hasIngress" . -}}
{{- include "lastcall-lib.ingressPort" . -}}
{{- else -}}
http
{{- end -}}
{{- end -}}

{{/* A headless Service: the names of a StatefulSet's pods. */}}
{{- define "lastcall.podsName" -}}
{{- printf "%s-pods" (include "lastcall.fullname" . | trunc 58 | trimSuffix "-") -}}
{{- end -}}

{{/* A number or a percentage, as it is. */}}
{{- define "lastcall.count" -}}
{{- if kindIs "string" . -}}
{{- . | quote -}}
{{- else -}}
{{- int64 . -}}
{{- end -}}
{{- end -}}
