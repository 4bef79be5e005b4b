"""The chart, installed with Helm on the cluster that KUBECONFIG names, in a namespace of its own.

Threads: one test. Pods are asked through an agent that runs in a pod of the namespace, so that any
cluster will do.
"""

import json
import os
import subprocess
import tempfile
import uuid

import yaml
from client import Client, wait_until

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
CHART = os.path.join(ROOT, "charts/lastcall")
TAG = os.environ.get("LASTCALL_E2E_TAG", "e2e")
KUBECTL = os.environ.get("KUBECTL", "kubectl")
HELM = os.environ.get("HELM", "helm")
SIM = ["python3", "/opt/sim/tests/helpers/engine_sim.py", "--host", "0.0.0.0", "--port", "8000",
       "--sdk"]  # fmt: skip
IMAGES = {
    "image": {"repository": "localhost/lastcall", "tag": TAG},
    "shimImage": {"repository": "localhost/lastcall-shim", "tag": TAG},
    "engine": {"image": {"repository": "localhost/lastcall-e2e", "tag": TAG}},
    "router": {"image": {"repository": "localhost/lastcall-router", "tag": TAG}},
}
VALUES = {
    **IMAGES,
    "mode": os.environ.get("LASTCALL_E2E_MODE", "auto"),
    "dnsPolicy": "Default",
    "config": {
        "shutdown": {"grace_period": "30s", "late_accept": "3s", "cleanup_reserve": "4s"},
        "health": {
            "checks": [
                {"name": "engine", "http": {"url": "http://127.0.0.1:8000/health"},
                 "timeout": "1s"}
            ]
        },
    },
}  # fmt: skip
# Finds the agent's own process without any tool in the image.
FIND_SERVE = (
    "for p in /proc/[0-9]*; do read -r name <$p/comm; "
    "if [ \"$name\" = lastcall ]; then kill -{signal} ${{p#/proc/}}; fi; done"
)


def merged(base, extra):
    result = dict(base)
    for key, value in extra.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


def call(*words, check=True, patience=180, text=None):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=patience,
                          input=text)  # fmt: skip
    assert not check or done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


class Watch:
    """Every state that a pod was seen in, its last one included, which is gone with the pod."""

    def __init__(self, command):
        self._file = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(command, stdout=self._file, stderr=subprocess.DEVNULL)

    def text(self):
        self._file.flush()
        return os.pread(self._file.fileno(), 1 << 26, 0).decode("utf-8", "replace")

    def states(self):
        decoder, text, found = json.JSONDecoder(), self.text().lstrip(), []
        while text:
            try:
                state, end = decoder.raw_decode(text)
            except ValueError:
                break
            found.append(state)
            text = text[end:].lstrip()
        return found

    def close(self):
        self._process.kill()
        self._process.wait()
        self._file.close()


class Release:
    """`example` is a file of the chart's values, of which only the images are replaced; without
    one it is the simulated engine with `engine_options`."""

    engines = "app.kubernetes.io/instance=x,app.kubernetes.io/name=lastcall"  # and no routers
    service = "x-lastcall"

    def __init__(self, engine_options=(), example=None, **values):
        self.namespace = f"lc-{uuid.uuid4().hex[:8]}"
        self.files = ["-f", os.path.join(CHART, "examples", example)] if example else []
        simulated = merged(VALUES, {"engine": {"command": [*SIM, *engine_options]}})
        self.values = merged(IMAGES if example else simulated, values)
        self.watches = []
        self._slices = None
        self.client = None
        self.kubectl("create", "namespace", self.namespace, scoped=False)

    def kubectl(self, *words, scoped=True, **options):
        where = ["-n", self.namespace] if scoped else []
        return call(KUBECTL, *where, *words, **options)

    def install(self, **values):
        """Installs or upgrades, and waits until every replica is ready."""
        self.values = merged(self.values, values)
        call(HELM, "upgrade", "--install", "x", CHART, "-n", self.namespace, *self.files, "-f", "-",
             "--wait", "--timeout", "170s", text=yaml.safe_dump(self.values))  # fmt: skip
        if self.client is None:
            self._start_client()
        return self

    def _start_client(self):
        pod = {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "client"},
            "spec": {
                "terminationGracePeriodSeconds": 0, "dnsPolicy": "Default",
                "automountServiceAccountToken": False,
                "containers": [{"name": "agent", "image": f"localhost/lastcall-e2e:{TAG}",
                                "command": ["sleep", "infinity"]}],
            },
        }  # fmt: skip
        self.kubectl("apply", "-f", "-", text=json.dumps(pod))
        self.kubectl("wait", "--for=condition=Ready", "pod/client", "--timeout=60s")
        self.client = Client([KUBECTL, "-n", self.namespace, "exec", "-i", "client", "--",
                              "python3", "/opt/sim/agent.py"])  # fmt: skip

    # --- looking

    def pods(self):
        """The engine's pods, without those that are being deleted."""
        found = json.loads(
            self.kubectl("get", "pods", "-l", self.engines, "-o", "json")
        )["items"]
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def names(self):
        """The names of the engine's pods, those on their way included."""
        found = self.kubectl("get", "pods", "-l", self.engines, "-o", "name")
        return {name.removeprefix("pod/") for name in found.split()}

    def pod(self):
        [pod] = self.pods()
        return pod

    def container(self, name, pod=None):
        """Status of a container."""
        status = (pod or self.pod())["status"]
        both = status.get("initContainerStatuses", []) + status.get("containerStatuses", [])
        [found] = [each for each in both if each["name"] == name]
        return found

    def url(self, path, port=8000, pod=None):
        return f"http://{(pod or self.pod())['status']['podIP']}:{port}{path}"

    def router(self):
        """The base URL of the router's Service."""
        address = self.kubectl("get", "service", "x-lastcall-router", "-o",
                               "jsonpath={.spec.clusterIP}")  # fmt: skip
        return f"http://{address}"

    def targets(self):
        """Base URLs of the endpoints that a kube-proxy would send new connections to, watched;
        those of the engines' Service alone, since a webhook in the namespace has one, too."""
        if self._slices is None:
            self._slices = Watch([KUBECTL, "-n", self.namespace, "get", "endpointslices", "-w",
                                  "-l", f"kubernetes.io/service-name={self.service}",
                                  "-o", "json"])  # fmt: skip
            self.watches.append(self._slices)
        slices = {each["metadata"]["name"]: each for each in self._slices.states()}
        return [
            f"http://{address}:8000"
            for each in slices.values()
            for endpoint in each["endpoints"] or []
            if endpoint["conditions"].get("ready") is True
            for address in endpoint["addresses"]
        ]

    def watch(self, name):
        """States of a pod, and its supervisor's log, from now to its end."""
        prefix = [KUBECTL, "-n", self.namespace]
        states = Watch([*prefix, "get", "pod", name, "-w", "-o", "json"])
        log = Watch([*prefix, "logs", "-f", name, "-c", "lastcall"])
        self.watches += [states, log]
        wait_until(lambda: states.states() and log.text(), f"a state and a log of {name}")
        return states, log

    # --- doing

    def stream(self, **body):
        return self.client.stream(self.url("/v1/chat/completions"), **body)

    def control(self, **settings):
        return self.client.post(self.url("/sim/control"), settings)

    def phase(self, pod):
        """Nothing while the supervisor cannot answer."""
        text = self.kubectl("exec", pod, "-c", "lastcall", "--", "lastcall", "status", "-o", "json",
                            check=False)  # fmt: skip
        return json.loads(text)["phase"] if text else None

    def drain_node(self, node, seconds):
        """Evicts the pods with the label `e2e` of this namespace: other tests have pods there too.
        Then the node may have pods again."""
        try:
            self.kubectl("drain", node, f"--pod-selector=e2e={self.namespace}", "--force",
                         "--delete-emptydir-data", "--ignore-daemonsets", f"--timeout={seconds}s",
                         scoped=False)  # fmt: skip
        finally:
            self.kubectl("uncordon", node, scoped=False)

    def signal_supervisor(self, signal, pod):
        """To `lastcall serve` itself, below the init of its container."""
        self.kubectl("exec", pod, "-c", "lastcall", "--", "sh", "-c",
                     FIND_SERVE.format(signal=signal), check=False)  # fmt: skip

    def close(self):
        for watch in self.watches:
            watch.close()
        if self.client is not None:
            self.client.close()
        call(HELM, "uninstall", "x", "-n", self.namespace, check=False)
        self.kubectl("delete", "namespace", self.namespace, "--wait=false", scoped=False,
                     check=False)  # fmt: skip


def reports_in(text):
    """Drain reports in a supervisor's log."""
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [line["report"] for line in lines if "report" in line]


def gone(release, name):
    """Old kubelets may leave a pod whose containers have ended for a minute."""
    wait_until(
        lambda: not release.kubectl("get", "pod", name, "--ignore-not-found"), f"{name} is gone",
        patience=120,
    )  # fmt: skip


def revived(release, name):
    """PID 1 of the supervisor's container has started `serve` again: the container goes on."""
    wait_until(lambda: "starting it again" in release.kubectl("logs", name, "-c", "lastcall"),
               "the next life of the supervisor")  # fmt: skip
    assert release.container("lastcall")["restartCount"] == 0


def last_exit(states, name):
    """Exit code of a container in the last state of its pod that has one.

    Nothing: the kubelet removed the pod without reporting it, as old ones do. The report has it
    too.
    """
    for state in reversed(states.states()):
        for each in state["status"].get("containerStatuses", []):
            if each["name"] == name and "terminated" in each["state"]:
                return each["state"]["terminated"]["exitCode"]
    return None
