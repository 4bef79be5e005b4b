{{/* How lastcall's metrics are found. Each is off unless asked for. */}}

{{/* Annotations of the pods for a Prometheus that looks for them, as YAML. */}}
{{- define "lastcall.scrapeAnnotations" -}}
{{- if (.Values.metrics | default dict).annotations -}}
prometheus.io/scrape: "true"
prometheus.io/port: {{ include "lastcall-lib.probePort" . | quote }}
prometheus.io/path: /metrics
{{- end -}}
{{- end -}}

{{/* What PodMonitor and ServiceMonitor have in common; call with (dict "root" $ "monitor" VALUES). */}}
{{- define "lastcall.scrapeEndpoint" -}}
path: /metrics
scheme: http
{{- range $key := list "interval" "scrapeTimeout" }}
{{- with get $.monitor $key }}
{{ $key }}: {{ . | quote }}
{{- end }}
{{- end }}
honorLabels: false
{{- range $key := list "relabelings" "metricRelabelings" }}
{{- with get $.monitor $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* An object's head; call with (dict "root" $ "name" NAME "more" VALUES-WITH-LABELS-AND-ANNOTATIONS). */}}
{{- define "lastcall.metadata" -}}
name: {{ .name | quote }}
namespace: {{ .root.Release.Namespace | quote }}
labels:
  {{- include "lastcall.labelsAnd" (dict "root" .root "more" (.more.labels | default dict)) | nindent 2 }}
{{- with .more.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "lastcall.metricsName" -}}
{{- printf "%s-metrics" (include "lastcall.fullname" . | trunc 55 | trimSuffix "-") -}}
{{- end -}}
