{{/*
The arithmetic of a stop, as core/budgets.cpp has it; tests/chart holds what comes
out here to what `lastcall plan` prints. All numbers are milliseconds.
*/}}

{{/* "60s", "500ms", "2m", "1h" in milliseconds. */}}
{{- define "lastcall-lib.ms" -}}
{{- $text := . | toString -}}
{{- if not (regexMatch "^[0-9]+(ms|s|m|h)$" $text) -}}
{{- fail (printf "%q is not a duration, expected digits and a unit such as 60s, 500ms, 2m or 1h" $text) -}}
{{- end -}}
{{- $unit := regexFind "[a-z]+$" $text -}}
{{- $factor := get (dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000) $unit -}}
{{- mul (regexFind "^[0-9]+" $text | int64) $factor -}}
{{- end -}}

{{/* Why a text is no shutdown.grace_period, or nothing; call with (list NAME TEXT). */}}
{{- define "lastcall-lib.graceProblem" -}}
{{- $text := index . 1 | toString -}}
{{- $isDuration := regexMatch "^[0-9]{1,11}(ms|s|m|h)$" $text -}}
{{- $ms := include "lastcall-lib.ms" ($isDuration | ternary $text "0s") | int64 -}}
{{- if or (lt $ms 1000) (gt $ms 86400000) -}}
{{- printf "%s is %s, expected 1s to 24h, such as 60s or 2m" (index . 0) $text -}}
{{- end -}}
{{- end -}}

{{- define "lastcall-lib.seconds" -}}
{{- $ms := int64 . -}}
{{- printf "%4d.%03ds" (div $ms 1000) (mod $ms 1000) -}}
{{- end -}}

{{/* terminationGracePeriodSeconds: what is given, else what the stop needs. */}}
{{- define "lastcall-lib.podGraceSeconds" -}}
{{- if kindIs "invalid" .Values.terminationGracePeriodSeconds -}}
{{- $shutdown := (.Values.config | default dict).shutdown | default dict -}}
{{- $grace := include "lastcall-lib.ms" ($shutdown.grace_period | default "60s") | int64 -}}
{{- add 2 (div (add $grace 999) 1000) -}}
{{- else -}}
{{- .Values.terminationGracePeriodSeconds | int64 -}}
{{- end -}}
{{- end -}}

{{/* What was asked for and what fits into the pod's grace, as JSON. */}}
{{- define "lastcall-lib.budgets" -}}
{{- $shutdown := (.Values.config | default dict).shutdown | default dict -}}
{{- $asked := dict -}}
{{- range $key, $default := dict "grace_period" "60s" "deregister_timeout" "5s" "late_accept" "1s" "cleanup_reserve" "5s" "cancel_settle" "1s" -}}
{{- $_ := set $asked $key (include "lastcall-lib.ms" (get $shutdown $key | default $default) | int64) -}}
{{- end -}}
{{- $pod := mul 1000 (include "lastcall-lib.podGraceSeconds" . | int64) -}}
{{- $total := max 1000 (min $asked.grace_period (sub $pod 2000)) -}}
{{- $config := .Values.config | default dict -}}
{{- $disconnects := add (ternary 500 0 (not (empty (($config.events | default dict).nats | default dict).url))) (ternary 500 0 (not (empty $config.discovery))) -}}
{{- $usable := add 4000 $disconnects -}}
{{- $settle := min $asked.cancel_settle (div $total 8) -}}
{{- $margin := min 1000 (div $total 8) -}}
{{- $reserve := min $asked.cleanup_reserve (div $total 2) $usable -}}
{{- $hooks := ternary 0 (add 2000 $disconnects) (empty ($config.cleanup | default dict).hooks) -}}
{{- $kept := max $reserve (min (div $total 2) (add (mul 2 $margin) $hooks)) -}}
{{- $half := div (sub $total (add $kept $settle)) 2 -}}
{{- $deregister := min $asked.deregister_timeout $half -}}
{{- $late := min $asked.late_accept $half -}}
{{- $closed := min (add $deregister $late) $half -}}
{{- dict "asked" $asked "pod" $pod "total" $total "reserve" $kept "usable" $usable "settle" $settle "margin" $margin "half" $half "deregister" $deregister "late" $late "closed" $closed | toJson -}}
{{- end -}}

{{/* The rows of `lastcall plan`. */}}
{{- define "lastcall-lib.timeline" -}}
{{- $config := .Values.config | default dict -}}
{{- $b := include "lastcall-lib.budgets" . | fromJson -}}
{{- $total := int64 $b.total -}}
{{- $reserve := int64 $b.reserve -}}
{{- $margin := int64 $b.margin -}}
{{- $closed := int64 $b.closed -}}
{{- $signal := ($config.engine | default dict).stop_signal | default "SIGTERM" -}}
{{- $rows := list
  (list 0 "the stop begins: every registry removes this instance")
  (list (int64 $b.deregister) "the registries have confirmed, or are no longer waited for")
  (list $closed "new requests are refused from here on; the drain begins") -}}
{{- if eq (($config.shutdown | default dict).migrate | default "at_end") "at_start" -}}
{{- $rows = append $rows (list $closed "requests of endpoints with graceful_shutdown: false are handed off") -}}
{{- end -}}
{{- $rows = concat $rows (list
  (list (sub $total (add $reserve (int64 $b.settle))) "the drain ends: what still runs is asked to stop")) -}}
{{- if eq (include "lastcall-lib.mode" .) "prestop" -}}
{{- $rows = concat $rows (list
  (list (sub $total $reserve) "what still runs is killed; preStop returns, the kubelet sends SIGTERM")
  (list $total "the kubelet's SIGKILL is near: the supervisor exits")) -}}
{{- else -}}
{{- $rows = concat $rows (list
  (list (sub $total $reserve) "what still runs is killed; cleanup begins")
  (list (sub $total (mul 2 $margin)) (printf "%s to the engine" $signal))
  (list (sub $total (div (mul 3 $margin) 2)) "the shim sends TERM if it has received no order")
  (list (sub $total $margin) "SIGKILL to what is left of the engine's processes")
  (list $total "exit")) -}}
{{- end -}}
{{- $sortable := list -}}
{{- range $index, $row := $rows -}}
{{- $sortable = append $sortable (printf "%012d|%02d|%s  %s" (first $row | int64) $index (include "lastcall-lib.seconds" (first $row)) (last $row)) -}}
{{- end -}}
{{- range sortAlpha $sortable }}
{{ (splitn "|" 3 .)._2 }}
{{- end -}}
{{- end -}}
