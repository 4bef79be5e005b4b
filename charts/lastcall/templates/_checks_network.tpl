{{/* Ports of one pod, and who has to reach them. See _checks.tpl. */}}

{{- define "lastcall.checksListeners" -}}
{{- $isPrestop := eq (include "lastcall.mode" .) "prestop" -}}
{{- $listeners := dict "config.probes.listen" (include "lastcall.probeListen" .) -}}
{{- $lifecycle := (.Values.config | default dict).lifecycle | default dict -}}
{{- $isOpen := and $lifecycle.enabled (ne (get $lifecycle "http" | toString) "false") -}}
{{- if ternary (include "lastcall.hooksByHttp" . | empty | not) $isOpen $isPrestop -}}
{{- $_ := set $listeners "config.lifecycle.listen" (include "lastcall.lifecycleListen" .) -}}
{{- end -}}
{{- if include "lastcall.hasIngress" . -}}
{{- $_ := set $listeners "config.ingress.listen" (include "lastcall.ingressListen" .) -}}
{{- end -}}

{{- $reached := dict "config.probes.listen" "the kubelet" -}}
{{- if $isPrestop -}}
{{- $_ := set $reached "config.lifecycle.listen" "the kubelet" -}}
{{- end -}}
{{- if .Values.service.enabled -}}
{{- $_ := set $reached "config.ingress.listen" "the Service" -}}
{{- end -}}

{{- $ports := dict "engine.port" (int64 .Values.engine.port) -}}
{{- range $key, $address := $listeners -}}
{{- $port := include "lastcall.portOf" $address | int64 -}}
{{- if or (lt $port 1) (gt $port 65535) -}}
{{- include "lastcall.problem" (printf "%s is %s, expected a port from 1 to 65535" $key $address) -}}
{{- else -}}
{{- $_ := set $ports $key $port -}}
{{- end -}}
{{- if and (hasKey $reached $key) (include "lastcall.isLoopback" $address) -}}
{{- include "lastcall.problem" (printf "%s is %s, where %s does not reach it, expected an address of the pod such as [::]:%d" $key $address (get $reached $key) $port) -}}
{{- end -}}
{{- end -}}

{{- $seen := dict -}}
{{- range $key, $port := $ports -}}
{{- if hasKey $seen (toString $port) -}}
{{- include "lastcall.problem" (printf "%s and %s are both port %d, but share one network" $key (get $seen (toString $port)) $port) -}}
{{- end -}}
{{- $_ := set $seen (toString $port) $key -}}
{{- end -}}

{{- if not (hasPrefix "/run/lastcall/" (include "lastcall.socket" .)) -}}
{{- include "lastcall.problem" (printf "config.ipc.socket is %s, expected a file in /run/lastcall, which both containers mount" (include "lastcall.socket" .)) -}}
{{- end -}}
{{- end -}}

{{/* Where the ingress sends requests is where the engine takes them. */}}
{{- define "lastcall.checksEngine" -}}
{{- if include "lastcall.hasIngress" . -}}
{{- $url := (.Values.config.engine | default dict).url | default "" -}}
{{- $upstream := .Values.config.ingress.upstream | default "" -}}
{{- $address := $upstream | default (regexFind "^http://[^/?]+" $url | trimPrefix "http://") -}}
{{- $port := include "lastcall.portOf" $address | default "80" | int64 -}}
{{- if and (include "lastcall.isLoopback" $address) (ne $port (int64 .Values.engine.port)) -}}
{{- if $upstream -}}
{{- include "lastcall.problem" (printf "config.ingress.upstream is %s, but engine.port is %d, expected the same port: the one at which the engine takes requests" $upstream (int64 .Values.engine.port)) -}}
{{- else -}}
{{- include "lastcall.problem" (printf "config.engine.url is %s, but engine.port is %d, expected config.ingress.upstream to say which of them takes requests" $url (int64 .Values.engine.port)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
