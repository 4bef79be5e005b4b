"""A Deployment that knows nothing of lastcall, supervised by one label, rolled over under load."""

import json
import os

import pytest
from client import wait_until
from kube_load import loaded, roll_out, rolled_out
from kube_release import SIM, TAG, Release, call
from test_kubernetes_injection import INJECTOR, version_of_policies

HELM = os.environ.get("HELM", "helm")
LABELS = {"app.kubernetes.io/instance": "x"}


class Stranger(Release):
    """An engine's Deployment and Service as somebody else's chart writes them."""

    def install(self, **_values):
        engine = {
            "name": "vllm", "image": f"localhost/lastcall-e2e:{TAG}",
            "command": SIM[:2], "args": [*SIM[2:-1], "--kind", "vllm", "--rate", "100"],
            "ports": [{"name": "http", "containerPort": 8000, "protocol": "TCP"}],
            "readinessProbe": {"httpGet": {"path": "/health", "port": "http"}, "periodSeconds": 1},
        }  # fmt: skip
        pods = {"dnsPolicy": "Default", "containers": [engine]}
        template = {"metadata": {"labels": LABELS}, "spec": pods}
        deployment = {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x-lastcall"},
            "spec": {"replicas": 2, "selector": {"matchLabels": LABELS}, "template": template,
                     "strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}},
        }  # fmt: skip
        port = {"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"},
                   "spec": {"selector": LABELS, "ports": [port]}}  # fmt: skip
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [deployment, service]})
        self.kubectl("apply", "-f", "-", text=text)
        self.settled()
        self._start_client()
        return self

    def settled(self):
        self.kubectl("rollout", "status", "deployment/x-lastcall", "--timeout=150s")

    def label(self):
        """All that its owner does."""
        metadata = {"labels": {"lastcall.dev/inject": "true"},
                    "annotations": {"lastcall.dev/config.engine.kind": "vllm"}}  # fmt: skip
        patch = {"spec": {"template": {"metadata": metadata}}}
        self.kubectl("patch", "deployment", "x-lastcall", "-p", json.dumps(patch))
        self.settled()


def inject_into(namespace):
    """The injector as Helm installs it, for the pods of one namespace."""
    words = ["--set", f"apiVersion={version_of_policies()}"]
    for name in ("image", "shimImage"):
        repository = "localhost/lastcall" + ("-shim" if name == "shimImage" else "")
        words += ["--set", f"pods.{name}.repository={repository},pods.{name}.tag={TAG}"]
    key = r"namespaceSelector.matchLabels.kubernetes\.io/metadata\.name"
    words += ["--set", f"namespaceSelector.matchExpressions=null,{key}={namespace}"]
    call(HELM, "upgrade", "--install", namespace, INJECTOR, "-n", namespace, *words)


@pytest.fixture
def stranger(make_release):
    release = Stranger()
    inject_into(release.namespace)
    yield release.install()
    call(HELM, "uninstall", release.namespace, "-n", release.namespace, check=False)
    release.close()


def names_of(pod):
    return [each["name"] for each in pod["spec"].get("initContainers", [])]


def test_one_label_makes_a_rollout_under_load_lose_nothing(stranger):
    assert all(names_of(pod) == [] for pod in stranger.pods())
    bare = stranger.names()
    stranger.label()
    wait_until(lambda: rolled_out(stranger, bare), "the pods with lastcall", patience=120)
    for pod in stranger.pods():
        assert names_of(pod) == ["lastcall-install", "lastcall"]
    old = stranger.names()
    sums = loaded(stranger, lambda: roll_out(stranger), lambda: rolled_out(stranger, old))
    assert sums["problems"] == [], sums
    assert sums["outcomes"]["completed"] > 20


def test_its_stop_is_explained_and_uninstalling_changes_no_pod(stranger):
    bare = stranger.names()
    stranger.label()
    wait_until(lambda: rolled_out(stranger, bare), "the pods with lastcall", patience=120)
    running = stranger.names()
    call(HELM, "uninstall", stranger.namespace, "-n", stranger.namespace)
    assert stranger.names() == running
    name = sorted(running)[0]
    states, _ = stranger.watch(name)
    stranger.kubectl("delete", "pod", name, "--wait=false")
    wait_until(lambda: name not in stranger.names(), "its end", patience=120)
    said = [status["state"]["terminated"].get("message", "")
            for state in states.states()
            for status in state["status"].get("containerStatuses", [])
            if "terminated" in status["state"]]  # fmt: skip
    assert any('"cause":"signal"' in message for message in said), said
