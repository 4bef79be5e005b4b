"""The fields that Kubernetes knows, for the objects that the chart renders.

Neither Helm nor an offline kubectl refuses an unknown field, and an API server drops it unless it
is asked not to: a typo in a template would be a setting that silently is not there.

Source: the Kubernetes API reference, 1.32. A type is a dict of its fields; a value is the type of
the field, `ANY` where the content is the user's or a scalar, and [type] for a list.
"""

ANY = None

OBJECT_META = {"name": ANY, "namespace": ANY, "labels": ANY, "annotations": ANY}
LABEL_SELECTOR = {"matchLabels": ANY, "matchExpressions": ANY}
HTTP_GET = {"path": ANY, "port": ANY, "scheme": ANY, "host": ANY, "httpHeaders": ANY}
PROBE = {
    "httpGet": HTTP_GET,
    **dict.fromkeys(
        ("initialDelaySeconds", "periodSeconds", "timeoutSeconds", "failureThreshold",
         "successThreshold", "terminationGracePeriodSeconds")
    ),
}  # fmt: skip
HANDLER = {"httpGet": HTTP_GET, "exec": {"command": ANY}}
LIFECYCLE = {"preStop": HANDLER, "postStart": HANDLER}
ENV_VAR = {
    "name": ANY,
    "value": ANY,
    "valueFrom": {
        "fieldRef": {"apiVersion": ANY, "fieldPath": ANY},
        "secretKeyRef": ANY,
        "configMapKeyRef": ANY,
        "resourceFieldRef": ANY,
    },
}
SECURITY_CONTEXT = dict.fromkeys(
    ("allowPrivilegeEscalation", "capabilities", "privileged", "readOnlyRootFilesystem",
     "runAsGroup", "runAsNonRoot", "runAsUser", "seccompProfile", "procMount", "seLinuxOptions")
)  # fmt: skip
CONTAINER = {
    **dict.fromkeys(
        ("name", "image", "imagePullPolicy", "command", "args", "restartPolicy", "envFrom",
         "terminationMessagePolicy", "terminationMessagePath", "workingDir")
    ),
    "env": [ENV_VAR],
    "ports": [dict.fromkeys(("name", "containerPort", "protocol", "hostPort", "hostIP"))],
    "livenessProbe": PROBE,
    "readinessProbe": PROBE,
    "startupProbe": PROBE,
    "lifecycle": LIFECYCLE,
    "resources": {"requests": ANY, "limits": ANY, "claims": ANY},
    "securityContext": SECURITY_CONTEXT,
    "volumeMounts": [
        dict.fromkeys(("name", "mountPath", "readOnly", "subPath", "mountPropagation"))
    ],
}  # fmt: skip
VOLUME = {
    "name": ANY,
    "emptyDir": {"medium": ANY, "sizeLimit": ANY},
    "configMap": {"name": ANY, "items": ANY, "defaultMode": ANY, "optional": ANY},
    "persistentVolumeClaim": ANY,
    "secret": ANY,
    "projected": {"defaultMode": ANY, "sources": ANY},
    "downwardAPI": {"defaultMode": ANY, "items": [{"path": ANY, "fieldRef": ANY}]},
}
POD_SPEC = {
    **dict.fromkeys(
        ("terminationGracePeriodSeconds", "automountServiceAccountToken", "serviceAccountName",
         "enableServiceLinks", "shareProcessNamespace", "dnsPolicy", "priorityClassName",
         "runtimeClassName", "nodeSelector", "tolerations", "affinity",
         "topologySpreadConstraints", "schedulerName", "hostNetwork", "restartPolicy")
    ),
    "dnsConfig": dict.fromkeys(("nameservers", "searches", "options")),
    "imagePullSecrets": [{"name": ANY}],
    "readinessGates": [{"conditionType": ANY}],
    "securityContext": dict.fromkeys(
        ("runAsUser", "runAsGroup", "runAsNonRoot", "fsGroup", "fsGroupChangePolicy",
         "seccompProfile", "supplementalGroups", "sysctls", "seLinuxOptions")
    ),
    "initContainers": [CONTAINER],
    "containers": [CONTAINER],
    "volumes": [VOLUME],
}  # fmt: skip
CLAIM_SPEC = dict.fromkeys(("accessModes", "storageClassName", "resources", "volumeName"))
# The fields of the operator of kube-prometheus, as its API reference has them.
SCRAPE = dict.fromkeys(
    ("port", "path", "scheme", "interval", "scrapeTimeout", "honorLabels", "relabelings",
     "metricRelabelings")
)  # fmt: skip
KINDS = {
    ("apps/v1", "StatefulSet"): {
        "metadata": OBJECT_META,
        "spec": {
            **dict.fromkeys(
                ("replicas", "minReadySeconds", "revisionHistoryLimit", "serviceName",
                 "podManagementPolicy")
            ),
            "updateStrategy": {"type": ANY, "rollingUpdate": {"partition": ANY}},
            "selector": LABEL_SELECTOR,
            "template": {"metadata": OBJECT_META, "spec": POD_SPEC},
            "volumeClaimTemplates": [
                {"apiVersion": ANY, "kind": ANY, "metadata": OBJECT_META, "spec": CLAIM_SPEC}
            ],
        },
    },
    ("v1", "PersistentVolumeClaim"): {"metadata": OBJECT_META, "spec": CLAIM_SPEC},
    ("v1", "Pod"): {"metadata": OBJECT_META, "spec": POD_SPEC},
    ("policy/v1", "PodDisruptionBudget"): {
        "metadata": OBJECT_META,
        "spec": {"minAvailable": ANY, "maxUnavailable": ANY, "selector": LABEL_SELECTOR},
    },
    ("autoscaling/v2", "HorizontalPodAutoscaler"): {
        "metadata": OBJECT_META,
        "spec": {
            "scaleTargetRef": dict.fromkeys(("apiVersion", "kind", "name")),
            "minReplicas": ANY, "maxReplicas": ANY,
            "metrics": [{
                "type": ANY,
                "pods": {"metric": {"name": ANY, "selector": ANY},
                         "target": {"type": ANY, "averageValue": ANY}},
                "resource": ANY, "object": ANY, "external": ANY,
            }],
            "behavior": {"scaleUp": ANY, "scaleDown": ANY},
        },
    },
    ("networking.k8s.io/v1", "NetworkPolicy"): {
        "metadata": OBJECT_META,
        "spec": {
            "podSelector": LABEL_SELECTOR, "policyTypes": ANY,
            "ingress": [{
                "ports": [dict.fromkeys(("protocol", "port", "endPort"))],
                "from": [dict.fromkeys(("podSelector", "namespaceSelector", "ipBlock"))],
            }],
        },
    },
    ("monitoring.coreos.com/v1", "PodMonitor"): {
        "metadata": OBJECT_META,
        "spec": {"selector": LABEL_SELECTOR, "podMetricsEndpoints": [SCRAPE]},
    },
    ("monitoring.coreos.com/v1", "ServiceMonitor"): {
        "metadata": OBJECT_META, "spec": {"selector": LABEL_SELECTOR, "endpoints": [SCRAPE]},
    },
    ("monitoring.coreos.com/v1", "PrometheusRule"): {
        "metadata": OBJECT_META,
        "spec": {"groups": [{
            "name": ANY, "interval": ANY,
            "rules": [dict.fromkeys(("alert", "expr", "for", "labels", "annotations"))],
        }]},
    },
    ("apps/v1", "Deployment"): {
        "metadata": OBJECT_META,
        "spec": {
            **dict.fromkeys(
                ("replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
            ),
            "strategy": {"type": ANY, "rollingUpdate": {"maxSurge": ANY, "maxUnavailable": ANY}},
            "selector": LABEL_SELECTOR,
            "template": {"metadata": OBJECT_META, "spec": POD_SPEC},
        },
    },
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"): {
        "metadata": OBJECT_META,
        "spec": {
            "replicas": ANY, "startupPolicy": ANY,
            "rolloutStrategy": {
                "type": ANY, "rollingUpdateConfiguration": {"maxSurge": ANY, "maxUnavailable": ANY},
            },
            "leaderWorkerTemplate": {
                "size": ANY, "restartPolicy": ANY,
                "leaderTemplate": {"metadata": OBJECT_META, "spec": POD_SPEC},
                "workerTemplate": {"metadata": OBJECT_META, "spec": POD_SPEC},
            },
        },
    },
    ("v1", "ServiceAccount"): {"metadata": OBJECT_META, "automountServiceAccountToken": ANY},
    ("rbac.authorization.k8s.io/v1", "Role"): {
        "metadata": OBJECT_META,
        "rules": [dict.fromkeys(("apiGroups", "resources", "verbs", "resourceNames"))],
    },
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): {
        "metadata": OBJECT_META,
        "roleRef": dict.fromkeys(("apiGroup", "kind", "name")),
        "subjects": [dict.fromkeys(("kind", "name", "namespace"))],
    },
    ("v1", "ConfigMap"): {"metadata": OBJECT_META, "data": ANY},
    ("v1", "Service"): {
        "metadata": OBJECT_META,
        "spec": {
            **dict.fromkeys(("type", "selector", "clusterIP", "publishNotReadyAddresses")),
            "ports": [dict.fromkeys(("name", "port", "targetPort", "protocol", "nodePort"))],
        },
    },
}


def unknown_fields(value, known, path=""):
    """Paths of the fields that `known` does not have."""
    if known is ANY:
        return []
    if isinstance(known, list):
        elements = value if isinstance(value, list) else [value]
        return [
            found
            for index, element in enumerate(elements)
            for found in unknown_fields(element, known[0], f"{path}[{index}]")
        ]
    if not isinstance(value, dict):
        return [f"{path}: expected an object"]
    found = []
    for key, element in value.items():
        here = f"{path}.{key}".lstrip(".")
        found += unknown_fields(element, known[key], here) if key in known else [here]
    return found


def unknown_in_object(rendered):
    kind = (rendered.get("apiVersion"), rendered.get("kind"))
    if kind not in KINDS:
        return [f"{kind}: not a kind that this chart renders"]
    return unknown_fields(rendered, {"apiVersion": ANY, "kind": ANY, **KINDS[kind]})
