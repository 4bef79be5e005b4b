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
{{- printf "A pod without requests in flight is gone in about %d ms and what its engine needs to end" $late -}}
{{- if and (not (include "lastcall.hasGauges" .)) (eq (get (.Values.config.ingress | default dict) "exclusive" | toString) "false") }},
from the first request on that its ingress has relayed
{{- end -}}
.
{{- else -}}
Unless an SDK in the engine tells, nobody knows what is in flight: there is no config.ingress, and no
gauge of the engine that could be read in time. Then a drain lasts {{ $unknown }} ms, idle or not
(config.shutdown.drain_unknown), and a request that runs for longer than {{ add $late $unknown }} ms into the stop
is cut. The SDK, config.ingress, or config.engine.kind or metrics change that.
{{- end -}}
{{- end -}}

{{- define "lastcall.wherePodsServe" -}}
{{- if or .Values.service.enabled (include "lastcall-lib.hasIngress" .) (include "lastcall-lib.writesEngineUrl" .) -}}
The engine has to serve HTTP at port {{ int64 .Values.engine.port }} (engine.port).
{{- end }}
{{- if include "lastcall-lib.hasIngress" . }}
Clients connect to lastcall's ingress, port {{ include "lastcall-lib.ingressPort" . }} of the pods.
{{- end }}
{{- if .Values.service.enabled }}
The Service sends requests to port {{ include "lastcall.targetPort" . | replace "http" (int64 .Values.engine.port | toString) }}.
{{- end }}
{{- end -}}

{{/* A warning, where anybody who reaches the pods can stop them. */}}
{{- define "lastcall.openHooks" -}}
{{- if and (include "lastcall-lib.hooksByHttp" .) (not (include "lastcall-lib.hookToken" .)) -}}
WARNING: prestop.hook is http, without a token: whoever reaches port {{ include "lastcall-lib.lifecyclePort" . }} of a pod can take it
out of service. Use prestop.hook: exec, set prestop.tokenSecret, or keep others away by a NetworkPolicy.
{{- end -}}
{{- end -}}

{{/* The same, where anybody can have them refuse every request. */}}
{{- define "lastcall.openThresholds" -}}
{{- $admission := (.Values.config | default dict).admission | default dict -}}
{{- $hasToken := $admission.http_token -}}
{{- range .Values.sidecar.env -}}
{{- $hasToken = or $hasToken (eq (toString .name) "LASTCALL_ADMISSION_TOKEN") -}}
{{- end -}}
{{- if and $admission.http_api (not $hasToken) -}}
WARNING: config.admission.http_api is on, without a token: whoever reaches port {{ include "lastcall-lib.probePort" . }} of a pod can have it
refuse every request. Set LASTCALL_ADMISSION_TOKEN in sidecar.env, or keep others away by a NetworkPolicy.
{{- end -}}
{{- end -}}
