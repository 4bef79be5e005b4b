{{/* Sentences of NOTES.txt that depend on the values. */}}

{{/* Whether the engine's own gauges can prove it idle within a drain: "true" or nothing. */}}
{{- define "lastcall.hasGauges" -}}
{{- $config := .Values.config | default dict -}}
{{- $metrics := ($config.engine | default dict).metrics | default dict -}}
{{- $kind := ($config.engine | default dict).kind | default "custom" -}}
{{- $isNamed := or (ne $kind "custom") (and $metrics.url $metrics.running) -}}
{{- $refresh := $metrics.refresh | default (eq $kind "sglang" | ternary "30s" "1s") -}}
{{- $fits := lt (include "lastcall-lib.ms" $refresh | int64) (include "lastcall.unknownMs" . | int64) -}}
{{- if and $isNamed $fits -}}
true
{{- end -}}
{{- end -}}

{{- define "lastcall.unknownMs" -}}
{{- $shutdown := (.Values.config | default dict).shutdown | default dict -}}
{{- include "lastcall-lib.ms" ($shutdown.drain_unknown | default "15s") -}}
{{- end -}}

{{- define "lastcall.idleStop" -}}
{{- $b := include "lastcall-lib.budgets" . | fromJson -}}
{{- $late := int64 $b.late -}}
{{- $longest := sub (int64 $b.total) (add (int64 $b.reserve) (int64 $b.settle) $late) -}}
{{- $unknown := include "lastcall.unknownMs" . | int64 | min $longest -}}
{{- if or (include "lastcall.hasGauges" .) (include "lastcall-lib.hasIngress" .) -}}
{{- printf "A pod without requests in flight is gone after about %d ms plus the time that its engine needs to end" $late -}}
{{- if and (not (include "lastcall.hasGauges" .)) (eq (get (.Values.config.ingress | default dict) "exclusive" | toString) "false") }},
from the first request on that its ingress has relayed
{{- end -}}
.
{{- else -}}
It is unknown what is in flight unless an SDK in the engine reports it: there is no config.ingress, and
no gauge of the engine that could be read in time. A drain then lasts {{ $unknown }} ms, idle or not
(config.shutdown.drain_unknown), and a request that runs for longer than {{ add $late $unknown }} ms into the stop
is cut. An SDK, config.ingress, or config.engine.kind or metrics would change that.
{{- end -}}
{{- end -}}

{{- define "lastcall.wherePodsServe" -}}
{{- if or .Values.service.enabled (include "lastcall-lib.hasIngress" .) (include "lastcall-lib.writesEngineUrl" .) -}}
The engine has to serve HTTP at port {{ int64 .Values.engine.port }} (engine.port).
{{- end }}
{{- if include "lastcall-lib.hasIngress" . }}
Clients connect to lastcall's ingress, port {{ include "lastcall-lib.ingressPort" . }} of the pods.
{{- $upstream := get (.Values.config.ingress | default dict) "upstream" | toString }}
{{- if not (or (.Values.networkPolicy | default dict).enabled (hasPrefix "unix:" $upstream)) }}
If the engine listens at more than 127.0.0.1, every pod of the cluster can reach it past the ingress,
control paths included: give the engine's command --host 127.0.0.1 or its like, or set networkPolicy.enabled.
{{- end }}
{{- end }}
{{- if .Values.service.enabled }}
The Service sends requests to port {{ include "lastcall.targetPort" . | replace "http" (int64 .Values.engine.port | toString) }}.
{{- end }}
{{- end -}}

{{/* A warning if any client that reaches the pods can stop them. */}}
{{- define "lastcall.openHooks" -}}
{{- if and (include "lastcall-lib.hooksByHttp" .) (not (include "lastcall-lib.hookToken" .)) -}}
WARNING: prestop.hook is http, without a token: any client that reaches port {{ include "lastcall-lib.lifecyclePort" . }} of a pod can take it
out of service. Use prestop.hook: exec, set prestop.tokenSecret, or keep others away with a NetworkPolicy.
{{- end -}}
{{- end -}}

{{/* A warning if any client can make them refuse every request. */}}
{{- define "lastcall.openThresholds" -}}
{{- $admission := (.Values.config | default dict).admission | default dict -}}
{{- $hasToken := $admission.http_token -}}
{{- range .Values.sidecar.env -}}
{{- $hasToken = or $hasToken (eq (toString .name) "LASTCALL_ADMISSION_TOKEN") -}}
{{- end -}}
{{- if and $admission.http_api (not $hasToken) -}}
WARNING: config.admission.http_api is on, without a token: any client that reaches port {{ include "lastcall-lib.probePort" . }} of a pod can make it
refuse every request. Set LASTCALL_ADMISSION_TOKEN in sidecar.env, or keep others away with a NetworkPolicy.
{{- end -}}
{{- end -}}

{{/* A warning if the engine sees the sidecar's processes and is their user. */}}
{{- define "lastcall.sharedProcesses" -}}
{{- $engine := include "lastcall-lib.securityOf" (list . "engine" "runAsUser") -}}
{{- $sidecar := include "lastcall-lib.securityOf" (list . "sidecar" "runAsUser") -}}
{{- if and .Values.shareProcessNamespace (eq $engine $sidecar) -}}
WARNING: shareProcessNamespace is on, and engine and sidecar run as the same user: a process in the engine's
container can reach the operators' socket and the sidecar's files through a check or a hook of it. Set
another engine.securityContext.runAsUser, or leave shareProcessNamespace off.
{{- end -}}
{{- end -}}

{{/* The router's part, if there is one. */}}
{{- define "lastcall.routerNotes" -}}
{{- if (.Values.router | default dict).enabled -}}
{{- $seconds := include "lastcall.routerGraceSeconds" . | int64 -}}
{{- $namespaces := include "lastcall.routerNamespaces" . | fromJsonArray -}}
Clients connect to the Service {{ include "lastcall.routerName" . }}: a router sends each request to a ready pod, and
to another one if that fails. A router that is replaced finishes its answers for up to {{ $seconds }} s
(router.config.shutdown.grace_period); longer ones are cut, with an error that can be retried.
Its metrics: port {{ include "lastcall.routerOperatorsPort" . }}, /metrics.
{{- if and $namespaces (not ((.Values.router.serviceAccount | default dict).create)) }}
The account {{ include "lastcall.routerAccountName" . }} needs get, list and watch of endpointslices (discovery.k8s.io) in
{{ $namespaces | join ", " }}: without them the routers find no worker and are not ready.
{{- end }}
{{- if and (include "lastcall-lib.hasIngress" . | not) (not (.Values.router.config | default dict).workers) }}
Without config.ingress, the stop of an engine cuts its streams: they continue at another pod as after a
crash, once per request. With config.ingress the sidecar hands them over.
{{- end }}
{{- end -}}
{{- end -}}
