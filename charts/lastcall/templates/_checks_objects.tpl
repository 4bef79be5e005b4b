{{/* Values that an API server, a kubelet or a container refuses later, after `helm install` has ended. */}}

{{- define "lastcall.checksObjects" -}}
{{- $router := .Values.router | default dict -}}
{{- $images := dict "image" .Values.image "shimImage" .Values.shimImage "engine.image" .Values.engine.image -}}
{{- $labels := dict "commonLabels" .Values.commonLabels "podLabels" .Values.podLabels -}}
{{- $budgets := dict "podDisruptionBudget" .Values.podDisruptionBudget -}}
{{- if $router.enabled -}}
{{- $_ := set $images "router.image" $router.image -}}
{{- $_ := set $labels "router.podLabels" $router.podLabels -}}
{{- $_ := set $budgets "router.podDisruptionBudget" $router.podDisruptionBudget -}}
{{- end -}}
{{- range $key, $image := $images -}}
{{- with include "lastcall-lib.imageProblem" (list $key $image) -}}
{{- include "lastcall-lib.problem" . -}}
{{- end -}}
{{- end -}}
{{- range $key, $given := $labels -}}
{{- range $name, $value := $given | default dict -}}
{{- if not (regexMatch "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$" $name) -}}
{{- include "lastcall-lib.problem" (printf "%s has %q, which is not a name for a label, expected letters, digits, '-', '_' and '.', at most 63" $key $name) -}}
{{- else if not (regexMatch "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$" (toString $value)) -}}
{{- include "lastcall-lib.problem" (printf "%s has %q as the value of %s, expected letters, digits, '-', '_' and '.', at most 63" $key (toString $value) $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $key, $budget := $budgets -}}
{{- range $bound := list "minAvailable" "maxUnavailable" -}}
{{- $given := get ($budget | default dict) $bound | toString -}}
{{- if and ($budget | default dict).enabled (hasSuffix "%" $given) (gt (trimSuffix "%" $given | int64) 100) -}}
{{- include "lastcall-lib.problem" (printf "%s.%s is %s, expected at most 100%%" $key $bound $given) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $strategy := .Values.updateStrategy | default dict -}}
{{- $rolling := $strategy.rollingUpdate | default dict -}}
{{- if and (eq (toString .Values.workload) "Deployment") (ne (toString $strategy.type) "Recreate") (hasKey $rolling "maxSurge") (hasKey $rolling "maxUnavailable") -}}
{{- if and (has (toString $rolling.maxSurge) (list "0" "0%")) (has (toString $rolling.maxUnavailable) (list "0" "0%")) -}}
{{- include "lastcall-lib.problem" "updateStrategy.rollingUpdate has maxSurge 0 and maxUnavailable 0, so that no pod could ever be replaced; expected one of them to be more" -}}
{{- end -}}
{{- end -}}
{{- $probes := include "lastcall-lib.portOf" (include "lastcall-lib.probeListen" .) -}}
{{- range $key := list "initContainers" "extraContainers" -}}
{{- range get $.Values $key | default list -}}
{{- $container := .name -}}
{{- $isRunning := or (eq $key "extraContainers") (eq (toString .restartPolicy) "Always") -}}
{{- range .ports -}}
{{- if and $isRunning (eq (.protocol | default "TCP") "TCP") (eq (toString (int64 .containerPort)) $probes) -}}
{{- include "lastcall-lib.problem" (printf "%s: %s has the port %s, at which the sidecar answers probes; expected another one, or another config.probes.listen" $key $container $probes) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $router.enabled -}}
{{- $tls := ($router.config | default dict).tls | default dict -}}
{{- range $pair := list (list "cert_file" "key_file") (list "key_file" "cert_file") -}}
{{- if and (get $tls (first $pair)) (not (get $tls (last $pair))) -}}
{{- include "lastcall-lib.problem" (printf "router.config.tls has %s but no %s, expected both: the router would not start" (first $pair) (last $pair)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
