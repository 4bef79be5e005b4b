{{/*
YAML as an expression of CEL, so that the containers of a policy are the library's own and no copy.
Call with (dict "type" "Object.spec.initContainers" "value" VALUE). A text that begins with "cel:" is an
expression already.
*/}}
{{- define "lastcall-injector.cel" -}}
{{- $type := .type -}}
{{- $value := .value -}}
{{- if kindIs "map" $value -}}
{{- $isFree := regexMatch "\\.(requests|limits)$" $type -}}
{{- $parts := list -}}
{{- range $key, $part := $value -}}
{{- if $isFree -}}
{{- $parts = append $parts (printf "%s: %s" (toJson $key) (toString $part | toJson)) -}}
{{- else -}}
{{- $parts = append $parts (printf "%s: %s" $key (include "lastcall-injector.cel" (dict "type" (printf "%s.%s" $type $key) "value" $part))) -}}
{{- end -}}
{{- end -}}
{{- printf "%s{%s}" ($isFree | ternary "" $type) (join ", " $parts) -}}
{{- else if kindIs "slice" $value -}}
{{- $parts := list -}}
{{- range $value -}}
{{- $parts = append $parts (include "lastcall-injector.cel" (dict "type" $type "value" .)) -}}
{{- end -}}
{{- printf "[%s]" (join ", " $parts) -}}
{{- else if kindIs "string" $value -}}
{{- if hasPrefix "cel:" $value -}}
{{- trimPrefix "cel:" $value -}}
{{- else -}}
{{- toJson $value -}}
{{- end -}}
{{- else if kindIs "bool" $value -}}
{{- $value -}}
{{- else -}}
{{- int64 $value -}}
{{- end -}}
{{- end -}}

{{/* The variable of a name in a container's list, given another value; changes the list's own maps. */}}
{{- define "lastcall-injector.setEnv" -}}
{{- $value := .value -}}
{{- $name := .name -}}
{{- range .env -}}
{{- if eq .name $name -}}
{{- $_ := set . "value" $value -}}
{{- $_ := unset . "valueFrom" -}}
{{- end -}}
{{- end -}}
{{- end -}}
