"""Resources: every container has some that can be set, so that quotas and QoS classes work."""

import pytest
from conftest import DEMO, container, sets

INGRESS = "config.ingress.listen=[::]:8080"
MODES = pytest.mark.parametrize(
    ("mode", "kube"), [("native", "1.32.0"), ("plain", "1.28.0"), ("prestop", "1.32.0")]
)


def equal(*names):
    """Settings that let these containers ask for as much as their limits are."""
    return sets(*[
        f"{name}.resources.{part}.{what}"
        for name in names for part in ("requests", "limits")
        for what in ("cpu=100m", "memory=" + ("auto" if name == "sidecar" else "64Mi"))
    ])  # fmt: skip


def qos_of(pod):
    """As the kubelet decides it: over the containers and the init containers."""
    resources = [c.get("resources") or {} for c in pod.get("initContainers", [])
                 + pod["containers"]]  # fmt: skip
    if not any(each.get("requests") or each.get("limits") for each in resources):
        return "BestEffort"
    for each in resources:
        limits, requests = each.get("limits") or {}, each.get("requests") or {}
        if not {"cpu", "memory"} <= limits.keys() or {**limits, **requests} != limits:
            return "Burstable"
    return "Guaranteed"


@MODES
def test_a_pod_is_guaranteed_where_all_containers_ask_for_their_limits(helm, mode, kube):
    words = ("-f", DEMO, *sets(f"mode={mode}", INGRESS), *equal("install", "sidecar", "engine"))
    assert qos_of(helm.pod(*words, kube=kube)) == "Guaranteed"


def test_one_container_without_makes_it_burstable(helm):
    assert qos_of(helm.pod("-f", DEMO, *equal("sidecar", "engine"))) == "Burstable"
    assert qos_of(helm.pod("-f", DEMO)) == "Burstable"


@MODES
def test_a_quota_finds_both_limits_in_each_container(helm, mode, kube):
    """As a ResourceQuota with limits.cpu and limits.memory asks: without them a pod is refused."""
    words = [f"{name}.resources.limits.cpu=1" for name in ("install", "sidecar", "engine")]
    words += ["engine.resources.limits.memory=1Gi", f"mode={mode}"]
    pod = helm.pod("-f", DEMO, *sets(*words), kube=kube)
    for each in pod.get("initContainers", []) + pod["containers"]:
        assert {"cpu", "memory"} <= each["resources"]["limits"].keys(), each["name"]


@pytest.mark.parametrize(("settings", "memory"), [((), "128Mi"), ((INGRESS,), "1Gi")])
def test_a_request_can_be_as_large_as_the_limit_that_the_chart_chooses(helm, settings, memory):
    words = sets("sidecar.resources.requests.memory=auto", *settings)
    resources = container(helm.pod("-f", DEMO, *words), "lastcall")["resources"]
    assert resources["requests"]["memory"] == resources["limits"]["memory"] == memory


def test_the_installing_container_has_what_it_always_had(helm):
    resources = container(helm.pod("-f", DEMO), "lastcall-install")["resources"]
    assert resources == {"requests": {"cpu": "10m", "memory": "8Mi"}, "limits": {"memory": "32Mi"}}


@pytest.mark.parametrize("key", ["install", "install.resources"])
def test_null_leaves_it_without(helm, key):
    words = ("-f", DEMO, *sets(f"{key}=null"))
    assert "resources" not in container(helm.pod(*words), "lastcall-install")


def test_a_resource_of_another_name_is_refused(helm):
    refusal = helm.refusal("-f", DEMO, *sets("install.resources.limit.cpu=1"))
    assert "install" in refusal and "limit" in refusal
