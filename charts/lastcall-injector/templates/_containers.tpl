{{/* The library's containers, with the expressions of the policy where they depend on the pod. */}}

{{/* What the library's templates take; `mode` is native or prestop. Call with (dict "root" $ "mode" MODE). */}}
{{- define "lastcall-injector.context" -}}
{{- $values := mergeOverwrite (include "lastcall-lib.defaults" .root | fromYaml) (deepCopy .root.Values.pods) -}}
{{- $_ := set $values "mode" .mode -}}
{{- $_ := set $values.prestop "sidecar" "native" -}}
{{- $_ := set $values "config" (dict "shutdown" (dict "grace_period" $values.gracePeriod)) -}}
{{- $_ := set $values "terminationGracePeriodSeconds" nil -}}
{{- $_ := set $values "engine" dict -}}
{{- $_ := set $values.sidecar.securityContext "runAsUser" "cel:variables.uid" -}}
{{- toYaml $values -}}
{{- end -}}

{{/* A container of the library as CEL. Call with (dict "root" $ "mode" MODE "template" NAME). */}}
{{- define "lastcall-injector.container" -}}
{{- $chart := dict "AppVersion" .root.Chart.AppVersion -}}
{{- $values := include "lastcall-injector.context" . | fromYaml -}}
{{- $context := dict "Values" $values "Capabilities" .root.Capabilities "Release" .root.Release "Chart" $chart -}}
{{- $container := include .template $context | fromYamlArray | first -}}
{{- include "lastcall-injector.setEnv" (dict "env" ($container.env | default list) "name" "LASTCALL_POD_GRACE_SECONDS" "value" "cel:string(variables.podGrace)") -}}
{{- if eq $container.name "lastcall" -}}
{{- $_ := set $container "args" "cel:variables.serveArgs" -}}
{{- end -}}
{{- include "lastcall-injector.cel" (dict "type" "Object.spec.initContainers" "value" $container) -}}
{{- end -}}

{{/* The engine's container as the library changes it, in CEL: key by key. */}}
{{- define "lastcall-injector.enginePart" -}}
{{- $chart := dict "AppVersion" .root.Chart.AppVersion -}}
{{- $values := include "lastcall-injector.context" . | fromYaml -}}
{{- $context := dict "Values" $values "Capabilities" .root.Capabilities "Release" .root.Release "Chart" $chart -}}
{{- $engine := include "lastcall-lib.engine" (dict "context" $context "container" dict) | fromYaml -}}
{{- include "lastcall-injector.setEnv" (dict "env" $engine.env "name" "LASTCALL_POD_GRACE_SECONDS" "value" "cel:string(variables.podGrace)") -}}
{{- $part := get $engine .key -}}
{{- if eq .key "command" -}}
{{- $words := list -}}
{{- range $index, $word := $part -}}
{{- $before := index $part (sub $index 1 | max 0 | int) -}}
{{- $words = append $words (eq $before "--grace" | ternary "cel:variables.grace" $word) -}}
{{- end -}}
{{- $part = $words -}}
{{- end -}}
{{- include "lastcall-injector.cel" (dict "type" (printf "Object.spec.containers.%s" .key) "value" $part) -}}
{{- end -}}

{{- define "lastcall-injector.labels" -}}
{{- $labels := dict "app.kubernetes.io/name" .Chart.Name "app.kubernetes.io/instance" .Release.Name "app.kubernetes.io/version" .Chart.AppVersion "app.kubernetes.io/managed-by" .Release.Service -}}
{{- $_ := set $labels "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") -}}
{{- mergeOverwrite $labels (deepCopy (.Values.commonLabels | default dict)) | toYaml -}}
{{- end -}}

{{/* Of the cluster's objects: one injector a cluster, unless a release is called otherwise. */}}
{{- define "lastcall-injector.name" -}}
{{- printf "%s.lastcall.dev" .Release.Name -}}
{{- end -}}

{{- define "lastcall-injector.apiVersion" -}}
{{- $group := "admissionregistration.k8s.io" -}}
{{- $found := .Values.apiVersion -}}
{{- range $version := list "v1beta1" "v1" -}}
{{- if and (not $.Values.apiVersion) ($.Capabilities.APIVersions.Has (printf "%s/%s/MutatingAdmissionPolicy" $group $version)) -}}
{{- $found = $version -}}
{{- end -}}
{{- end -}}
{{- if not $found -}}
{{- fail (printf "this cluster (%s) serves no MutatingAdmissionPolicy: expected Kubernetes 1.36, or 1.34 with the feature gate MutatingAdmissionPolicy and the runtime-config admissionregistration.k8s.io/v1beta1; without a cluster expected apiVersion: v1 or v1beta1; by: webhook and the library chart charts/lastcall-lib need neither" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- printf "%s/%s" $group $found -}}
{{- end -}}

{{/* Which pods: the same in both policies. */}}
{{- define "lastcall-injector.match" -}}
matchConstraints:
  {{- with .Values.namespaceSelector }}
  namespaceSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if eq .Values.selectBy "label" }}
  objectSelector: {matchLabels: {lastcall.dev/inject: "true"}}
  {{- end }}
  resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
failurePolicy: Fail
{{- end -}}

{{/* The condition of those that asked, where the label alone does not decide. */}}
{{- define "lastcall-injector.asked" -}}
{{- if eq .Values.selectBy "annotation" }}
- name: asked
  expression: >-
    (has(object.metadata.labels) && 'lastcall.dev/inject' in object.metadata.labels &&
    object.metadata.labels['lastcall.dev/inject'] == 'true') ||
    (has(object.metadata.annotations) && 'lastcall.dev/inject' in object.metadata.annotations &&
    object.metadata.annotations['lastcall.dev/inject'] == 'true')
{{- end }}
{{- end -}}

{{/* What both policies know of a pod. */}}
{{- define "lastcall-injector.variables" -}}
- name: notes
  expression: "has(object.metadata.annotations) ? object.metadata.annotations : {}"
- name: own
  expression: "object.spec.containers.filter(c, !(c.name in {{ include "lastcall-lib.meshProxies" . | fromJsonArray | toJson | replace "\"" "'" }}))"
- name: main
  expression: >-
    'kubectl.kubernetes.io/default-container' in variables.notes &&
    object.spec.containers.exists(c, c.name == variables.notes['kubectl.kubernetes.io/default-container']) ?
    string(variables.notes['kubectl.kubernetes.io/default-container']) :
    (variables.own.size() > 0 ? variables.own : object.spec.containers)[0].name
- name: wanted
  expression: >-
    'lastcall.dev/container' in variables.notes && variables.notes['lastcall.dev/container'] != '' ?
    string(variables.notes['lastcall.dev/container']) : variables.main
- name: at
  expression: "object.spec.containers.map(c, c.name).indexOf(variables.wanted)"
- name: keys
  expression: "variables.notes.filter(k, k.startsWith('lastcall.dev/config.'))"
- name: isIn
  expression: >-
    object.spec.containers.exists(c, c.name == 'lastcall') ||
    (has(object.spec.initContainers) && object.spec.initContainers.exists(c, c.name == 'lastcall'))
# The reason why a pod cannot get lastcall; empty where it can.
- name: problem
  expression: >-
    variables.at < 0 ? "lastcall.dev/container is " + variables.wanted + ", expected the name of a container of the pod" :
    !has(object.spec.containers[variables.at].command) && has(object.spec.containers[variables.at].lifecycle) && has(object.spec.containers[variables.at].lifecycle.preStop) ?
    "container " + variables.wanted + " has no command, so its preStop hook would have to hold the kubelet's TERM back, but it has one already; expected no preStop hook, or the image's entry point written out as the command" :
    variables.keys.exists(k, k in [{{ range $index, $key := include "lastcall-lib.decidedKeys" . | fromJsonArray }}{{ if $index }}, {{ end }}'lastcall.dev/config.{{ $key }}'{{ end }}]) ?
    "an annotation is one of those that injection decides for all containers of the pod, expected none of {{ include "lastcall-lib.decidedKeys" . | fromJsonArray | join ", " }}" :
    'lastcall.dev/config' in variables.notes && !('lastcall.dev/config.shutdown.grace_period' in variables.notes) &&
    ['shutdown', 'grace_period'].all(w, {{ include "lastcall-injector.fileHas" . }}) ?
    "the file in lastcall.dev/config gives shutdown.grace_period, which a policy cannot read, expected it in lastcall.dev/config.shutdown.grace_period too" :
    has(object.spec.containers[variables.at].volumeMounts) && object.spec.containers[variables.at].volumeMounts.exists(m, m.mountPath.matches(r'^(\./|/)*(opt|run)(/\.?)*$') &&
    ((has(m.readOnly) && m.readOnly) || (has(object.spec.volumes) && object.spec.volumes.exists(v, v.name == m.name && ({{ range $index, $type := include "lastcall-lib.readOnlyTypes" . | fromJsonArray }}{{ if $index }} || {{ end }}has(v.{{ $type }}){{ end }}))))) ?
    "a volume of container " + variables.wanted + " is mounted at /opt or /run and is read-only, expected it to be writable or elsewhere: lastcall's volumes are mounted below that folder" :
    has(object.spec.containers[variables.at].volumeMounts) && object.spec.containers[variables.at].volumeMounts.exists(m, m.mountPath.matches(r'^(\./|/)*(opt|run)/(\./|/)*lastcall(/|$)|(^|/)\.\.(/|$)')) ?
    "a volume of container " + variables.wanted + " is mounted at or below /opt/lastcall or /run/lastcall, or at a path with '..', expected nothing there" :
    object.spec.containers.exists(c, {{ include "lastcall-injector.takesProbePort" . }}) ||
    (has(object.spec.initContainers) && object.spec.initContainers.exists(c, has(c.restartPolicy) && c.restartPolicy == 'Always' && {{ include "lastcall-injector.takesProbePort" . }})) ?
    "a container has port {{ include "lastcall-lib.probePort" (dict "Values" dict) }}, which is the sidecar's, expected another one" :
    has(object.spec.terminationGracePeriodSeconds) && int(object.spec.terminationGracePeriodSeconds) > 86402 && !('lastcall.dev/config.shutdown.grace_period' in variables.notes) ?
    "terminationGracePeriodSeconds is " + string(object.spec.terminationGracePeriodSeconds) + ", expected at most 86402, or a shutdown.grace_period of at most 24h besides it" :
    variables.keys.size() > 24 ? "there are more than 24 annotations lastcall.dev/config.KEY, expected a file in lastcall.dev/config" :
    'lastcall.dev/config.shutdown.grace_period' in variables.notes && (!variables.notes['lastcall.dev/config.shutdown.grace_period'].matches('^[0-9]{1,6}(ms|s|m|h)$|^[0-9]{7,9}(ms|s)$') ||
    duration(variables.notes['lastcall.dev/config.shutdown.grace_period']) < duration('1s') || duration(variables.notes['lastcall.dev/config.shutdown.grace_period']) > duration('24h')) ?
    "lastcall.dev/config.shutdown.grace_period is " + variables.notes['lastcall.dev/config.shutdown.grace_period'] + ", expected 1s to 24h, such as 60s, 500ms or 2m" : ""
{{- end -}}

{{/* Whether the container `c` declares the sidecar's port. */}}
{{- define "lastcall-injector.takesProbePort" -}}
has(c.ports) && c.ports.exists(p, (!has(p.protocol) || p.protocol == 'TCP') && p.containerPort == {{ include "lastcall-lib.probePort" (dict "Values" dict) }})
{{- end -}}

{{/*
Whether the file of the pod's annotation has the word `w` as a key, in block or in flow style. What
follows a `#` at the begin of a line or after a space is a comment.
*/}}
{{- define "lastcall-injector.fileHas" -}}
string(variables.notes['lastcall.dev/config']).matches(r'(?m)^(([^#\n]|[^\s#]#+)*[^\w#])?' + w + r'([\x22\x27][ \t]*:|[ \t]*:(\s|$))')
{{- end -}}

{{/* A configuration file of the pod's own annotations. */}}
{{- define "lastcall-injector.fileVolume" -}}
{{- $volume := mergeOverwrite (dict "name" "lastcall-config") (include "lastcall-lib.fileOfAnnotation" . | fromYaml) -}}
{{- include "lastcall-injector.cel" (dict "type" "Object.spec.volumes" "value" $volume) -}}
{{- end -}}

{{- define "lastcall-injector.hook" -}}
{{- $values := include "lastcall-injector.context" . | fromYaml -}}
{{- $hook := include "lastcall-lib.engineHook" (dict "Values" $values "Capabilities" .root.Capabilities) | fromYaml -}}
{{- include "lastcall-injector.cel" (dict "type" "Object.spec.containers.lifecycle.preStop" "value" $hook.preStop) -}}
{{- end -}}
