{{/* Names, labels and annotations. */}}

{{- define "lastcall.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "lastcall.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "lastcall.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Whether a Service can have a name: "true" or nothing. */}}
{{- define "lastcall.isServiceName" -}}
{{- if regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" . -}}
true
{{- end -}}
{{- end -}}

{{/* Immutable in a Deployment, so no more than this. */}}
{{- define "lastcall.selectorLabels" -}}
app.kubernetes.io/name: {{ include "lastcall.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/* Those by which nothing but the test of a release finds its pod. */}}
{{- define "lastcall.testLabels" -}}
app.kubernetes.io/component: test
app.kubernetes.io/part-of: {{ .Release.Name | quote }}
{{- end -}}

{{- define "lastcall.labels" -}}
{{- include "lastcall.labelsAnd" (dict "root" . "more" dict) -}}
{{- end -}}

{{/* With the labels `more`, each key once; call with (dict "root" $ "more" LABELS). */}}
{{- define "lastcall.labelsAnd" -}}
{{- $labels := include "lastcall.selectorLabels" .root | fromYaml -}}
{{- $_ := set $labels "app.kubernetes.io/version" .root.Chart.AppVersion -}}
{{- $_ := set $labels "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{- $chart := printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" -}}
{{- $_ := set $labels "helm.sh/chart" ($chart | trunc 63 | trimSuffix "-") -}}
{{- range $extra := list .root.Values.commonLabels .more -}}
{{- range $key, $value := $extra -}}
{{- $_ := set $labels $key $value -}}
{{- end -}}
{{- end -}}
{{- toYaml $labels -}}
{{- end -}}

{{/* The pods'; the user's own word goes over the chart's. */}}
{{- define "lastcall.podAnnotations" -}}
{{- $annotations := dict "kubectl.kubernetes.io/default-container" "engine" -}}
{{- $_ := set $annotations "checksum/config" (include "lastcall-lib.config" . | sha256sum) -}}
{{- range $key, $value := include "lastcall.scrapeAnnotations" . | fromYaml -}}
{{- $_ := set $annotations $key $value -}}
{{- end -}}
{{- range $key, $value := .Values.podAnnotations -}}
{{- $_ := set $annotations $key $value -}}
{{- end -}}
{{- toYaml $annotations -}}
{{- end -}}
