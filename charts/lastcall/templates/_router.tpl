{{/* lastcall-router in front of the engines: its configuration, and `lastcall run`'s around it. */}}

{{- define "lastcall.routerName" -}}
{{- printf "%s-router" (include "lastcall.fullname" . | trunc 56 | trimSuffix "-") -}}
{{- end -}}

{{/* Others than the engines': their Service must not find these pods. */}}
{{- define "lastcall.routerSelectorLabels" -}}
app.kubernetes.io/name: {{ printf "%s-router" (include "lastcall.name" . | trunc 56 | trimSuffix "-") | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/* An object's head; call with (dict "root" $ "name" NAME "more" VALUES-WITH-ANNOTATIONS). */}}
{{- define "lastcall.routerMetadata" -}}
name: {{ .name | quote }}
namespace: {{ .namespace | default .root.Release.Namespace | quote }}
labels:
  {{- include "lastcall.routerLabels" (dict "root" .root "more" dict) | nindent 2 }}
{{- with .more.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "lastcall.routerLabels" -}}
{{- $labels := include "lastcall.labelsAnd" . | fromYaml -}}
{{- toYaml (merge (include "lastcall.routerSelectorLabels" .root | fromYaml) $labels) -}}
{{- end -}}

{{/* The router's configuration: the values' own, and the workers that the chart knows. */}}
{{- define "lastcall.routerConfig" -}}
{{- $config := deepCopy (.Values.router.config | default dict) -}}
{{- if not $config.workers -}}
{{- $source := dict "services" (list (include "lastcall.fullname" .)) "namespace" .Release.Namespace -}}
{{- with ((.Values.config | default dict).identity | default dict).model -}}
{{- $_ := set $source "model" . -}}
{{- end -}}
{{- $_ := set $config "workers" (list (dict "kubernetes" $source)) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{- define "lastcall.routerListen" -}}
{{- (include "lastcall.routerConfig" . | fromYaml).listen | default "0.0.0.0:8080" -}}
{{- end -}}

{{- define "lastcall.routerOperators" -}}
{{- (include "lastcall.routerConfig" . | fromYaml).operators | default "0.0.0.0:7091" -}}
{{- end -}}

{{/* The port at which it reads the workers' load where that is not the port of their requests, or nothing. */}}
{{- define "lastcall.routerLoadPort" -}}
{{- if (.Values.router | default dict).enabled -}}
{{- with ((.Values.router.config | default dict).load | default dict).port -}}
{{- int64 . -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "lastcall.routerPort" -}}
{{- include "lastcall-lib.portOf" (include "lastcall.routerListen" .) -}}
{{- end -}}

{{- define "lastcall.routerOperatorsPort" -}}
{{- include "lastcall-lib.portOf" (include "lastcall.routerOperators" .) -}}
{{- end -}}

{{/* How long the router's own end may take, in whole seconds. */}}
{{- define "lastcall.routerGraceSeconds" -}}
{{- $shutdown := (.Values.router.config | default dict).shutdown | default dict -}}
{{- $grace := include "lastcall-lib.ms" ($shutdown.grace_period | default "30m") | int64 -}}
{{- div (add $grace 999) 1000 -}}
{{- end -}}

{{/* 5 s for `lastcall run` behind the router's end, 2 s for the kubelet. */}}
{{- define "lastcall.routerPodGraceSeconds" -}}
{{- add 7 (include "lastcall.routerGraceSeconds" . | int64) -}}
{{- end -}}

{{/*
`lastcall run` gives the router its SIGTERM at once: the router knows by itself what is in flight, closes
the connections of clients that would send more, and ends when the last answer has.
*/}}
{{- define "lastcall.routerRunConfig" -}}
engine: {kind: custom}
shutdown:
  grace_period: {{ add 5 (include "lastcall.routerGraceSeconds" . | int64) }}s
  deregister_timeout: 0s
  late_accept: 0s
  drain_unknown: 0s
health:
  checks:
    - {name: router, http: {url: "http://127.0.0.1:{{ include "lastcall.routerOperatorsPort" . }}/livez"}, timeout: 1s}
probes: {listen: "[::]:7090"}
{{- end -}}

{{/* The namespaces whose EndpointSlices the router reads, as a JSON list. */}}
{{- define "lastcall.routerNamespaces" -}}
{{- $found := list -}}
{{- range (include "lastcall.routerConfig" . | fromYaml).workers -}}
{{- if hasKey . "kubernetes" -}}
{{- $found = append $found ((.kubernetes | default dict).namespace | default $.Release.Namespace) -}}
{{- end -}}
{{- end -}}
{{- uniq $found | toJson -}}
{{- end -}}

{{/* The pods' account; nothing: the namespace's default. */}}
{{- define "lastcall.routerAccountName" -}}
{{- $account := .Values.router.serviceAccount | default dict -}}
{{- if $account.name -}}
{{- $account.name -}}
{{- else if $account.create -}}
{{- include "lastcall.routerName" . -}}
{{- end -}}
{{- end -}}

{{/* Problems of these values, one a line; see _checks.tpl. */}}
{{- define "lastcall.checksRouter" -}}
{{- $router := .Values.router | default dict -}}
{{- if $router.enabled -}}
{{- if and (not ($router.config | default dict).workers) (not .Values.service.enabled) -}}
{{- include "lastcall-lib.problem" "the router finds its workers by the Service, but service.enabled is false; expected service.enabled: true, or router.config.workers" -}}
{{- else if and (not ($router.config | default dict).workers) (include "lastcall-lib.hasIngress" .) (((.Values.config.ingress | default dict).tls | default dict).cert_file) -}}
{{- include "lastcall-lib.problem" "the router speaks plain HTTP to its workers, but config.ingress.tls is set; expected no config.ingress.tls, or router.config.workers" -}}
{{- end -}}
{{- $namespaces := include "lastcall.routerNamespaces" . | fromJsonArray -}}
{{- if and $namespaces (not (include "lastcall.routerAccountName" .)) -}}
{{- include "lastcall-lib.problem" "router.config.workers has kubernetes, but the router's pods have no service account with rights for it, expected router.serviceAccount.create: true, or the name of an account of yours as router.serviceAccount.name" -}}
{{- end -}}
{{- $budget := $router.podDisruptionBudget | default dict -}}
{{- if and $budget.enabled (kindIs "invalid" $budget.minAvailable) (kindIs "invalid" $budget.maxUnavailable) -}}
{{- include "lastcall-lib.problem" "router.podDisruptionBudget is enabled, but minAvailable and maxUnavailable are both null; expected one of them" -}}
{{- end -}}
{{- range $reserved := list "app.kubernetes.io/instance" "app.kubernetes.io/name" -}}
{{- if hasKey ($router.podLabels | default dict) $reserved -}}
{{- include "lastcall-lib.problem" (printf "router.podLabels has %s, by which the Deployment and the Service find their pods, expected other labels" $reserved) -}}
{{- end -}}
{{- end -}}
{{- $seen := dict "7090" "lastcall's probes" -}}
{{- range $key, $address := dict "router.config.listen" (include "lastcall.routerListen" .) "router.config.operators" (include "lastcall.routerOperators" .) -}}
{{- $port := include "lastcall-lib.portOf" $address -}}
{{- if not $port -}}
{{- include "lastcall-lib.problem" (printf "%s is %s, expected a port from 1 to 65535" $key $address) -}}
{{- else if include "lastcall-lib.isLoopback" $address -}}
{{- include "lastcall-lib.problem" (printf "%s is %s, which cannot be reached from outside of the pod, expected an address of the pod such as 0.0.0.0:%s" $key $address $port) -}}
{{- else if hasKey $seen $port -}}
{{- include "lastcall-lib.problem" (printf "%s and %s are both port %s, but share one network" $key (get $seen $port) $port) -}}
{{- end -}}
{{- $_ := set $seen (toString $port) $key -}}
{{- end -}}
{{- if and $router.enabled (gt (include "lastcall.routerGraceSeconds" . | int64) 86395) -}}
{{- include "lastcall-lib.problem" (printf "router.config.shutdown.grace_period is %s, expected at most 86395s: `lastcall run` around the router needs 5s more, and its own limit is 24h" $router.config.shutdown.grace_period) -}}
{{- end -}}
{{- $given := (.Values.router).terminationGracePeriodSeconds -}}
{{- if not (kindIs "invalid" $given) -}}
{{- if lt (int64 $given) (include "lastcall.routerPodGraceSeconds" . | int64) -}}
{{- include "lastcall-lib.problem" (printf "router.terminationGracePeriodSeconds %d is too small: router.config.shutdown.grace_period is %ds, and lastcall and the kubelet need 7s; leave it out to have it computed" (int64 $given) (include "lastcall.routerGraceSeconds" . | int64)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
