{{/* The containers of a pod. Both sidecar forms come from one template. */}}

{{- define "lastcall.installContainer" -}}
- name: lastcall-install
  image: {{ include "lastcall.image" (dict "image" .Values.shimImage "tag" .Chart.AppVersion) | quote }}
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
{{- define "lastcall.sidecarResources" -}}
{{- $resources := deepCopy (.Values.sidecar.resources | default dict) -}}
{{- $memory := include "lastcall.hasIngress" . | empty | ternary "128Mi" "1Gi" -}}
{{- range $part := list "requests" "limits" -}}
{{- if eq ((get $resources $part | default dict).memory | toString) "auto" -}}
{{- $_ := set (get $resources $part) "memory" $memory -}}
{{- end -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}

{{- define "lastcall.sidecarContainer" -}}
- name: lastcall
  image: {{ include "lastcall.image" (dict "image" .Values.image "tag" .Chart.AppVersion) | quote }}
  {{- with .Values.image.pullPolicy }}
  imagePullPolicy: {{ . | quote }}
  {{- end }}
  {{- if eq (include "lastcall.mode" .) "native" }}
  restartPolicy: Always
  {{- end }}
  args: ["serve", "--config", "/etc/lastcall/lastcall.yaml"]
  env:
    - {name: LASTCALL_POD_GRACE_SECONDS, value: {{ include "lastcall.podGraceSeconds" . | quote }}}
    - name: LASTCALL_POD_UID
      valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.uid}}
    - name: POD_NAME
      valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}
    - name: POD_NAMESPACE
      valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}
    - name: POD_IP
      valueFrom: {fieldRef: {apiVersion: v1, fieldPath: status.podIP}}
    {{- if and (include "lastcall.hooksByHttp" .) .Values.prestop.tokenSecret.name }}
    - name: LASTCALL_LIFECYCLE_TOKEN
      valueFrom:
        secretKeyRef: {name: {{ .Values.prestop.tokenSecret.name | quote }}, key: {{ .Values.prestop.tokenSecret.key | quote }}}
    {{- end }}
    {{- with .Values.sidecar.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    - {name: lastcall, containerPort: {{ include "lastcall.probePort" . }}, protocol: TCP}
    {{- if include "lastcall.hooksByHttp" . }}
    - {name: lastcall-hooks, containerPort: {{ include "lastcall.lifecyclePort" . }}, protocol: TCP}
    {{- end }}
    {{- if include "lastcall.hasIngress" . }}
    - {name: ingress, containerPort: {{ include "lastcall.ingressPort" . }}, protocol: TCP}
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
  {{- if eq (include "lastcall.mode" .) "prestop" }}
  lifecycle:
    preStop:
      {{- if include "lastcall.hooksByHttp" . }}
      httpGet:
        {path: /lifecycle/prestop/supervisor, port: lastcall-hooks, scheme: HTTP{{ include "lastcall.hookHeaders" . }}}
      {{- else }}
      exec:
        command: [/usr/bin/lastcall-shim, --prestop, supervisor, --socket, {{ include "lastcall.socket" . | quote }}]
      {{- end }}
  {{- end }}
  terminationMessagePolicy: FallbackToLogsOnError
  {{- with include "lastcall.sidecarResources" . | fromYaml }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.sidecar.securityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    - {name: lastcall-config, mountPath: /etc/lastcall, readOnly: true}
    - {name: lastcall-socket, mountPath: /run/lastcall}
    - {name: lastcall-admin, mountPath: /run/lastcall-admin}
    {{- if not (include "lastcall.mountsAt" (list .Values.sidecar.volumeMounts "/tmp")) }}
    - {name: tmp, mountPath: /tmp}
    {{- end }}
    {{- if include "lastcall.mountsToken" . }}
    - {name: lastcall-token, mountPath: {{ include "lastcall.tokenFolder" . }}, readOnly: true}
    {{- end }}
    {{- with .Values.sidecar.volumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{- define "lastcall.engineContainer" -}}
{{- $mode := include "lastcall.mode" . -}}
- name: engine
  image: {{ include "lastcall.image" (dict "image" .Values.engine.image "tag" "latest") | quote }}
  {{- with .Values.engine.image.pullPolicy }}
  imagePullPolicy: {{ . | quote }}
  {{- end }}
  {{- if ne $mode "prestop" }}
  command:
    - /opt/lastcall/lastcall-shim
    - --socket
    - {{ include "lastcall.socket" . | quote }}
    # Holds where no supervisor has ever said how long a stop may take.
    - --grace
    - {{ ((.Values.config | default dict).shutdown | default dict).grace_period | default "60s" | quote }}
    {{- with .Values.engine.shimOptions }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    - --
  args:
    {{- toYaml (concat .Values.engine.command (.Values.engine.args | default list)) | nindent 4 }}
  {{- else }}
  {{- with .Values.engine.command }}
  command:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.engine.args }}
  args:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  env:
    - {name: LASTCALL_POD_GRACE_SECONDS, value: {{ include "lastcall.podGraceSeconds" . | quote }}}
    {{- if eq $mode "prestop" }}
    - {name: LASTCALL_SOCKET, value: {{ include "lastcall.socket" . | quote }}}
    {{- end }}
    {{- with .Values.engine.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.engine.envFrom }}
  envFrom:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  ports:
    - {name: http, containerPort: {{ int64 .Values.engine.port }}, protocol: TCP}
  {{- if eq $mode "prestop" }}
  # Only a probe of this container can have it restarted; the supervisor gives the verdict. An
  # engine may load for as long as it needs: the other probe is what liveness waits for.
  startupProbe:
    httpGet: {path: /engine/startupz, port: {{ include "lastcall.probePort" . }}, scheme: HTTP}
    periodSeconds: 2
    timeoutSeconds: 1
    failureThreshold: 43200
  # The sidecar answers for the engine: when it stands still for a moment, the engine must not be
  # restarted. A verdict stays until another engine is there, and is heard within 3 s.
  livenessProbe:
    httpGet: {path: /engine/livez, port: {{ include "lastcall.probePort" . }}, scheme: HTTP}
    periodSeconds: 1
    timeoutSeconds: 2
    failureThreshold: 3
  lifecycle:
    preStop:
      {{- if include "lastcall.hooksByHttp" . }}
      httpGet:
        {path: /lifecycle/prestop/engine, port: {{ include "lastcall.lifecyclePort" . }}, scheme: HTTP{{ include "lastcall.hookHeaders" . }}}
      {{- else }}
      exec:
        command: [/opt/lastcall/lastcall-shim, --prestop, engine, --socket, {{ include "lastcall.socket" . | quote }}]
      {{- end }}
  {{- end }}
  terminationMessagePolicy: FallbackToLogsOnError
  {{- with .Values.engine.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.engine.securityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    {{- if include "lastcall.installsShim" . }}
    - {name: lastcall-bin, mountPath: /opt/lastcall, readOnly: true}
    {{- end }}
    - {name: lastcall-socket, mountPath: /run/lastcall}
    {{- if not (include "lastcall.mountsAt" (list .Values.engine.volumeMounts "/tmp")) }}
    - {name: tmp, mountPath: /tmp}
    {{- end }}
    {{- with .Values.engine.volumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}
