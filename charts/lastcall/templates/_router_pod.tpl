{{/* The router's pods: one container, in which `lastcall run` holds the router's signals. */}}

{{- define "lastcall.routerPodSpec" -}}
{{- $router := .Values.router -}}
{{- $token := and (include "lastcall.routerNamespaces" . | fromJsonArray) (not (include "lastcall-lib.mountsAt" (list $router.volumeMounts (include "lastcall-lib.tokenFolder" .)))) -}}
automountServiceAccountToken: false
{{- with include "lastcall.routerAccountName" . }}
serviceAccountName: {{ . | quote }}
{{- end }}
enableServiceLinks: false
{{- with $router.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
terminationGracePeriodSeconds: {{ kindIs "invalid" $router.terminationGracePeriodSeconds | ternary (include "lastcall.routerPodGraceSeconds" .) $router.terminationGracePeriodSeconds | int64 }}
{{- with $router.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $key := list "nodeSelector" "tolerations" "affinity" }}
{{- with get $router $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
topologySpreadConstraints:
  {{- /* One without a labelSelector would match no pod. */}}
  {{- $own := dict "labelSelector" (dict "matchLabels" (include "lastcall.routerSelectorLabels" . | fromYaml)) }}
  {{- range $router.topologySpreadConstraints | default (list (dict "maxSkew" 1 "topologyKey" "kubernetes.io/hostname" "whenUnsatisfiable" "ScheduleAnyway")) }}
  - {{- merge (deepCopy .) $own | toYaml | nindent 4 }}
  {{- end }}
containers:
  - name: router
    image: {{ include "lastcall-lib.image" (dict "image" $router.image "tag" .Chart.AppVersion) | quote }}
    {{- with $router.image.pullPolicy }}
    imagePullPolicy: {{ . | quote }}
    {{- end }}
    command: [/usr/bin/lastcall, run, --config, /etc/lastcall/lastcall.yaml, --, /usr/bin/lastcall-router]
    args: [--config, /etc/lastcall/router.yaml]
    env:
      - {name: LASTCALL_POD_GRACE_SECONDS, value: {{ kindIs "invalid" $router.terminationGracePeriodSeconds | ternary (include "lastcall.routerPodGraceSeconds" .) $router.terminationGracePeriodSeconds | int64 | quote }}}
      - name: POD_NAME
        valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}
      - name: POD_NAMESPACE
        valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}
      {{- with $router.env }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    ports:
      - {name: http, containerPort: {{ include "lastcall.routerPort" . }}, protocol: TCP}
      - {name: operators, containerPort: {{ include "lastcall.routerOperatorsPort" . }}, protocol: TCP}
      - {name: lastcall, containerPort: 7090, protocol: TCP}
    # The router's own word: not ready without a worker, or when its end has begun.
    readinessProbe:
      httpGet: {path: /readyz, port: operators, scheme: HTTP}
      periodSeconds: 2
      timeoutSeconds: 1
      failureThreshold: 1
    # lastcall's: it ends the container itself where the router is dead or hangs.
    livenessProbe:
      httpGet: {path: /livez, port: lastcall, scheme: HTTP}
      periodSeconds: 5
      timeoutSeconds: 2
      failureThreshold: 3
    startupProbe:
      httpGet: {path: /startupz, port: lastcall, scheme: HTTP}
      periodSeconds: 1
      timeoutSeconds: 1
      failureThreshold: 30
    terminationMessagePolicy: FallbackToLogsOnError
    {{- range $key := list "resources" "securityContext" }}
    {{- with get $router $key }}
    {{ $key }}:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- end }}
    volumeMounts:
      - {name: config, mountPath: /etc/lastcall, readOnly: true}
      - {name: run, mountPath: /run/lastcall}
      - {name: admin, mountPath: /run/lastcall-admin}
      - {name: tmp, mountPath: /tmp}
      {{- if $token }}
      - {name: token, mountPath: {{ include "lastcall-lib.tokenFolder" . }}, readOnly: true}
      {{- end }}
      {{- with $router.volumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
volumes:
  - name: config
    configMap: {name: {{ include "lastcall.routerName" . | quote }}}
  - {name: run, emptyDir: {}}
  - {name: admin, emptyDir: {}}
  - {name: tmp, emptyDir: {}}
  {{- if $token }}
  - name: token
    projected:
      defaultMode: 0440
      sources:
        - serviceAccountToken: {path: token, expirationSeconds: 3607}
        - configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
  {{- end }}
  {{- with $router.volumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}
