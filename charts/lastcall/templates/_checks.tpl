{{/* What the schema cannot see and only this chart knows; see charts/lastcall-lib, _checks.tpl. */}}

{{- define "lastcall.checks" -}}
{{- $problems := printf "%s%s%s" (include "lastcall-lib.problems" .) (include "lastcall.checksNames" .) (include "lastcall.checksAccount" .) -}}
{{- with $problems -}}
{{- fail . -}}
{{- end -}}
{{- end -}}

{{- define "lastcall.checksNames" -}}
{{- $name := include "lastcall.fullname" . -}}
{{- if and .Values.service.enabled (not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name)) -}}
{{- include "lastcall-lib.problem" (printf "%q is no name for a Service, expected a letter first, then letters, digits and '-', all lower case; set fullnameOverride, or service.enabled: false" $name) -}}
{{- else if not (regexMatch "^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$" $name) -}}
{{- include "lastcall-lib.problem" (printf "%q is no name for an object, expected letters, digits, '-' and '.', all lower case; set fullnameOverride" $name) -}}
{{- end -}}
{{- range $key, $labels := dict "commonLabels" .Values.commonLabels "podLabels" .Values.podLabels -}}
{{- range $reserved := list "app.kubernetes.io/instance" "app.kubernetes.io/name" -}}
{{- if hasKey ($labels | default dict) $reserved -}}
{{- include "lastcall-lib.problem" (printf "%s has %s, by which the Deployment and the Service find their pods, expected other labels; nameOverride changes app.kubernetes.io/name" $key $reserved) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $taken := list "engine" "lastcall" "lastcall-install" -}}
{{- range $key := list "initContainers" "extraContainers" -}}
{{- range get $.Values $key -}}
{{- if has .name $taken -}}
{{- include "lastcall-lib.problem" (printf "%s has a container %q, which is there already; expected another name" $key .name) -}}
{{- end -}}
{{- $taken = append $taken .name -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "lastcall.checksAccount" -}}
{{- $account := .Values.serviceAccount | default dict -}}
{{- if and $account.name .Values.serviceAccountName (ne $account.name .Values.serviceAccountName) -}}
{{- include "lastcall-lib.problem" (printf "serviceAccount.name is %s and serviceAccountName is %s, expected one of them" $account.name .Values.serviceAccountName) -}}
{{- end -}}
{{- $name := include "lastcall.accountName" . -}}
{{- if and .Values.rbac.create (not $name) -}}
{{- include "lastcall-lib.problem" "rbac.create without an account: the namespace's default one, of every other pod too, would get the rights, expected serviceAccount.name, or serviceAccount.create: true" -}}
{{- end -}}
{{- $asks := include "lastcall-lib.kubernetesRegistries" . | fromJsonArray -}}
{{- if and $asks (not $name) (not .Values.automountServiceAccountToken) -}}
{{- include "lastcall-lib.problem" "config.discovery has kubernetes, but the pods have no account with rights for it, expected rbac.create: true, or the name of an account of yours as serviceAccount.name" -}}
{{- end -}}
{{- end -}}
