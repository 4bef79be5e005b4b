"""A `lastcall webhook`, and reviews of pods as an API server would send them."""

import base64
import contextlib
import copy
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE / "serve"))
from serve_peer import wait_until  # noqa: E402

ROOT = HERE.parents[1]
BUILD = Path(os.environ.get("LASTCALL_BUILD_DIR", ROOT / "build/dev")).resolve()
LASTCALL = BUILD / "supervisor/cli/lastcall"
KUBE = BUILD / "supervisor/cli/lastcall-kube"
GOLDEN = ROOT / "tests/chart/golden"
PODS = sorted((GOLDEN / "pods").glob("*.yaml"))
NAME = "lastcall-injector.lastcall-system.svc"  # as the API server calls it
PATIENCE = 30


def log_lines(log, message):
    """The lines of a webhook's log that have this message."""
    found = []
    for line in log.read_text().splitlines():
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return [line for line in found if line["msg"] == message]


def value_of(exposition, series):
    [line] = [line for line in exposition.splitlines() if line.startswith(series + " ")]
    return float(line.split()[-1])


class Webhook:
    def __init__(self, folder, authority, *words, before=(), readable=False):
        self.folder, self.authority = folder, authority
        for name, made in zip(("tls.crt", "tls.key"), authority.sign("first", f"DNS:{NAME}"),
                              strict=True):  # fmt: skip
            shutil.copy(made, folder / name)
            if readable:
                os.chmod(folder / name, 0o644)
        self.log = folder / "log"
        self.process = subprocess.Popen(
            [*before, KUBE, "webhook", "--listen", "127.0.0.1:0", "--probes", "127.0.0.1:0",
             "--tls-cert", folder / "tls.crt", "--tls-key", folder / "tls.key", *map(str, words)],
            stderr=self.log.open("wb"),
        )  # fmt: skip
        wait_until(lambda: self.lines("listening"), "the ports", patience=PATIENCE)
        [line] = self.lines("listening")
        self.port, self.probes = (int(line[key].rsplit(":", 1)[1]) for key in ("address", "probes"))

    def lines(self, message):
        return log_lines(self.log, message)

    def connect(self, authority=None):
        context = (authority or self.authority).client_context()
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        return context.wrap_socket(raw, server_hostname=NAME)

    def post(self, body, path="/inject", method="POST"):
        connection = http.client.HTTPConnection("x", timeout=PATIENCE)
        connection.sock = self.connect()
        with contextlib.closing(connection):
            connection.request(method, path, body, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())

    def review(self, pod, **request):
        """The response of a review, and the pod that the API server would make with it."""
        asked = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                 "request": {"uid": "7c0f", "operation": "CREATE", "namespace": "models",
                             "kind": {"group": "", "version": "v1", "kind": "Pod"},
                             "object": pod, **request}}  # fmt: skip
        status, answer = self.post(json.dumps(asked))
        assert (status, answer["kind"], answer["apiVersion"]) == (
            200, "AdmissionReview", "admission.k8s.io/v1"
        )  # fmt: skip
        response = answer["response"]
        assert response["uid"] == "7c0f"
        if "patch" not in response:
            return response, pod
        assert response["allowed"] and response["patchType"] == "JSONPatch"
        return response, patched(pod, json.loads(base64.b64decode(response["patch"])))

    def probe(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.probes, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("GET", path)
            reply = connection.getresponse()
            return reply.status, reply.read().decode()

    def metric(self, series):
        return value_of(self.probe("/metrics")[1], series)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=PATIENCE)


def patched(document, operations):
    """RFC 6902, as far as an injection goes."""
    document = copy.deepcopy(document)
    for operation in operations:
        *way, last = [part.replace("~1", "/").replace("~0", "~")
                      for part in operation["path"].split("/")[1:]]  # fmt: skip
        at = document
        for part in way:
            at = at[int(part)] if isinstance(at, list) else at[part]
        if isinstance(at, list):
            assert operation["op"] == "add" and 0 <= int(last) <= len(at)
            at.insert(int(last), operation["value"])
        elif operation["op"] == "remove":
            del at[last]
        else:
            assert (operation["op"] == "replace") == (last in at)
            at[last] = operation["value"]
    return document


def pod_of(path, **metadata):
    pod = {"apiVersion": "v1", "kind": "Pod", **yaml.safe_load(path.read_text())}
    pod["metadata"].setdefault("labels", {})["lastcall.dev/inject"] = "true"
    pod["metadata"].update(metadata)
    return pod
