{{/* What the schema cannot see and only this chart knows; see charts/lastcall-lib, _checks.tpl. */}}

{{- define "lastcall.checks" -}}
{{- $problems := printf "%s%s%s" (include "lastcall-lib.problems" .) (include "lastcall.checksNames" .) (include "lastcall.checksAccount" .) -}}
{{- $problems = printf "%s%s%s" $problems (include "lastcall.checksTogether" .) (include "lastcall.checksRouter" .) -}}
{{- $problems = printf "%s%s" $problems (include "lastcall.checksObjects" .) -}}
{{- with $problems -}}
{{- fail . -}}
{{- end -}}
{{- end -}}

{{- define "lastcall.checksNames" -}}
{{- $name := include "lastcall.fullname" . -}}
{{- $services := include "lastcall.makesServices" . | fromJsonArray -}}
{{- if and $services (not (include "lastcall.isServiceName" $name)) -}}
{{- $way := eq (join "" $services) "service.enabled" | ternary "set fullnameOverride, or service.enabled: false" (printf "set fullnameOverride (%s makes one)" (join ", " $services)) -}}
{{- include "lastcall-lib.problem" (printf "%q is not a name for a Service, expected a letter first, then letters, digits and '-', all lower case; %s" $name $way) -}}
{{- else if not (regexMatch "^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$" $name) -}}
{{- include "lastcall-lib.problem" (printf "%q is not a name for an object, expected letters, digits, '-' and '.', all lower case; set fullnameOverride" $name) -}}
{{- end -}}
{{- with get (dict "StatefulSet" 52 "LeaderWorkerSet" 48) (.Values.workload | default "Deployment") -}}
{{- /* The controller adds a hash to the name, and LeaderWorkerSet a group's number before that. */ -}}
{{- if gt (len $name) (int .) -}}
{{- include "lastcall-lib.problem" (printf "%q has %d characters, expected at most %d for a %s, whose controller makes a label of its pods from the name and has 63 for it; set fullnameOverride" $name (len $name) (int .) $.Values.workload) -}}
{{- end -}}
{{- end -}}
{{- range $key, $labels := dict "commonLabels" .Values.commonLabels "podLabels" .Values.podLabels -}}
{{- range $reserved := list "app.kubernetes.io/instance" "app.kubernetes.io/name" -}}
{{- if hasKey ($labels | default dict) $reserved -}}
{{- include "lastcall-lib.problem" (printf "%s has %s, by which the Deployment and the Service find their pods, expected other labels; nameOverride changes app.kubernetes.io/name" $key $reserved) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $taken := list "engine" "lastcall" "lastcall-install" -}}
{{- range $key := list "initContainers" "extraContainers" -}}
{{- range get $.Values $key | default list -}}
{{- if has .name $taken -}}
{{- include "lastcall-lib.problem" (printf "%s has a container %q, which is there already; expected another name" $key .name) -}}
{{- end -}}
{{- $taken = append $taken .name -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The settings that make a Service named after the release, as a JSON list. */}}
{{- define "lastcall.makesServices" -}}
{{- $metrics := .Values.metrics | default dict -}}
{{- $found := list -}}
{{- range $key, $isSet := dict "service.enabled" .Values.service.enabled "workload" (eq (toString .Values.workload) "StatefulSet") "metrics.service.enabled" ($metrics.service | default dict).enabled "metrics.serviceMonitor.enabled" ($metrics.serviceMonitor | default dict).enabled "router.enabled" (.Values.router | default dict).enabled -}}
{{- if $isSet -}}
{{- $found = append $found $key -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{- define "lastcall.checksAccount" -}}
{{- $account := .Values.serviceAccount | default dict -}}
{{- if and $account.name .Values.serviceAccountName (ne $account.name .Values.serviceAccountName) -}}
{{- include "lastcall-lib.problem" (printf "serviceAccount.name is %s and serviceAccountName is %s, expected one of them" $account.name .Values.serviceAccountName) -}}
{{- end -}}
{{- $name := include "lastcall.accountName" . -}}
{{- if and .Values.rbac.create (not $name) -}}
{{- include "lastcall-lib.problem" "rbac.create without a service account: the rights would go to the namespace's default one, which other pods use too, expected serviceAccount.name, or serviceAccount.create: true" -}}
{{- end -}}
{{- $asks := include "lastcall-lib.kubernetesRegistries" . | fromJsonArray -}}
{{- if and $asks (not $name) (not .Values.automountServiceAccountToken) -}}
{{- include "lastcall-lib.problem" "config.discovery has kubernetes, but the pods have no service account with rights for it, expected rbac.create: true, or the name of an account of yours as serviceAccount.name" -}}
{{- end -}}
{{- end -}}

{{/* Values that contradict each other, of what stands beside the pods. */}}
{{- define "lastcall.checksTogether" -}}
{{- $metrics := .Values.metrics | default dict -}}
{{- if and ($metrics.podMonitor | default dict).enabled ($metrics.serviceMonitor | default dict).enabled -}}
{{- include "lastcall-lib.problem" "metrics.podMonitor and metrics.serviceMonitor are both enabled, so every pod would be scraped twice; expected one of them" -}}
{{- end -}}
{{- $budget := .Values.podDisruptionBudget | default dict -}}
{{- if and $budget.enabled (kindIs "invalid" $budget.minAvailable) (kindIs "invalid" $budget.maxUnavailable) -}}
{{- include "lastcall-lib.problem" "podDisruptionBudget is enabled, but minAvailable and maxUnavailable are both null; expected one of them" -}}
{{- end -}}
{{- $scaling := .Values.autoscaling | default dict -}}
{{- if $scaling.enabled -}}
{{- if lt (int64 $scaling.maxReplicas) (int64 $scaling.minReplicas) -}}
{{- include "lastcall-lib.problem" (printf "autoscaling.maxReplicas %d is less than minReplicas %d" (int64 $scaling.maxReplicas) (int64 $scaling.minReplicas)) -}}
{{- end -}}
{{- if not (or $scaling.metrics $scaling.targetQueue $scaling.targetInFlight) -}}
{{- include "lastcall-lib.problem" "autoscaling is enabled, but metrics is empty and targetQueue and targetInFlight are null; expected one of them" -}}
{{- end -}}
{{- end -}}
{{- if eq .Values.workload "LeaderWorkerSet" -}}
{{- if eq (toString (.Values.updateStrategy | default dict).type) "Recreate" -}}
{{- include "lastcall-lib.problem" "updateStrategy.type is Recreate, which a LeaderWorkerSet does not have; expected RollingUpdate" -}}
{{- end -}}
{{- if and (gt (int64 .Values.leaderWorkerSet.size) 1) (not (or .Values.leaderWorkerSet.worker.command .Values.leaderWorkerSet.worker.args)) -}}
{{- include "lastcall-lib.problem" "leaderWorkerSet.worker has neither command nor args: the image's own entry point would start a second leader; expected what a worker starts" -}}
{{- end -}}
{{- end -}}
{{- $persistence := .Values.persistence | default dict -}}
{{- if $persistence.enabled -}}
{{- range .Values.volumes -}}
{{- if eq (toString .name) "models" -}}
{{- include "lastcall-lib.problem" "volumes has one named models, which persistence creates; expected another name, or persistence.existingClaim" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and (include "lastcall-lib.ordersSecret" .) ((.Values.config | default dict).probes | default dict).orders_token_file -}}
{{- include "lastcall-lib.problem" "orders.tokenSecret.name and config.probes.orders_token_file are both set, expected one of them" -}}
{{- end -}}
{{- if and .Values.service.nodePort (eq .Values.service.type "ClusterIP") -}}
{{- include "lastcall-lib.problem" (printf "service.nodePort is %d, but service.type is ClusterIP; expected NodePort or LoadBalancer" (int64 .Values.service.nodePort)) -}}
{{- end -}}
{{- if and .Values.hostNetwork (include "lastcall-lib.hooksByHttp" .) (not (include "lastcall-lib.hookToken" .)) -}}
{{- include "lastcall-lib.problem" "hostNetwork with prestop.hook http and no token: every process of the node could take the pod out of service; expected prestop.hook: exec, or a token" -}}
{{- end -}}
{{- end -}}
