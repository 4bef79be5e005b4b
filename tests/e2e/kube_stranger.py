"""An engine's Deployment and Service as others write them, and the ways in for lastcall."""

import copy
import json
import os
import shutil
import subprocess

import pytest
import yaml
from client import wait_until
from kube_load import rolled_out
from kube_release import HELM, KUBECTL, ROOT, SIM, TAG, Release, call

INJECTOR = os.path.join(ROOT, "charts/lastcall-injector")
BUILD = os.path.abspath(os.environ.get("LASTCALL_BUILD_DIR", os.path.join(ROOT, "build/dev")))
PROGRAMS = os.path.join(BUILD, "supervisor/cli")
LABELS = {"app.kubernetes.io/instance": "x"}
# A user of the command adds these words if the images have other names than those of a release.
WORDS = ["--container=vllm", "--set=engine.kind=vllm", f"--image=localhost/lastcall:{TAG}",
         f"--shim-image=localhost/lastcall-shim:{TAG}"]  # fmt: skip


def version_of_policies():
    """The versions of MutatingAdmissionPolicy that the API server has, the newest first."""
    served = call(KUBECTL, "api-versions").split()
    group = "admissionregistration.k8s.io"
    found = [
        version for version in ("v1", "v1beta1")
        if f"{group}/{version}" in served
        and "mutatingadmission" in call(KUBECTL, "get", "--raw", f"/apis/{group}/{version}")
    ]  # fmt: skip
    if not found:
        pytest.skip("this API server has no MutatingAdmissionPolicy")
    return found[0]


def injector_words(namespace, *settings, by="policy"):
    """Values of the injector for the pods of one namespace."""
    words = ["--set", f"apiVersion={version_of_policies()}"]
    if by == "webhook":
        words = ["--set", "by=webhook"]
    for setting in settings:
        words += ["--set", setting]
    for name in ("image", "shimImage"):
        repository = "localhost/lastcall" + ("-shim" if name == "shimImage" else "")
        words += ["--set", f"pods.{name}.repository={repository},pods.{name}.tag={TAG}"]
    key = r"namespaceSelector.matchLabels.kubernetes\.io/metadata\.name"
    return [*words, "--set", f"namespaceSelector.matchExpressions=null,{key}={namespace}"]


def inject_into(namespace, *settings, by="policy"):
    """The injector as Helm installs or upgrades it, for the pods of one namespace."""
    words = injector_words(namespace, *settings, by=by)
    if by == "webhook":
        words += ["--wait", "--timeout", "120s"]
    call(HELM, "upgrade", "--install", namespace, INJECTOR, "-n", namespace, *words)


def objects():
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
    return [deployment, service]


class Stranger(Release):
    engines = "app.kubernetes.io/instance=x"
    service = "x"

    def install(self, **_values):
        """Bare, as its owner has it."""
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects()})
        self.kubectl("apply", "-f", "-", text=text)
        return self.started()

    def started(self):
        self.settled()
        self._start_client()
        return self

    def settled(self):
        self.kubectl("rollout", "status", "deployment/x-lastcall", "--timeout=150s")

    def replaced(self, change):
        """The Deployment's pods after a change by which all of them are made again."""
        old = self.names()
        change()
        self.settled()
        wait_until(lambda: rolled_out(self, old), "new pods", patience=120)

    # --- the ways in

    def label(self):
        metadata = {"labels": {"lastcall.dev/inject": "true"},
                    "annotations": {"lastcall.dev/config.engine.kind": "vllm"}}  # fmt: skip
        patch = {"spec": {"template": {"metadata": metadata}}}
        self.kubectl("patch", "deployment", "x-lastcall", "-p", json.dumps(patch))

    def pipe(self):
        bare = self.kubectl("get", "deployment", "x-lastcall", "-o", "yaml")
        made = call(os.path.join(PROGRAMS, "lastcall"), "inject", *WORDS, text=bare)
        self.kubectl("apply", "-f", "-", text=made)

    def post_render(self, folder):
        """Their chart, unchanged, with a flag of Helm's."""
        chart = os.path.join(folder, "vllm-stack")
        os.makedirs(os.path.join(chart, "templates"))
        with open(os.path.join(chart, "Chart.yaml"), "w") as file:
            yaml.safe_dump({"apiVersion": "v2", "name": "vllm-stack", "version": "1.2.3"}, file)
        with open(os.path.join(chart, "templates/all.yaml"), "w") as file:
            yaml.safe_dump_all(objects(), file)
        environment = {**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
                       "HELM_PLUGINS": os.path.join(folder, "plugins")}  # fmt: skip
        renderer, words = "lastcall", ["inject", *WORDS]
        if call(HELM, "version", "--short").startswith("v4"):
            renderer, words = "lastcall-inject", WORDS
            shutil.copytree(os.path.join(ROOT, "examples/inject/helm-4"),
                            os.path.join(folder, "plugins/lastcall-inject"))  # fmt: skip
        arguments = [word for each in words for word in ("--post-renderer-args", each)]
        done = subprocess.run(
            [HELM, "install", "x", chart, "-n", self.namespace, "--post-renderer", renderer,
             *arguments],
            capture_output=True, text=True, timeout=120, env=environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


def names_of(pod):
    return [each["name"] for each in pod["spec"].get("initContainers", [])]


def comparable(pod):
    """Its spec without what the API server, the scheduler and service accounts add."""
    spec = copy.deepcopy(pod["spec"])
    spec.pop("nodeName", None)
    spec["volumes"] = [v for v in spec["volumes"] if not v["name"].startswith("kube-api-access")]
    for each in spec["initContainers"] + spec["containers"]:
        each["volumeMounts"] = [m for m in each.get("volumeMounts", [])
                                if not m["name"].startswith("kube-api-access")]  # fmt: skip
    return spec
