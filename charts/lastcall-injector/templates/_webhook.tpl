{{/* The webhook: names, and what follows from the values and the cluster. */}}

{{/* policy or webhook. */}}
{{- define "lastcall-injector.by" -}}
{{- $group := "admissionregistration.k8s.io" -}}
{{- $has := or (.Capabilities.APIVersions.Has (printf "%s/v1/MutatingAdmissionPolicy" $group)) (.Capabilities.APIVersions.Has (printf "%s/v1beta1/MutatingAdmissionPolicy" $group)) -}}
{{- if ne .Values.by "auto" -}}
{{- .Values.by -}}
{{- else -}}
{{- or $has (ne .Values.apiVersion "") | ternary "policy" "webhook" -}}
{{- end -}}
{{- end -}}

{{- define "lastcall-injector.fullname" -}}
{{- contains .Chart.Name .Release.Name | ternary .Release.Name (printf "%s-injector" .Release.Name) | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "lastcall-injector.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Of what the operator of kube-prometheus reads; call with (dict "root" $ "name" NAME "more" VALUES). */}}
{{- define "lastcall-injector.monitorHead" -}}
name: {{ .name | quote }}
namespace: {{ .root.Release.Namespace | quote }}
labels:
  {{- mergeOverwrite (include "lastcall-injector.labels" .root | fromYaml) (.more.labels | default dict) | toYaml | nindent 2 }}
{{- with .more.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "lastcall-injector.certificateSecret" -}}
{{- .Values.webhook.certificate.secretName | default (printf "%s-tls" (include "lastcall-injector.fullname" .)) -}}
{{- end -}}

{{/* Where the API server itself looks at an annotation, a pod that does not ask never depends on the webhook. */}}
{{- define "lastcall-injector.hasMatchConditions" -}}
{{- if semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version -}}
true
{{- end -}}
{{- end -}}

{{- define "lastcall-injector.failurePolicy" -}}
{{- if .Values.webhook.failurePolicy -}}
{{- .Values.webhook.failurePolicy -}}
{{- else if or (eq .Values.selectBy "label") (include "lastcall-injector.hasMatchConditions" .) -}}
Fail
{{- else -}}
Ignore
{{- end -}}
{{- end -}}

{{/* What the library takes, with the values of this chart over its defaults: the file --pods. */}}
{{- define "lastcall-injector.pods" -}}
{{- $defaults := include "lastcall-lib.defaults" . | fromYaml -}}
{{- $pods := mergeOverwrite (pick $defaults "image" "shimImage" "imagePullSecrets" "uid" "gracePeriod" "install") (dict "sidecar" (pick $defaults.sidecar "env" "resources")) (deepCopy .Values.pods) -}}
{{- $_ := set $pods "uid" (int64 $pods.uid) -}}
{{- toYaml $pods -}}
{{- end -}}

{{/* Whether the webhook makes and keeps its certificate itself, for which it needs rights and a token. */}}
{{- define "lastcall-injector.keepsCertificate" -}}
{{- if eq .Values.webhook.certificate.from "chart" -}}
true
{{- end -}}
{{- end -}}
