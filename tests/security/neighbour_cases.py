"""Cases against what is not the ingress: answers of the engine, the webhook, the probe port.

They are of the same kind as those in pod_cases.py.
"""

import contextlib
import json
import os
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration")
sys.path += [os.path.join(TESTS, part) for part in ("", "serve", "registries")]

from certificates import Authority  # noqa: E402
from pod_cases import get, into, phase  # noqa: E402
from serve_peer import PATIENCE, wait_until  # noqa: E402
from serve_usage import anonymous  # noqa: E402
from webhook_process import GOLDEN, Webhook, pod_of  # noqa: E402

CASES = []
case = into(CASES)
GAUGES = b"vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n"
LONGEST_CPU = 5.0  # seconds, in a build with a sanitizer on a busy machine


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# --- 1: the answers of an engine, and reviews ----------------------------------------------------


class HostileEngine(BaseHTTPRequestHandler):
    """Healthy and idle, with a list of models or metrics that are too much."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        bodies = {"/metrics": self.server.metrics, "/v1/models": self.server.models}
        body = bodies.get(self.path, b"{}")
        self.send_response(200 if self.path in (*bodies, "/health") else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.server.asked.add(self.path)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def hostile_engine(models=b"{}", metrics=GAUGES):
    server = ThreadingHTTPServer(("127.0.0.1", 0), HostileEngine)
    server.models, server.metrics, server.asked = models, metrics, set()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def vllm(engine):
    return {"kind": "vllm", "url": f"http://127.0.0.1:{engine.server_port}"}


def nested():
    return b'{"data":' + b"[" * 400_000 + b"]" * 400_000 + b"}"


def wide():
    return json.dumps({**{str(i): 0 for i in range(60_000)}, "data": [{"id": "m"}]}).encode()


@case("1", "an engine's list of models that is 400 000 deep, or an object of 60 000 members")
def lists_of_models(stage):
    costs = []
    for models in (nested(), wide()):
        with hostile_engine(models) as engine:
            one = stage.serving(engine={**vllm(engine), "metrics": {"refresh": "200ms"}})
            pid = one.supervisor_pid()
            before = cpu_seconds(pid)
            one.operator().ask("drain", exit=False, timeout_ms=60_000)
            wait_until(lambda one=one: phase(one) == "drained", "the drain ends")
            assert "/v1/models" in engine.asked and one.get("/livez")[0] == 200
            assert one.supervisor_pid() == pid, "it was started again"
            costs.append(cpu_seconds(pid) - before)
    assert max(costs) < LONGEST_CPU, costs
    return f"read as no list, {max(costs):.1f} s of CPU in the whole drain"


def reviews():
    """What needs seconds or the stack to be made into objects, and what is as long as may be."""
    pod = pod_of(GOLDEN / "pods/bare.yaml")
    pod["metadata"]["annotations"] = {"lastcall.dev/config": "\n" * 250_000}
    return [
        nested(),
        json.dumps({str(i): 0 for i in range(300_000)}).encode(),
        b"[" + b"{}," * 1_300_000 + b"{}]",
        json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                    "request": {"uid": "1", "operation": "CREATE", "kind": {"kind": "Pod"},
                                "object": pod}}).encode(),
    ]  # fmt: skip


@case("1", "reviews of up to 4 MB that anybody posts to the webhook: deep, wide, of many values")
def anonymous_reviews(stage):
    folder = Path(stage.subfolder())
    webhook = Webhook(folder, Authority(stage.subfolder()))
    try:
        before = cpu_seconds(webhook.process.pid)
        statuses = [webhook.post(body)[0] for body in reviews()]
        cost = cpu_seconds(webhook.process.pid) - before
        assert statuses == [400, 400, 400, 200], statuses
        assert webhook.review(pod_of(GOLDEN / "pods/bare.yaml"))[0]["allowed"]
        assert webhook.probe("/livez")[0] == 200 and cost < LONGEST_CPU, cost
    finally:
        webhook.process.kill()
        webhook.process.wait()
    return f"400 400 400, {cost:.1f} s of CPU; the next review is answered"


@case("1", "a pod of whose configuration every line is wrong, posted to the webhook")
def a_pod_with_many_problems(stage):
    pod = pod_of(GOLDEN / "pods/bare.yaml")
    pod["metadata"]["annotations"] = {
        "lastcall.dev/config": "".join(f"k{i}:\n" for i in range(20_000))
    }
    webhook = Webhook(Path(stage.subfolder()), Authority(stage.subfolder()))
    try:
        response, _ = webhook.review(pod)
        reason = response["status"]["message"]
        [line] = webhook.lines("refused")
    finally:
        webhook.process.kill()
        webhook.process.wait()
    assert not response["allowed"] and len(reason) < 5_000 and len(line["reason"]) < 5_000
    return f"refused in {len(reason)} characters"


# --- 5: answers that nobody takes ----------------------------------------------------------------


def deaf(port, request):
    """A client that looks at the first byte of its answer and takes none."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(PATIENCE)
    connection.connect(("127.0.0.1", port))
    connection.sendall(request)
    with contextlib.suppress(ConnectionError):
        connection.recv(1, socket.MSG_PEEK)
    return connection


@case("5", "60 clients of the probe port that ask for 4 MB of the engine's metrics and take none")
def unread_answers(stage):
    metrics = GAUGES + b"# HELP a " + b"a" * 8_000 + b"\n"
    metrics += b'a{b="' + b"c" * 8_000 + b'"} 1\n'
    with hostile_engine(metrics=metrics * 250) as engine:
        one = stage.serving(engine=vllm(engine))
        pid = one.supervisor_pid()
        ask = b"GET /metrics/engine HTTP/1.1\r\nHost: h\r\n\r\n"
        deaf(one.port, ask).close()  # what one answer needs is there
        before = anonymous(pid)
        held = [deaf(one.port, ask) for _ in range(60)]
        grown = anonymous(pid) - before
        found = {path: get(one.port, path)[0] for path in ("/livez", "/readyz", "/metrics")}
        for each in held:
            each.close()
    assert set(found.values()) == {200}, found
    assert grown < 100_000, f"{grown} kB"
    return f"200 for each probe, at most {grown // 1000} MB more"
