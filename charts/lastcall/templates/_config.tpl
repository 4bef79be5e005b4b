{{/* lastcall's configuration: the values' own, and what the chart knows better. */}}

{{- define "lastcall.probePort" -}}
{{- regexFind "[0-9]+$" (((.Values.config | default dict).probes | default dict).listen | default "[::]:7090") -}}
{{- end -}}

{{- define "lastcall.lifecyclePort" -}}
{{- regexFind "[0-9]+$" (((.Values.config | default dict).lifecycle | default dict).listen | default "[::]:7091") -}}
{{- end -}}

{{/* What the kubelet sends with a hook's call, where a token is set. */}}
{{- define "lastcall.hookHeaders" -}}
{{- with ((.Values.config | default dict).lifecycle | default dict).token -}}
, httpHeaders: [{name: X-Lastcall-Token, value: {{ . | quote }}}]
{{- end -}}
{{- end -}}

{{/* What `config.discovery` asks of the Kubernetes API, as a JSON list. */}}
{{- define "lastcall.kubernetesRegistries" -}}
{{- $found := list -}}
{{- range (.Values.config | default dict).discovery | default list -}}
{{- if hasKey . "kubernetes" -}}
{{- $found = append $found (.kubernetes | default dict) -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{- define "lastcall.readinessGates" -}}
{{- $found := list -}}
{{- range include "lastcall.kubernetesRegistries" . | fromJsonArray -}}
{{- with .readiness_gate -}}
{{- $found = append $found . -}}
{{- end -}}
{{- end -}}
{{- uniq $found | toJson -}}
{{- end -}}

{{- define "lastcall.serviceAccountName" -}}
{{- default (include "lastcall.fullname" .) .Values.serviceAccountName -}}
{{- end -}}

{{- define "lastcall.socket" -}}
{{- ((.Values.config | default dict).ipc | default dict).socket | default "/run/lastcall/lastcall.sock" -}}
{{- end -}}

{{- define "lastcall.config" -}}
{{- $config := deepCopy (.Values.config | default dict) -}}
{{- $engine := .Values.engine.securityContext.runAsUser -}}
{{- if not (kindIs "invalid" $engine) -}}
{{- $ipc := $config.ipc | default dict -}}
{{- $allowed := list -}}
{{- range $uid := append ($ipc.allow_uids | default list) $engine -}}
{{- $allowed = append $allowed (int64 $uid) -}}
{{- end -}}
{{- $_ := set $ipc "allow_uids" (uniq $allowed) -}}
{{- $_ := set $config "ipc" $ipc -}}
{{- end -}}
{{- if eq (include "lastcall.mode" .) "prestop" -}}
{{- $_ := set $config "lifecycle" (merge (dict "enabled" true) ($config.lifecycle | default dict)) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}
