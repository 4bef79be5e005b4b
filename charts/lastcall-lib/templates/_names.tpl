{{/* Images, and the form that the sidecar takes. */}}

{{/* "repository@digest" or "repository:tag"; call with (dict "image" VALUES "tag" DEFAULT). */}}
{{- define "lastcall-lib.image" -}}
{{- if .image.digest -}}
{{- printf "%s@%s" .image.repository .image.digest -}}
{{- else -}}
{{- printf "%s:%s" .image.repository (.image.tag | default .tag) -}}
{{- end -}}
{{- end -}}

{{/* native, plain or prestop. */}}
{{- define "lastcall-lib.mode" -}}
{{- if ne .Values.mode "auto" -}}
{{- .Values.mode -}}
{{- else if include "lastcall-lib.hasNativeSidecars" . -}}
native
{{- else -}}
plain
{{- end -}}
{{- end -}}

{{/* Whether the cluster runs init containers that stay: "true" or nothing. */}}
{{- define "lastcall-lib.hasNativeSidecars" -}}
{{- if semverCompare ">=1.29.0-0" .Capabilities.KubeVersion.Version -}}
true
{{- end -}}
{{- end -}}

{{/* Whether the sidecar is one of these; in mode prestop as `prestop.sidecar` says: "true" or nothing. */}}
{{- define "lastcall-lib.isNative" -}}
{{- $mode := include "lastcall-lib.mode" . -}}
{{- if eq $mode "prestop" -}}
{{- $mode = .Values.prestop.sidecar | default "plain" -}}
{{- if eq $mode "auto" -}}
{{- $mode = include "lastcall-lib.hasNativeSidecars" . | empty | ternary "plain" "native" -}}
{{- end -}}
{{- end -}}
{{- if eq $mode "native" -}}
true
{{- end -}}
{{- end -}}

{{/* The version of the images, where a chart has none of its own. */}}
{{- define "lastcall-lib.appVersion" -}}
0.1.0
{{- end -}}
