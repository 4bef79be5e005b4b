{{/* The pods of a LeaderWorkerSet that are no leaders. */}}

{{/* The pod of the engine's values without lastcall, with the worker's own words. */}}
{{- define "lastcall.workerPodSpec" -}}
{{- $worker := (.Values.leaderWorkerSet | default dict).worker | default dict -}}
{{- $spec := omit (include "lastcall.barePodSpec" . | fromYaml) "readinessGates" "serviceAccountName" -}}
{{- $engine := first $spec.containers -}}
{{- $_ := unset $engine "ports" -}}
{{- range $key := list "command" "args" -}}
{{- $_ := unset $engine $key -}}
{{- with get $worker $key -}}
{{- $_ := set $engine $key . -}}
{{- end -}}
{{- end -}}
{{- if not (kindIs "invalid" $worker.resources) -}}
{{- $_ := set $engine "resources" $worker.resources -}}
{{- end -}}
{{- $_ := set $engine "name" "worker" -}}
{{- $hook := include "lastcall.workerHook" . | fromYaml -}}
{{- $_ := set $engine "lifecycle" (kindIs "invalid" $worker.lifecycle | ternary $hook $worker.lifecycle) -}}
{{- $_ := set $spec "containers" (prepend (rest $spec.containers) $engine) -}}
{{- $hasTmp := false -}}
{{- range $spec.volumes -}}
{{- $hasTmp = or $hasTmp (eq .name "tmp") -}}
{{- end -}}
{{- if not $hasTmp -}}
{{- $_ := set $spec "volumes" (append ($spec.volumes | default list) (dict "name" "tmp" "emptyDir" dict)) -}}
{{- end -}}
{{- $_ := set $spec "terminationGracePeriodSeconds" (include "lastcall-lib.podGraceSeconds" . | int64) -}}
{{- toYaml $spec -}}
{{- end -}}

{{/*
Holds the kubelet's TERM back while the leader's lastcall answers. Its name is looked up once: it may go
before the leader does. Where it cannot be looked up, the whole time is waited for.
*/}}
{{- define "lastcall.workerHook" -}}
preStop:
  exec:
    command:
      - python3
      - -c
      - |
        import os, socket, time
        end = time.monotonic() + {{ sub (include "lastcall-lib.podGraceSeconds" . | int64) 2 }}
        try:
            name = os.environ["LWS_LEADER_ADDRESS"]
            leader = socket.getaddrinfo(name, {{ include "lastcall-lib.probePort" . }}, type=socket.SOCK_STREAM)[0][4][:2]
        except (KeyError, OSError):
            leader = None
        misses = 0
        while misses < 3 and time.monotonic() < end:
            try:
                if leader:
                    socket.create_connection(leader, 2).close()
                misses = 0
            except OSError:
                misses += 1
            time.sleep(1)
{{- end -}}
