{{/* lastcall's configuration: the values' own, and what the chart knows better. */}}

{{/* The port of an address; nothing where that is 0. */}}
{{- define "lastcall.portOf" -}}
{{- regexFind ":[0-9]+$" . | trimPrefix ":" | regexFind "[1-9][0-9]*$" -}}
{{- end -}}

{{/* Whether nobody outside of the pod reaches an address: "true" or nothing. */}}
{{- define "lastcall.isLoopback" -}}
{{- if regexMatch "^(127\\.|localhost|\\[[0:]*:0*1\\]|\\[::ffff:127\\.)" . -}}
true
{{- end -}}
{{- end -}}

{{- define "lastcall.probeListen" -}}
{{- ((.Values.config | default dict).probes | default dict).listen | default "[::]:7090" -}}
{{- end -}}

{{- define "lastcall.probePort" -}}
{{- include "lastcall.portOf" (include "lastcall.probeListen" .) -}}
{{- end -}}

{{- define "lastcall.lifecycleListen" -}}
{{- ((.Values.config | default dict).lifecycle | default dict).listen | default "[::]:7091" -}}
{{- end -}}

{{- define "lastcall.lifecyclePort" -}}
{{- include "lastcall.portOf" (include "lastcall.lifecycleListen" .) -}}
{{- end -}}

{{/* Whether the supervisor relays requests: on when the section is there; "true" or nothing. */}}
{{- define "lastcall.hasIngress" -}}
{{- $ingress := (.Values.config | default dict).ingress -}}
{{- if kindIs "map" $ingress -}}
{{- if ne (get $ingress "enabled" | toString) "false" -}}
true
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "lastcall.ingressListen" -}}
{{- ((.Values.config | default dict).ingress | default dict).listen | default "[::]:8080" -}}
{{- end -}}

{{- define "lastcall.ingressPort" -}}
{{- include "lastcall.portOf" (include "lastcall.ingressListen" .) -}}
{{- end -}}

{{/*
What the Service sends requests to. The sidecar's port by its number: not every version of the
controllers looks for a port's name in an init container.
*/}}
{{- define "lastcall.targetPort" -}}
{{- if .Values.service.targetPort -}}
{{- int64 .Values.service.targetPort -}}
{{- else if include "lastcall.hasIngress" . -}}
{{- include "lastcall.ingressPort" . -}}
{{- else -}}
http
{{- end -}}
{{- end -}}

{{/* Whether the hooks of mode prestop need a port: "true" or nothing. */}}
{{- define "lastcall.hooksByHttp" -}}
{{- if and (eq (include "lastcall.mode" .) "prestop") (eq .Values.prestop.hook "http") -}}
true
{{- end -}}
{{- end -}}

{{/* Whether the shim is in the engine's container, as its PID 1 or for a hook: "true" or nothing. */}}
{{- define "lastcall.installsShim" -}}
{{- if not (include "lastcall.hooksByHttp" .) -}}
true
{{- end -}}
{{- end -}}

{{/* The token that both sides of a hook's call know; nothing where there is none. */}}
{{- define "lastcall.hookToken" -}}
{{- $secret := .Values.prestop.tokenSecret -}}
{{- if $secret.name -}}
{{- $found := lookup "v1" "Secret" .Release.Namespace $secret.name | default dict -}}
{{- get ($found.data | default dict) $secret.key | b64dec -}}
{{- else -}}
{{- ((.Values.config | default dict).lifecycle | default dict).token | default "" -}}
{{- end -}}
{{- end -}}

{{/* What the kubelet sends with a hook's call, where a token is set. */}}
{{- define "lastcall.hookHeaders" -}}
{{- with include "lastcall.hookToken" . -}}
, httpHeaders: [{name: X-Lastcall-Token, value: {{ . | quote }}}]
{{- end -}}
{{- end -}}

{{- define "lastcall.socket" -}}
{{- ((.Values.config | default dict).ipc | default dict).socket | default "/run/lastcall/lastcall.sock" -}}
{{- end -}}

{{/*
Whether `engine.url` is written: "true" or nothing. An upstream that was given is its default. An
engine of kind custom is checked there by a connection, so only where something says that it serves.
*/}}
{{- define "lastcall.writesEngineUrl" -}}
{{- $config := .Values.config | default dict -}}
{{- $engine := $config.engine | default dict -}}
{{- $upstream := "" -}}
{{- if include "lastcall.hasIngress" . -}}
{{- $upstream = $config.ingress.upstream | default "" -}}
{{- end -}}
{{- $isGiven := or $engine.url (and $upstream (not (hasPrefix "unix:" $upstream))) -}}
{{- $isChecked := kindIs "slice" ($config.health | default dict).checks -}}
{{- $hasPreset := ne ($engine.kind | default "custom") "custom" -}}
{{- $serves := and (not $upstream) (or .Values.service.enabled (include "lastcall.hasIngress" .)) -}}
{{- if and (not $isGiven) (or $hasPreset $isChecked $serves) -}}
true
{{- end -}}
{{- end -}}

{{- define "lastcall.config" -}}
{{- $config := deepCopy (.Values.config | default dict) -}}
{{- $address := printf "127.0.0.1:%d" (int64 .Values.engine.port) -}}
{{- if include "lastcall.hasIngress" . -}}
{{- if not (or $config.ingress.upstream ($config.engine | default dict).url) -}}
{{- $_ := set $config.ingress "upstream" $address -}}
{{- end -}}
{{- end -}}
{{- if include "lastcall.writesEngineUrl" . -}}
{{- $_ := set $config "engine" ($config.engine | default dict) -}}
{{- $_ := set $config.engine "url" (printf "http://%s" $address) -}}
{{- end -}}
{{- $uid := include "lastcall.securityOf" (list . "engine" "runAsUser") -}}
{{- if and $uid (ne $uid (include "lastcall.securityOf" (list . "sidecar" "runAsUser"))) -}}
{{- $ipc := $config.ipc | default dict -}}
{{- $allowed := list -}}
{{- range append ($ipc.allow_uids | default list) $uid -}}
{{- $allowed = append $allowed (int64 .) -}}
{{- end -}}
{{- $_ := set $ipc "allow_uids" (uniq $allowed) -}}
{{- $_ := set $config "ipc" $ipc -}}
{{- end -}}
{{- if eq (include "lastcall.mode" .) "prestop" -}}
{{- $_ := set $config "lifecycle" (merge (dict "enabled" true "http" (include "lastcall.hooksByHttp" . | empty | not)) ($config.lifecycle | default dict)) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}
