"""The chart's injector, released by a real Helm to a real API server; webhooks instead of its pods.

There is no kubelet: a webhook is started with the words of the chart's Deployment, the files of its
ConfigMap, and the token and the rights of its ServiceAccount, and the API server does the rest.
"""

import base64
import contextlib
import copy
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE / "serve")]
from kube_api import free_ports, kubeconfig, why_not_real  # noqa: E402
from serve_peer import wait_until  # noqa: E402
from webhook_process import GOLDEN, KUBE, ROOT, log_lines, pod_of, value_of  # noqa: E402

TOOLS = Path(os.environ.get("LASTCALL_TOOLS", ROOT / "build/tools"))
CHART = ROOT / "charts/lastcall-injector"
SPACE = "lastcall-system"
GROUP = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
PATIENCE = 60


def why_not():
    if os.geteuid() != 0:
        return "the port of an https Service needs root"
    return why_not_real()


def data_of(secret):
    return {key: base64.b64decode(text).decode() for key, text in secret["data"].items()}


class Running:
    """A process of the webhook."""

    def __init__(self, folder, host, words):
        (self.probes,) = free_ports(1)
        self.host, self.log = host, folder / f"log{self.probes}"
        self.process = subprocess.Popen(
            [KUBE, *words, f"--probes=127.0.0.1:{self.probes}"], stderr=self.log.open("ab")
        )

    def probe(self, path):
        """The status and the text of an answer."""
        url = f"http://127.0.0.1:{self.probes}{path}"
        try:
            with urllib.request.urlopen(url, timeout=20) as page:
                return page.status, page.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def answers(self, path="/readyz", status=200):
        with contextlib.suppress(urllib.error.URLError, OSError):
            found, text = self.probe(path)
            return found == status and text

    def wait_until_ready(self):
        wait_until(self.answers, "the webhook", patience=PATIENCE)

    def lines(self, message):
        return log_lines(self.log, message)

    def metric(self, series):
        return value_of(self.probe("/metrics")[1], series)

    def address(self):
        [line] = self.lines("listening")
        host, port = line["address"].rsplit(":", 1)
        return host, int(port)

    def certificate(self):
        """In PEM, as it shows it to a client that trusts anybody."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection(self.address(), timeout=20) as raw:
            with context.wrap_socket(raw, server_hostname=self.host) as connection:
                return ssl.DER_cert_to_PEM_cert(connection.getpeercert(binary_form=True))

    def distrust(self):
        """A client that does not trust it says so, upon which it looks at its certificate."""
        with contextlib.suppress(ssl.SSLError):
            with socket.create_connection(self.address(), timeout=20) as raw:
                ssl.create_default_context().wrap_socket(raw, server_hostname=self.host)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0

    def kill(self):
        self.process.kill()
        self.process.wait()


class Injector:
    """A release of the chart, and one process of the webhook in place of its pods."""

    def __init__(self, folder, helm, api, name="inj"):
        self.folder, self.helm, self.api, self.name = folder, helm, api, name
        self.running, self.one = [], None
        self.host = f"{name}-injector.{SPACE}.svc"
        self.upgrade()

    def upgrade(self, *settings):
        words = [word for each in ("by=webhook", *settings) for word in ("--set", each)]
        self.call_helm("upgrade", "--install", self.name, CHART, "--create-namespace", *words)

    def call_helm(self, *words):
        done = subprocess.run(
            [self.helm, *words, "-n", SPACE], capture_output=True, text=True, timeout=120,
            env={**os.environ, "KUBECONFIG": str(self.api.config), "HOME": str(self.folder)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def get(self, path):
        status, text = self.api.ask("GET", path)
        assert status == 200, text
        return json.loads(text)

    def objects(self, plural, name="", group="/api/v1"):
        return f"{group}/namespaces/{SPACE}/{plural}/{name or f'{self.name}-injector'}"

    def registration(self):
        return self.get(f"{GROUP}/{self.name}.lastcall.dev")

    def configuration(self):
        return self.registration()["webhooks"][0]

    def bundle(self):
        return base64.b64decode(self.configuration()["clientConfig"].get("caBundle", "")).decode()

    def secret_path(self):
        return self.objects("secrets", f"{self.name}-injector-tls")

    def secret(self):
        """It holds the authorities that the API server has been given."""
        data = data_of(self.get(self.secret_path()))
        assert self.bundle() == data["ca.crt"]
        return data

    def kubeconfig(self, port=None):
        """With the rights of the chart's ServiceAccount, and the API server's own certificate."""
        path = self.objects("serviceaccounts") + "/token"
        status, text = self.api.ask("POST", path, {"spec": {"expirationSeconds": 3600}})
        assert status == 201, text
        file = self.folder / f"{self.name}-{port}.kubeconfig"
        file.write_text(json.dumps(kubeconfig(
            f"https://127.0.0.1:{port or self.api.port}", json.loads(text)["status"]["token"],
            space=SPACE, **{"certificate-authority": str(self.api.folder / "apiserver.crt")},
        )))  # fmt: skip
        return file

    def words(self, mode="native", config=None):
        """Those of the webhook in the chart's Deployment, with paths of ours."""
        files = self.get(self.objects("configmaps"))["data"]
        (self.folder / "pods.yaml").write_text(files["pods.yaml"])
        deployment = self.get(self.objects("deployments", group="/apis/apps/v1"))
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        words = container["args"][container["args"].index("webhook") :]
        assert "--mode=native" in words
        changes = {"/etc/lastcall": str(self.folder), "--mode=native": f"--mode={mode}"}
        for old, new in changes.items():
            words = [word.replace(old, new) for word in words]
        return [*words, f"--kubeconfig={config or self.kubeconfig()}"]

    def run(self, config=None):
        """A webhook at an address that the API server does not know."""
        words = [*self.words(config=config), "--listen=127.0.0.1:0"]
        self.running.append(Running(self.folder, self.host, words))
        return self.running[-1]

    def begin(self, mode="native"):
        service = self.get(self.objects("services"))["spec"]
        address = f"{service['clusterIP']}:{service['ports'][0]['port']}"
        words = [*self.words(mode), f"--listen={address}"]
        self.one = Running(self.folder, self.host, words)
        return self.one

    def start(self, mode="native"):
        self.begin(mode).wait_until_ready()

    def stop(self):
        if self.one is not None:
            self.one.stop()
            self.one = None

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

    def kill(self):
        for each in [self.one, *self.running]:
            if each is not None:
                each.kill()
        self.one, self.running = None, []


ASKS = pod_of(GOLDEN / "pods/command.yaml")
BARE = pod_of(GOLDEN / "pods/bare.yaml")  # but for the label, by which a pod asks
del BARE["metadata"]["labels"]["lastcall.dev/inject"]


def has_lastcall(spec):
    return "lastcall" in [each["name"] for each in spec.get("initContainers", [])]
