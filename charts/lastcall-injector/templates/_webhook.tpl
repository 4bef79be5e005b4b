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
{{- $pods := mergeOverwrite (pick $defaults "image" "shimImage" "uid" "gracePeriod" "install") (dict "sidecar" (pick $defaults.sidecar "env" "resources")) (deepCopy .Values.pods) -}}
{{- $_ := set $pods "uid" (int64 $pods.uid) -}}
{{- toYaml $pods -}}
{{- end -}}

{{/*
The authority of the API server's trust, in PEM, with the certificate and the key where this chart makes
them; as YAML. Those of the release stay as long as the Secret has them: `lookup` finds it in a cluster,
and never under `helm template`, where each render would make others (docs/webhook.md).
*/}}
{{- define "lastcall-injector.certificate" -}}
{{- $secret := include "lastcall-injector.certificateSecret" . -}}
{{- $found := lookup "v1" "Secret" .Release.Namespace $secret -}}
{{- if not (lookup "v1" "Namespace" "" "kube-system") -}}
{{- fail "webhook.certificate.from is chart, which needs a cluster to keep its certificate in: `helm template`, and what applies its output (Argo CD, Flux's kustomize), would make another one with each render. Expected webhook.certificate.from: certManager or secret there" -}}
{{- else if and $found (hasKey ($found.data | default dict) "ca.crt") -}}
{{- dict "ca" (index $found.data "ca.crt" | b64dec) "cert" (index $found.data "tls.crt" | b64dec) "key" (index $found.data "tls.key" | b64dec) | toYaml -}}
{{- else -}}
{{- $service := include "lastcall-injector.fullname" . -}}
{{- $names := list (printf "%s.%s.svc" $service .Release.Namespace) (printf "%s.%s" $service .Release.Namespace) $service -}}
{{- $ca := genCA (printf "%s-ca" $service) 3650 -}}
{{- $made := genSignedCert (first $names) nil $names 3650 $ca -}}
{{- dict "ca" $ca.Cert "cert" $made.Cert "key" $made.Key | toYaml -}}
{{- end -}}
{{- end -}}
