"""`lastcall webhook` beside a real API server: the golden pods, its certificate, and its absence.

One release for all of them, in a namespace of its own, as `helm install` makes it."""

import base64
import json
import subprocess
import uuid

import pytest
import yaml
from client import wait_until
from kube_release import HELM, KUBECTL, TAG, call
from kube_stranger import INJECTOR, PROGRAMS, inject_into, injector_words
from test_kubernetes_injection import GOLDEN, PODS, asking, without_token

# This is the time until the kubelet has written a Secret again, and the Deployments are back.
PATIENCE = 150
IMAGES = {f"{name}:0.1.0": f"localhost/{name}:{TAG}" for name in ("lastcall", "lastcall-shim")}


class Injector:
    def __init__(self):
        self.space = f"lc-{uuid.uuid4().hex[:8]}"
        self.name = f"{self.space}-injector"
        call(KUBECTL, "create", "namespace", self.space)

    def upgrade(self, *settings):
        inject_into(self.space, *settings, by="webhook")
        self.await_answers()

    def get(self, kind, name=None, space=True):
        where = ["-n", self.space] if space else []
        return json.loads(call(KUBECTL, *where, "get", kind, name or self.name, "-o", "json"))

    def pods(self):
        """Names of the webhook's pods, with the restarts of their container; none for a pod
        that the kubelet has not seen."""
        found = json.loads(call(KUBECTL, "-n", self.space, "get", "pods", "-o", "json", "-l",
                                f"app.kubernetes.io/instance={self.space}"))  # fmt: skip
        return {pod["metadata"]["name"]: sum(each["restartCount"] for each in
                                             pod["status"].get("containerStatuses", []))
                for pod in found["items"]}  # fmt: skip

    def bundle(self):
        [webhook] = self.get("mutatingwebhookconfiguration", f"{self.space}.lastcall.dev",
                             space=False)["webhooks"]  # fmt: skip
        return webhook["clientConfig"].get("caBundle")

    def is_trusted(self):
        return self.bundle() == self.get("secret", f"{self.name}-tls")["data"]["ca.crt"]

    def certificate(self):
        """That of the pods; its authority is the one that the API server trusts."""
        data = self.get("secret", f"{self.name}-tls")["data"]
        assert self.bundle() == data["ca.crt"]
        return base64.b64decode(data["tls.crt"])

    def create(self, pod):
        """A server-side dry-run, which asks the webhook as any other creation does."""
        return subprocess.run(
            [KUBECTL, "-n", self.space, "create", "--dry-run=server", "-o", "json", "-f", "-"],
            input=json.dumps(pod), capture_output=True, text=True, timeout=60,
        )  # fmt: skip

    def await_answers(self):
        """The node learns of the Service's first address after the Deployment is ready."""
        pod = asking(GOLDEN / "pods/command.yaml")
        wait_until(lambda: self.create(pod).returncode == 0, "an answer of the webhook",
                   patience=PATIENCE)  # fmt: skip

    def made(self, pod):
        done = self.create(pod)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["spec"]

    def close(self):
        call(HELM, "uninstall", self.space, "-n", self.space, check=False)
        call(KUBECTL, "delete", "namespace", self.space, "--wait=false", check=False)


class Applied(Injector):
    """What `helm template` prints, given to `kubectl apply`."""

    def upgrade(self, *settings):
        words = injector_words(self.space, *settings, by="webhook")
        text = call(HELM, "template", self.space, INJECTOR, "-n", self.space, *words)
        call(KUBECTL, "-n", self.space, "apply", "-f", "-", text=text)
        call(KUBECTL, "-n", self.space, "rollout", "status", f"deployment/{self.name}",
             "--timeout=120s")  # fmt: skip
        self.await_answers()
        return text

    def versions(self, text):
        """Of all objects but those whose status goes on."""
        words = ["-n", self.space, "get", "-o", "json", "-f", "-"]
        items = json.loads(call(KUBECTL, *words, text=text))["items"]
        return {(each["kind"], each["metadata"]["name"]): each["metadata"]["resourceVersion"]
                for each in items if "status" not in each}  # fmt: skip


@pytest.fixture(scope="module")
def cluster():
    injector = Injector()
    try:
        injector.upgrade()
        yield injector
    finally:
        injector.close()


def golden(path):
    text = (GOLDEN / "native" / path.name).read_text()
    for name, image in IMAGES.items():
        text = text.replace(f"image: {name}\n", f"image: {image}\n")
    pod = yaml.safe_load(text)
    pod["metadata"].setdefault("labels", {})["lastcall.dev/inject"] = "true"
    return pod


def with_lastcall(spec):
    return "lastcall" in [each["name"] for each in spec.get("initContainers", [])]


@pytest.mark.parametrize("path", PODS, ids=lambda path: path.stem)
def test_the_webhook_makes_the_golden_pod(cluster, path):
    assert without_token(cluster.made(asking(path))) == without_token(cluster.made(golden(path)))


@pytest.mark.parametrize("path", PODS, ids=lambda path: path.stem)
def test_it_is_the_pod_of_the_command(cluster, path):
    words = [f"--image=localhost/lastcall:{TAG}", f"--shim-image=localhost/lastcall-shim:{TAG}"]
    pod = asking(path)
    text = call(f"{PROGRAMS}/lastcall", "inject", *words, text=yaml.safe_dump(pod))
    piped = cluster.made(yaml.safe_load(text))
    assert without_token(piped) == without_token(cluster.made(pod))


def test_a_pod_that_does_not_ask_stays_as_it_is(cluster):
    spec = cluster.made(yaml.safe_load((GOLDEN / "pods/bare.yaml").read_text()))
    assert not with_lastcall(spec) and spec["terminationGracePeriodSeconds"] == 30


def test_a_pod_that_cannot_be_injected_is_refused_with_the_reason(cluster):
    pod = asking(GOLDEN / "pods/annotated.yaml")
    pod["metadata"]["annotations"]["lastcall.dev/config.log.level"] = "loud"
    refusal = cluster.create(pod)
    assert refusal.returncode != 0 and "log.level: 'loud', expected" in refusal.stderr


def test_an_upgrade_keeps_the_certificate_and_a_deleted_one_is_made_anew(cluster):
    first, pods = cluster.certificate(), cluster.pods()
    cluster.upgrade()
    assert cluster.certificate() == first and cluster.pods() == pods
    call(KUBECTL, "-n", cluster.space, "delete", "secret", f"{cluster.name}-tls")
    pod = asking(GOLDEN / "pods/command.yaml")

    def is_made():
        assert with_lastcall(cluster.made(pod))  # no pod is refused meanwhile
        words = ["-n", cluster.space, "get", "secret", f"{cluster.name}-tls", "--ignore-not-found"]
        return call(KUBECTL, *words)

    wait_until(is_made, "the other certificate", pause=0.5, patience=PATIENCE)
    wait_until(lambda: cluster.is_trusted(), "trust", pause=0.5, patience=PATIENCE)
    assert cluster.certificate() != first and cluster.pods() == pods
    # An API server may ask either replica, so both have to accept it.
    for _ in range(6):
        assert with_lastcall(cluster.made(pod))


def test_what_is_rendered_and_applied_twice_changes_nothing_and_leaves_nothing(cluster):
    """As Argo CD, Flux's kustomize and people with a pipe do it; beside a release of Helm."""
    injector = Applied()
    try:
        first = injector.upgrade()
        before, certificate = injector.versions(first), injector.certificate()
        assert with_lastcall(injector.made(asking(GOLDEN / "pods/command.yaml")))
        assert injector.upgrade() == first
        assert injector.versions(first) == before and injector.certificate() == certificate
        assert with_lastcall(injector.made(asking(GOLDEN / "pods/command.yaml")))
        call(KUBECTL, "-n", injector.space, "delete", "-f", "-", text=first)
        secrets = ["-n", injector.space, "get", "secrets", "-o", "name"]
        wait_until(lambda: not call(KUBECTL, *secrets), "the end of the Secret", pause=0.5,
                   patience=PATIENCE)  # fmt: skip
    finally:
        injector.close()


def test_without_a_webhook_only_pods_that_ask_depend_on_its_policy(cluster):
    asks = asking(GOLDEN / "pods/command.yaml")
    bare = yaml.safe_load((GOLDEN / "pods/bare.yaml").read_text())
    configuration = f"mutatingwebhookconfiguration/{cluster.space}.lastcall.dev"
    call(KUBECTL, "-n", cluster.space, "delete", "deployment", cluster.name, "--cascade=foreground")
    try:
        refusal = cluster.create(asks)
        assert refusal.returncode != 0
        assert 'failed calling webhook "inject.lastcall.dev"' in refusal.stderr
        assert not with_lastcall(cluster.made(bare))
        change = [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]
        call(KUBECTL, "patch", configuration, "--type=json", "-p", json.dumps(change))
        wait_until(lambda: cluster.create(asks).returncode == 0, "a pod without it",
                   patience=PATIENCE)  # fmt: skip
        assert not with_lastcall(cluster.made(asks))
    finally:
        call(KUBECTL, "delete", configuration)  # Helm makes both again
        cluster.upgrade()
    wait_until(lambda: with_lastcall(cluster.made(asks)), "injection again", patience=PATIENCE)


def test_a_rolled_webhook_loses_no_review(cluster):
    """Each pod that asks while the webhook is replaced is injected, under failurePolicy Fail."""
    asks = asking(GOLDEN / "pods/command.yaml")
    old = cluster.pods()
    call(KUBECTL, "-n", cluster.space, "rollout", "restart", f"deployment/{cluster.name}")
    rounds = 0
    while set(cluster.pods()) & set(old):
        assert with_lastcall(cluster.made(asks))
        rounds += 1
    assert rounds > 3
