{{/* The engine's container: what the two forms change of it. */}}

{{/*
A container as it has to be with lastcall beside it: under the shim, or with the hook and the probes of
mode prestop. What it had stays; lists get their entries at the end. Call with
(dict "context" CONTEXT "container" CONTAINER); the answer is YAML.
*/}}
{{- define "lastcall-lib.engine" -}}
{{- $context := .context -}}
{{- $engine := deepCopy .container -}}
{{- $isPrestop := eq (include "lastcall-lib.mode" $context) "prestop" -}}
{{- $env := list (dict "name" "LASTCALL_POD_GRACE_SECONDS" "value" (include "lastcall-lib.podGraceSeconds" $context)) -}}
{{- if $isPrestop -}}
{{- $env = append $env (dict "name" "LASTCALL_SOCKET" "value" (include "lastcall-lib.socket" $context)) -}}
{{- $_ := set $engine "lifecycle" (mergeOverwrite ($engine.lifecycle | default dict) (include "lastcall-lib.engineHook" $context | fromYaml)) -}}
{{- if not $engine.livenessProbe -}}
{{- range $key, $probe := include "lastcall-lib.engineProbes" $context | fromYaml -}}
{{- if not (get $engine $key) -}}
{{- $_ := set $engine $key $probe -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- else -}}
{{- $_ := set $engine "command" (concat (include "lastcall-lib.shimCommand" $context | fromJsonArray) ($engine.command | default list)) -}}
{{- end -}}
{{- $mounts := list -}}
{{- if include "lastcall-lib.installsShim" $context -}}
{{- $mounts = append $mounts (dict "name" "lastcall-bin" "mountPath" "/opt/lastcall" "readOnly" true) -}}
{{- end -}}
{{- $mounts = append $mounts (dict "name" "lastcall-socket" "mountPath" "/run/lastcall") -}}
{{- $_ := set $engine "env" (concat ($engine.env | default list) $env) -}}
{{- $_ := set $engine "volumeMounts" (concat ($engine.volumeMounts | default list) $mounts) -}}
{{- toYaml $engine -}}
{{- end -}}

{{/* What goes before the engine's own words, as a JSON list. */}}
{{- define "lastcall-lib.shimCommand" -}}
{{- /* --grace holds where no supervisor has ever said how long a stop may take. */ -}}
{{- $grace := ((.Values.config | default dict).shutdown | default dict).grace_period | default "60s" -}}
{{- $words := list "/opt/lastcall/lastcall-shim" "--socket" (include "lastcall-lib.socket" .) "--grace" $grace -}}
{{- append (concat $words ((.Values.engine | default dict).shimOptions | default list)) "--" | toJson -}}
{{- end -}}

{{- define "lastcall-lib.engineHook" -}}
preStop:
  {{- if include "lastcall-lib.hooksByHttp" . }}
  httpGet:
    {path: /lifecycle/prestop/engine, port: {{ include "lastcall-lib.lifecyclePort" . }}, scheme: HTTP{{ include "lastcall-lib.hookHeaders" . }}}
  {{- else }}
  exec:
    command: [/opt/lastcall/lastcall-shim, --prestop, engine, --socket, {{ include "lastcall-lib.socket" . | quote }}]
  {{- end }}
{{- end -}}

{{/*
Only a probe of this container can have it restarted; the supervisor gives the verdict. An engine may
load for as long as it needs: the first probe is what liveness waits for. The sidecar answers for the
engine: when it hangs for a moment, the engine must not be restarted. A verdict stays until
another engine is there, and is heard within 3 s.
*/}}
{{- define "lastcall-lib.engineProbes" -}}
startupProbe:
  httpGet: {path: /engine/startupz, port: {{ include "lastcall-lib.probePort" . }}, scheme: HTTP}
  periodSeconds: 2
  timeoutSeconds: 1
  failureThreshold: 43200
livenessProbe:
  httpGet: {path: /engine/livez, port: {{ include "lastcall-lib.probePort" . }}, scheme: HTTP}
  periodSeconds: 1
  timeoutSeconds: 2
  failureThreshold: 3
{{- end -}}
