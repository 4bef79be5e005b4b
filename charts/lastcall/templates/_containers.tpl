{{/* The containers of a pod. Both sidecar forms come from one template. */}}

{{- define "lastcall.installContainer" -}}
- name: lastcall-install
  image: {{ include "lastcall.image" (dict "image" .Values.shimImage "tag" .Chart.AppVersion) | quote }}
  imagePullPolicy: {{ .Values.shimImage.pullPolicy }}
  args: ["--install", "/opt/lastcall"]
  resources:
    requests: {cpu: 10m, memory: 8Mi}
    limits: {memory: 32Mi}
  {{- with .Values.sidecar.securityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    - {name: lastcall-bin, mountPath: /opt/lastcall}
{{- end -}}

{{- define "lastcall.sidecarContainer" -}}
- name: lastcall
  image: {{ include "lastcall.image" (dict "image" .Values.image "tag" .Chart.AppVersion) | quote }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
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
    {{- with .Values.sidecar.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    - {name: lastcall, containerPort: {{ include "lastcall.probePort" . }}, protocol: TCP}
    {{- if eq (include "lastcall.mode" .) "prestop" }}
    - {name: lastcall-hooks, containerPort: {{ include "lastcall.lifecyclePort" . }}, protocol: TCP}
    {{- end }}
  startupProbe:
    httpGet: {path: /startupz, port: lastcall, scheme: HTTP}
    {{- toYaml .Values.sidecar.startupProbe | nindent 4 }}
  livenessProbe:
    httpGet: {path: /livez, port: lastcall, scheme: HTTP}
    {{- toYaml .Values.sidecar.livenessProbe | nindent 4 }}
  readinessProbe:
    httpGet: {path: /readyz, port: lastcall, scheme: HTTP}
    {{- toYaml .Values.sidecar.readinessProbe | nindent 4 }}
  {{- if eq (include "lastcall.mode" .) "prestop" }}
  lifecycle:
    preStop:
      httpGet:
        {path: /lifecycle/prestop/supervisor, port: lastcall-hooks, scheme: HTTP{{ include "lastcall.hookHeaders" . }}}
  {{- end }}
  terminationMessagePolicy: FallbackToLogsOnError
  {{- with .Values.sidecar.resources }}
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
    - {name: tmp, mountPath: /tmp}
    {{- if .Values.rbac.create }}
    - {name: lastcall-token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
    {{- end }}
    {{- with .Values.sidecar.volumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{- define "lastcall.engineContainer" -}}
{{- $mode := include "lastcall.mode" . -}}
- name: engine
  image: {{ include "lastcall.image" (dict "image" .Values.engine.image "tag" "latest") | quote }}
  imagePullPolicy: {{ .Values.engine.image.pullPolicy }}
  {{- if ne $mode "prestop" }}
  command:
    - /opt/lastcall/lastcall-shim
    - --socket
    - {{ include "lastcall.socket" . }}
    # Holds where no supervisor has ever said how long a stop may take.
    - --grace
    - {{ ((.Values.config | default dict).shutdown | default dict).grace_period | default "60s" }}
    {{- with .Values.engine.shimOptions }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    - --
  args:
    {{- toYaml .Values.engine.command | nindent 4 }}
  {{- else if .Values.engine.command }}
  command:
    {{- toYaml .Values.engine.command | nindent 4 }}
  {{- end }}
  env:
    - {name: LASTCALL_POD_GRACE_SECONDS, value: {{ include "lastcall.podGraceSeconds" . | quote }}}
    {{- if eq $mode "prestop" }}
    - {name: LASTCALL_SOCKET, value: {{ include "lastcall.socket" . }}}
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
      httpGet:
        {path: /lifecycle/prestop/engine, port: {{ include "lastcall.lifecyclePort" . }}, scheme: HTTP{{ include "lastcall.hookHeaders" . }}}
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
    {{- if ne $mode "prestop" }}
    - {name: lastcall-bin, mountPath: /opt/lastcall, readOnly: true}
    {{- end }}
    - {name: lastcall-socket, mountPath: /run/lastcall}
    - {name: tmp, mountPath: /tmp}
    {{- with .Values.engine.volumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}
