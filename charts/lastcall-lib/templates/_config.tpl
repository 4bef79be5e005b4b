{{/* lastcall's configuration: the values' own, and what the chart knows better. */}}

{{/* The port of an address; nothing where that is 0. */}}
{{- define "lastcall-lib.portOf" -}}
{{- regexFind ":[0-9]+$" . | trimPrefix ":" | regexFind "[1-9][0-9]*$" -}}
{{- end -}}

{{/* Whether nobody outside of the pod reaches an address: "true" or nothing. */}}
{{- define "lastcall-lib.isLoopback" -}}
{{- if regexMatch "^(127\\.|localhost|\\[[0:]*:0*1\\]|\\[::ffff:127\\.)" . -}}
true
{{- end -}}
{{- end -}}

{{- define "lastcall-lib.probeListen" -}}
{{- ((.Values.config | default dict).probes | default dict).listen | default "[::]:7090" -}}
{{- end -}}

{{- define "lastcall-lib.probePort" -}}
{{- include "lastcall-lib.portOf" (include "lastcall-lib.probeListen" .) -}}
{{- end -}}

{{- define "lastcall-lib.lifecycleListen" -}}
{{- ((.Values.config | default dict).lifecycle | default dict).listen | default "[::]:7091" -}}
{{- end -}}

{{- define "lastcall-lib.lifecyclePort" -}}
{{- include "lastcall-lib.portOf" (include "lastcall-lib.lifecycleListen" .) -}}
{{- end -}}

{{/* Whether the supervisor relays requests: on when the section is there; "true" or nothing. */}}
{{- define "lastcall-lib.hasIngress" -}}
{{- $ingress := (.Values.config | default dict).ingress -}}
{{- if kindIs "map" $ingress -}}
{{- if ne (get $ingress "enabled" | toString) "false" -}}
true
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "lastcall-lib.ingressListen" -}}
{{- ((.Values.config | default dict).ingress | default dict).listen | default "[::]:8080" -}}
{{- end -}}

{{- define "lastcall-lib.ingressPort" -}}
{{- include "lastcall-lib.portOf" (include "lastcall-lib.ingressListen" .) -}}
{{- end -}}

{{/* Whether the hooks of mode prestop need a port: "true" or nothing. */}}
{{- define "lastcall-lib.hooksByHttp" -}}
{{- if and (eq (include "lastcall-lib.mode" .) "prestop") (eq .Values.prestop.hook "http") -}}
true
{{- end -}}
{{- end -}}

{{/* Whether the shim is in the engine's container, as its PID 1 or for a hook: "true" or nothing. */}}
{{- define "lastcall-lib.installsShim" -}}
{{- if not (include "lastcall-lib.hooksByHttp" .) -}}
true
{{- end -}}
{{- end -}}

{{/* The token that both sides of a hook's call know; nothing where there is none. */}}
{{- define "lastcall-lib.hookToken" -}}
{{- $secret := .Values.prestop.tokenSecret -}}
{{- if $secret.name -}}
{{- $found := lookup "v1" "Secret" .Release.Namespace $secret.name | default dict -}}
{{- get ($found.data | default dict) $secret.key | b64dec -}}
{{- else -}}
{{- ((.Values.config | default dict).lifecycle | default dict).token | default "" -}}
{{- end -}}
{{- end -}}

{{/* The Secret with the token of orders over HTTP; nothing where there is none. */}}
{{- define "lastcall-lib.ordersSecret" -}}
{{- ((.Values.orders | default dict).tokenSecret | default dict).name | default "" -}}
{{- end -}}

{{- define "lastcall-lib.ordersFolder" -}}
/etc/lastcall-orders
{{- end -}}

{{/* What the kubelet sends with a hook's call, where a token is set. */}}
{{- define "lastcall-lib.hookHeaders" -}}
{{- with include "lastcall-lib.hookToken" . -}}
, httpHeaders: [{name: X-Lastcall-Token, value: {{ . | quote }}}]
{{- end -}}
{{- end -}}

{{- define "lastcall-lib.socket" -}}
{{- ((.Values.config | default dict).ipc | default dict).socket | default "/run/lastcall/lastcall.sock" -}}
{{- end -}}

{{/*
Whether `engine.url` is written: "true" or nothing. An upstream that was given is its default. An
engine of kind custom is checked there by a connection, so only where something says that it serves.
*/}}
{{- define "lastcall-lib.writesEngineUrl" -}}
{{- $config := .Values.config | default dict -}}
{{- $engine := $config.engine | default dict -}}
{{- $upstream := "" -}}
{{- if include "lastcall-lib.hasIngress" . -}}
{{- $upstream = $config.ingress.upstream | default "" -}}
{{- end -}}
{{- $isGiven := or $engine.url (and $upstream (not (hasPrefix "unix:" $upstream))) -}}
{{- $isChecked := kindIs "slice" ($config.health | default dict).checks -}}
{{- $hasPreset := ne ($engine.kind | default "custom") "custom" -}}
{{- $serves := and (not $upstream) (or (.Values.service | default dict).enabled (include "lastcall-lib.hasIngress" .)) -}}
{{- if and (not $isGiven) (or $hasPreset $isChecked $serves) -}}
true
{{- end -}}
{{- end -}}

{{- define "lastcall-lib.config" -}}
{{- $config := deepCopy (.Values.config | default dict) -}}
{{- $address := printf "127.0.0.1:%d" (int64 .Values.engine.port) -}}
{{- if include "lastcall-lib.hasIngress" . -}}
{{- if not (or $config.ingress.upstream ($config.engine | default dict).url) -}}
{{- $_ := set $config.ingress "upstream" $address -}}
{{- end -}}
{{- end -}}
{{- if include "lastcall-lib.writesEngineUrl" . -}}
{{- $_ := set $config "engine" ($config.engine | default dict) -}}
{{- $_ := set $config.engine "url" (printf "http://%s" $address) -}}
{{- end -}}
{{- $uid := include "lastcall-lib.securityOf" (list . "engine" "runAsUser") -}}
{{- if and $uid (ne $uid (include "lastcall-lib.securityOf" (list . "sidecar" "runAsUser"))) -}}
{{- $ipc := $config.ipc | default dict -}}
{{- if not (kindIs "string" $ipc.allow_uids) -}}
{{- $allowed := list -}}
{{- range append ($ipc.allow_uids | default list) $uid -}}
{{- $allowed = append $allowed (int64 .) -}}
{{- end -}}
{{- $_ := set $ipc "allow_uids" (uniq $allowed) -}}
{{- end -}}
{{- $_ := set $config "ipc" $ipc -}}
{{- end -}}
{{- if include "lastcall-lib.ordersSecret" . -}}
{{- $_ := set $config "probes" ($config.probes | default dict) -}}
{{- $_ := set $config.probes "orders_token_file" (printf "%s/token" (include "lastcall-lib.ordersFolder" .)) -}}
{{- end -}}
{{- if eq (include "lastcall-lib.mode" .) "prestop" -}}
{{- $_ := set $config "lifecycle" (merge (dict "enabled" true "http" (include "lastcall-lib.hooksByHttp" . | empty | not)) ($config.lifecycle | default dict)) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}
