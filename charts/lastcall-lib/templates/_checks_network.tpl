{{/* Ports of one pod, and who has to reach them. See _checks.tpl. */}}

{{- define "lastcall-lib.checksListeners" -}}
{{- $isPrestop := eq (include "lastcall-lib.mode" .) "prestop" -}}
{{- $listeners := dict "config.probes.listen" (include "lastcall-lib.probeListen" .) -}}
{{- $lifecycle := (.Values.config | default dict).lifecycle | default dict -}}
{{- $isOpen := and $lifecycle.enabled (ne (get $lifecycle "http" | toString) "false") -}}
{{- if ternary (include "lastcall-lib.hooksByHttp" . | empty | not) $isOpen $isPrestop -}}
{{- $_ := set $listeners "config.lifecycle.listen" (include "lastcall-lib.lifecycleListen" .) -}}
{{- end -}}
{{- if include "lastcall-lib.hasIngress" . -}}
{{- $_ := set $listeners "config.ingress.listen" (include "lastcall-lib.ingressListen" .) -}}
{{- end -}}

{{- $reached := dict "config.probes.listen" "the kubelet" -}}
{{- if $isPrestop -}}
{{- $_ := set $reached "config.lifecycle.listen" "the kubelet" -}}
{{- end -}}
{{- if (.Values.service | default dict).enabled -}}
{{- $_ := set $reached "config.ingress.listen" "the Service" -}}
{{- end -}}

{{- $ports := dict "engine.port" (int64 .Values.engine.port) -}}
{{- range $key, $address := $listeners -}}
{{- $port := include "lastcall-lib.portOf" $address | int64 -}}
{{- if or (lt $port 1) (gt $port 65535) -}}
{{- include "lastcall-lib.problem" (printf "%s is %s, expected a port from 1 to 65535" $key $address) -}}
{{- else -}}
{{- $_ := set $ports $key $port -}}
{{- end -}}
{{- if and (hasKey $reached $key) (include "lastcall-lib.isLoopback" $address) -}}
{{- include "lastcall-lib.problem" (printf "%s is %s, where %s does not reach it, expected an address of the pod such as [::]:%d" $key $address (get $reached $key) $port) -}}
{{- end -}}
{{- end -}}

{{- $seen := dict -}}
{{- range $key, $port := $ports -}}
{{- if hasKey $seen (toString $port) -}}
{{- include "lastcall-lib.problem" (printf "%s and %s are both port %d, but share one network" $key (get $seen (toString $port)) $port) -}}
{{- end -}}
{{- $_ := set $seen (toString $port) $key -}}
{{- end -}}

{{- if not (hasPrefix "/run/lastcall/" (include "lastcall-lib.socket" .)) -}}
{{- include "lastcall-lib.problem" (printf "config.ipc.socket is %s, expected a file in /run/lastcall, which both containers mount" (include "lastcall-lib.socket" .)) -}}
{{- end -}}
{{- end -}}

{{/* Where the ingress sends requests is where the engine takes them. */}}
{{- define "lastcall-lib.checksEngine" -}}
{{- if include "lastcall-lib.hasIngress" . -}}
{{- $url := (.Values.config.engine | default dict).url | default "" -}}
{{- $upstream := .Values.config.ingress.upstream | default "" -}}
{{- $address := $upstream | default (regexFind "^http://[^/?]+" $url | trimPrefix "http://") -}}
{{- $port := include "lastcall-lib.portOf" $address | default "80" | int64 -}}
{{- if and (include "lastcall-lib.isLoopback" $address) (ne $port (int64 .Values.engine.port)) -}}
{{- if $upstream -}}
{{- include "lastcall-lib.problem" (printf "config.ingress.upstream is %s, but engine.port is %d, expected the same port: the one at which the engine takes requests" $upstream (int64 .Values.engine.port)) -}}
{{- else -}}
{{- include "lastcall-lib.problem" (printf "config.engine.url is %s, but engine.port is %d, expected config.ingress.upstream to say which of them takes requests" $url (int64 .Values.engine.port)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
