{{/* The containers of a pod. Both sidecar forms come from one template. */}}

{{- define "lastcall-lib.installContainer" -}}
- name: lastcall-install
  image: {{ include "lastcall-lib.image" (dict "image" .Values.shimImage "tag" .Chart.AppVersion) | quote }}
  {{- with .Values.shimImage.pullPolicy }}
  imagePullPolicy: {{ . | quote }}
  {{- end }}
  args: ["--install", "/opt/lastcall"]
  {{- with (.Values.install | default dict).resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.sidecar.securityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    - {name: lastcall-bin, mountPath: /opt/lastcall}
{{- end -}}

{{/* `auto` is the memory that the supervisor needs: with an ingress, for its clients' requests. */}}
{{- define "lastcall-lib.sidecarResources" -}}
{{- $resources := deepCopy (.Values.sidecar.resources | default dict) -}}
{{- $memory := include "lastcall-lib.hasIngress" . | empty | ternary "128Mi" "1Gi" -}}
{{- range $part := list "requests" "limits" -}}
{{- if eq ((get $resources $part | default dict).memory | toString) "auto" -}}
{{- $_ := set (get $resources $part) "memory" $memory -}}
{{- end -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}

{{- define "lastcall-lib.sidecarContainer" -}}
- name: lastcall
  image: {{ include "lastcall-lib.image" (dict "image" .Values.image "tag" .Chart.AppVersion) | quote }}
  {{- with .Values.image.pullPolicy }}
  imagePullPolicy: {{ . | quote }}
  {{- end }}
  {{- if include "lastcall-lib.isNative" . }}
  restartPolicy: Always
  {{- end }}
  args: {{ prepend (include "lastcall-lib.serveArgs" . | fromJsonArray) "serve" | toJson }}
  env:
    - {name: LASTCALL_POD_GRACE_SECONDS, value: {{ include "lastcall-lib.podGraceSeconds" . | quote }}}
    - name: LASTCALL_POD_UID
      valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.uid}}
    - name: POD_NAME
      valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}
    - name: POD_NAMESPACE
      valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}
    - name: POD_IP
      valueFrom: {fieldRef: {apiVersion: v1, fieldPath: status.podIP}}
    {{- if and (include "lastcall-lib.hooksByHttp" .) .Values.prestop.tokenSecret.name }}
    - name: LASTCALL_LIFECYCLE_TOKEN
      valueFrom:
        secretKeyRef: {name: {{ .Values.prestop.tokenSecret.name | quote }}, key: {{ .Values.prestop.tokenSecret.key | quote }}}
    {{- end }}
    {{- with .Values.sidecar.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.sidecar.envFrom }}
  envFrom:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  ports:
    - {name: lastcall, containerPort: {{ include "lastcall-lib.probePort" . }}, protocol: TCP}
    {{- if include "lastcall-lib.hooksByHttp" . }}
    - {name: lastcall-hooks, containerPort: {{ include "lastcall-lib.lifecyclePort" . }}, protocol: TCP}
    {{- end }}
    {{- if include "lastcall-lib.hasIngress" . }}
    - {name: ingress, containerPort: {{ include "lastcall-lib.ingressPort" . }}, protocol: TCP}
    {{- end }}
  {{- with .Values.sidecar.startupProbe }}
  startupProbe:
    httpGet: {path: /startupz, port: lastcall, scheme: HTTP}
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.sidecar.livenessProbe }}
  livenessProbe:
    httpGet: {path: /livez, port: lastcall, scheme: HTTP}
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.sidecar.readinessProbe }}
  readinessProbe:
    httpGet: {path: /readyz, port: lastcall, scheme: HTTP}
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if eq (include "lastcall-lib.mode" .) "prestop" }}
  lifecycle:
    preStop:
      {{- if include "lastcall-lib.hooksByHttp" . }}
      httpGet:
        {path: /lifecycle/prestop/supervisor, port: lastcall-hooks, scheme: HTTP{{ include "lastcall-lib.hookHeaders" . }}}
      {{- else }}
      exec:
        command: [/usr/bin/lastcall-shim, --prestop, supervisor, --socket, {{ include "lastcall-lib.socket" . | quote }}]
      {{- end }}
  {{- end }}
  terminationMessagePolicy: FallbackToLogsOnError
  {{- with include "lastcall-lib.sidecarResources" . | fromYaml }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.sidecar.securityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    {{- if include "lastcall-lib.configVolume" . | fromYaml }}
    - {name: lastcall-config, mountPath: /etc/lastcall, readOnly: true}
    {{- end }}
    - {name: lastcall-socket, mountPath: /run/lastcall}
    - {name: lastcall-admin, mountPath: /run/lastcall-admin}
    {{- if not (include "lastcall-lib.mountsAt" (list .Values.sidecar.volumeMounts "/tmp")) }}
    - {name: {{ include "lastcall-lib.tmpVolume" . }}, mountPath: /tmp}
    {{- end }}
    {{- if include "lastcall-lib.mountsToken" . }}
    - {name: lastcall-token, mountPath: {{ include "lastcall-lib.tokenFolder" . }}, readOnly: true}
    {{- end }}
    {{- if include "lastcall-lib.ordersSecret" . }}
    - {name: lastcall-orders, mountPath: {{ include "lastcall-lib.ordersFolder" . }}, readOnly: true}
    {{- end }}
    {{- with .Values.sidecar.volumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}
