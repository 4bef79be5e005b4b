{{/* The pods: this chart's values as a pod, and what charts/lastcall-lib makes of it. */}}

{{/* What the templates of charts/lastcall-lib take; see _pod.tpl there. */}}
{{- define "lastcall.podSpec" -}}
{{- $lastcall := dict "tmp" "tmp" "configVolume" (dict "configMap" (dict "name" (include "lastcall.fullname" .))) -}}
{{- $context := dict "Values" .Values "Capabilities" .Capabilities "Release" .Release "Chart" .Chart "Lastcall" $lastcall -}}
{{- $spec := include "lastcall.barePodSpec" . | fromYaml -}}
{{- include "lastcall-lib.podSpec" (dict "context" $context "spec" $spec "container" "engine") -}}
{{- end -}}

{{/* The pod without lastcall. */}}
{{- define "lastcall.barePodSpec" -}}
automountServiceAccountToken: {{ .Values.automountServiceAccountToken | default false }}
{{- with include "lastcall.accountName" . }}
serviceAccountName: {{ . | quote }}
{{- end }}
{{- with include "lastcall.readinessGates" . | fromJsonArray }}
readinessGates:
  {{- range . }}
  - {conditionType: {{ . | quote }}}
  {{- end }}
{{- end }}
# A Service named like an engine would set variables that the engine reads as its own.
enableServiceLinks: false
shareProcessNamespace: {{ .Values.shareProcessNamespace | default false }}
{{- if .Values.hostNetwork }}
hostNetwork: true
{{- end }}
{{- range $key := list "dnsPolicy" "priorityClassName" "runtimeClassName" "schedulerName" }}
{{- with get $.Values $key }}
{{ $key }}: {{ . | quote }}
{{- end }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "lastcall.volumes" . | fromYamlArray }}
volumes:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $key := list "imagePullSecrets" "initContainers" "dnsConfig" "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" }}
{{- with get $.Values $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
containers:
  {{- include "lastcall.engineContainer" . | nindent 2 }}
  {{- with .Values.extraContainers }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "lastcall.engineContainer" -}}
- name: engine
  image: {{ include "lastcall-lib.image" (dict "image" .Values.engine.image "tag" "latest") | quote }}
  {{- with .Values.engine.image.pullPolicy }}
  imagePullPolicy: {{ . | quote }}
  {{- end }}
  {{- $words := dict "command" .Values.engine.command "args" .Values.engine.args }}
  {{- if ne (include "lastcall-lib.mode" .) "prestop" }}
  {{- /* All of it behind the shim's own words, which are the command. */}}
  {{- $words = dict "args" (concat (.Values.engine.command | default list) (.Values.engine.args | default list)) }}
  {{- end }}
  {{- range $key := list "command" "args" }}
  {{- with get $words $key }}
  {{ $key }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  {{- range $key := list "env" "envFrom" "resources" "securityContext" }}
  {{- with get $.Values.engine $key }}
  {{ $key }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  ports:
    - {name: http, containerPort: {{ int64 .Values.engine.port }}, protocol: TCP}
  terminationMessagePolicy: FallbackToLogsOnError
  volumeMounts:
    {{- if not (include "lastcall-lib.mountsAt" (list .Values.engine.volumeMounts "/tmp")) }}
    - {name: tmp, mountPath: /tmp}
    {{- end }}
    {{- with .Values.engine.volumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- if (.Values.persistence | default dict).enabled }}
    - {name: models, mountPath: {{ .Values.persistence.mountPath | quote }}}
    {{- end }}
{{- end -}}

{{/* The user's, and the claim for models where the pods do not have one each. */}}
{{- define "lastcall.volumes" -}}
{{- $volumes := .Values.volumes | default list -}}
{{- if and (.Values.persistence | default dict).enabled (not (include "lastcall.claimsEach" .)) -}}
{{- $claim := .Values.persistence.existingClaim | default (include "lastcall.claimName" .) -}}
{{- $volumes = append $volumes (dict "name" "models" "persistentVolumeClaim" (dict "claimName" $claim)) -}}
{{- end -}}
{{- toYaml $volumes -}}
{{- end -}}

{{- define "lastcall.claimName" -}}
{{- printf "%s-models" (include "lastcall.fullname" . | trunc 56 | trimSuffix "-") -}}
{{- end -}}

{{/* Whether each pod of a StatefulSet gets a claim: "true" or nothing. */}}
{{- define "lastcall.claimsEach" -}}
{{- $persistence := .Values.persistence | default dict -}}
{{- if and (eq (.Values.workload | default "Deployment") "StatefulSet") $persistence.enabled (not $persistence.existingClaim) -}}
true
{{- end -}}
{{- end -}}

{{- define "lastcall.claimSpec" -}}
{{- with .Values.persistence -}}
accessModes:
  {{- toYaml .accessModes | nindent 2 }}
{{- with .storageClassName }}
storageClassName: {{ . | quote }}
{{- end }}
resources:
  requests: {storage: {{ .size | quote }}}
{{- end -}}
{{- end -}}
