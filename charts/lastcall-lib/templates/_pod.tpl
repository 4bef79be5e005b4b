{{/* A whole pod. */}}

{{/*
CONTEXT, which every template of this chart takes, has what a chart's `.` has: Values (mode, image,
shimImage, config, prestop, install, sidecar, engine, podSecurityContext, as in charts/lastcall's
values.yaml), Capabilities, Release, Chart. A key Lastcall may say more:
  args          the words after `serve`; by default the file of `configVolume`
  configVolume  where /etc/lastcall/lastcall.yaml comes from, such as {configMap: {name: x}}
  tmp           the name of the volume at /tmp, `lastcall-tmp` by default
*/}}

{{- define "lastcall-lib.tmpVolume" -}}
{{- (.Lastcall | default dict).tmp | default "lastcall-tmp" -}}
{{- end -}}

{{/* As YAML; nothing where everything is in the words. */}}
{{- define "lastcall-lib.configVolume" -}}
{{- with (.Lastcall | default dict).configVolume -}}
{{- toYaml . -}}
{{- end -}}
{{- end -}}

{{- define "lastcall-lib.serveArgs" -}}
{{- $words := (.Lastcall | default dict).args | default list -}}
{{- if include "lastcall-lib.configVolume" . -}}
{{- $words = concat (list "--config" "/etc/lastcall/lastcall.yaml") $words -}}
{{- end -}}
{{- toJson $words -}}
{{- end -}}

{{/* The volumes that a pod gets, but for those that it has under the same names. */}}
{{- define "lastcall-lib.volumes" -}}
{{- with include "lastcall-lib.configVolume" . | fromYaml }}
- {{ mergeOverwrite (dict "name" "lastcall-config") . | toYaml | nindent 2 | trim }}
{{- end }}
{{- if include "lastcall-lib.installsShim" . }}
- {name: lastcall-bin, emptyDir: {}}
{{- end }}
# Shared with the engine. The operators' socket is not: an engine cannot stop its own pod.
- {name: lastcall-socket, emptyDir: {}}
- {name: lastcall-admin, emptyDir: {}}
- {name: {{ include "lastcall-lib.tmpVolume" . }}, emptyDir: {}}
{{- if include "lastcall-lib.mountsToken" . }}
# For the supervisor only: what it may do is not the engine's to do.
- name: lastcall-token
  projected:
    defaultMode: 0440
    sources:
      - serviceAccountToken: {path: token, expirationSeconds: 3607}
      - configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
{{- end }}
{{- if include "lastcall-lib.ordersSecret" . }}
# For the supervisor only, too.
- name: lastcall-orders
  secret: {secretName: {{ include "lastcall-lib.ordersSecret" . | quote }}, items: [{key: {{ .Values.orders.tokenSecret.key | quote }}, path: token}]}
{{- end }}
{{- end -}}

{{/*
A pod's `spec` with lastcall in it. The container that copies the shim comes before all others; a native
sidecar is the last of the init containers, so that it starts after the user's own and ends before
those of them that stay; a plain one is the first of the containers. Call with
(dict "context" CONTEXT "spec" SPEC "container" NAME); the answer is YAML.
*/}}
{{- define "lastcall-lib.podSpec" -}}
{{- $context := .context -}}
{{- $spec := deepCopy .spec -}}
{{- $sidecar := include "lastcall-lib.sidecarContainer" $context | fromYamlArray -}}
{{- $before := $spec.initContainers | default list -}}
{{- if include "lastcall-lib.installsShim" $context -}}
{{- $before = concat (include "lastcall-lib.installContainer" $context | fromYamlArray) $before -}}
{{- end -}}
{{- $containers := list -}}
{{- range $spec.containers -}}
{{- if eq .name $.container -}}
{{- $containers = append $containers (include "lastcall-lib.engine" (dict "context" $context "container" .) | fromYaml) -}}
{{- else -}}
{{- $containers = append $containers . -}}
{{- end -}}
{{- end -}}
{{- if include "lastcall-lib.isNative" $context -}}
{{- $before = concat $before $sidecar -}}
{{- else -}}
{{- $containers = concat $sidecar $containers -}}
{{- end -}}
{{- if $before -}}
{{- $_ := set $spec "initContainers" $before -}}
{{- end -}}
{{- $_ := set $spec "containers" $containers -}}
{{- $volumes := $spec.volumes | default list -}}
{{- $taken := list -}}
{{- range $volumes -}}
{{- $taken = append $taken .name -}}
{{- end -}}
{{- range include "lastcall-lib.volumes" $context | fromYamlArray -}}
{{- if not (has .name $taken) -}}
{{- $volumes = append $volumes . -}}
{{- end -}}
{{- end -}}
{{- $_ := set $spec "volumes" $volumes -}}
{{- $_ := set $spec "terminationGracePeriodSeconds" (include "lastcall-lib.podGraceSeconds" $context | int64) -}}
{{- toYaml $spec -}}
{{- end -}}
