{{/* What the schema cannot see; each message names the value and what was expected. */}}

{{- define "lastcall-injector.checks" -}}
{{- $problems := "" -}}
{{- range $reserved := keys (include "lastcall-injector.selector" . | fromYaml) | sortAlpha -}}
{{- if hasKey ($.Values.commonLabels | default dict) $reserved -}}
{{- $problems = print $problems (include "lastcall-lib.problem" (printf "commonLabels has %s, by which the Deployment and the Service find their pods, expected other labels" $reserved)) -}}
{{- end -}}
{{- end -}}
{{- if hasKey (.Values.commonLabels | default dict) "lastcall.dev/inject" -}}
{{- $problems = print $problems (include "lastcall-lib.problem" "commonLabels has lastcall.dev/inject, which would make the webhook's own pods wait for a webhook, expected other labels") -}}
{{- end -}}
{{- range $key := list "image" "shimImage" -}}
{{- with include "lastcall-lib.imageProblem" (list (printf "pods.%s" $key) (get $.Values.pods $key)) -}}
{{- $problems = print $problems (include "lastcall-lib.problem" .) -}}
{{- end -}}
{{- end -}}
{{- with include "lastcall-lib.graceProblem" (list "pods.gracePeriod" .Values.pods.gracePeriod) -}}
{{- $problems = print $problems (include "lastcall-lib.problem" .) -}}
{{- end -}}
{{- $ports := list -}}
{{- range $name, $port := .Values.webhook.ports -}}
{{- if has (int $port) $ports -}}
{{- $problems = print $problems (include "lastcall-lib.problem" (printf "webhook.ports.%s is %d, which is another port of the webhook too, expected three different ports" $name (int $port))) -}}
{{- end -}}
{{- $ports = append $ports (int $port) -}}
{{- end -}}
{{- with $problems -}}
{{- fail . -}}
{{- end -}}
{{- end -}}
