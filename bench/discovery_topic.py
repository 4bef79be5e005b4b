"""How fast the routers know: from the stop signal to a watcher of etcd that sees the key gone."""

import base64
import contextlib
import http.client
import json
import shutil
import socket
import subprocess
import tempfile
import time

from bench import PATIENCE, await_that, need
from figures import NotMeasured, figure
from supervised import Run

TITLE = "discovery, with a real etcd"
PREFIX = "v1/instances/"
SETTLE = 0.05  # seconds after the key was seen


def _encode(text):
    return base64.b64encode(text.encode()).decode()


def _range(prefix):
    return {"key": _encode(prefix), "range_end": _encode(prefix[:-1] + chr(ord(prefix[-1]) + 1))}


class _Etcd:
    """One member, its data on tmpfs, and a watcher that blocks until a key is gone."""

    def __init__(self):
        need("etcd")
        self.folder = tempfile.mkdtemp(prefix="lastcall-bench-", dir="/dev/shm")
        with socket.socket() as one, socket.socket() as other:
            for each in (one, other):
                each.bind(("127.0.0.1", 0))
            self.port, peer_port = one.getsockname()[1], other.getsockname()[1]
        self.url, peer = (f"http://127.0.0.1:{port}" for port in (self.port, peer_port))
        self._process = subprocess.Popen(
            ["etcd", "--data-dir", self.folder, "--listen-client-urls", self.url,
             "--advertise-client-urls", self.url, "--listen-peer-urls", peer,
             "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        await_that(self._answers, "etcd")
        self._kept = self._connect()
        self._watch = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        self._watch.request("POST", "/v3/watch", json.dumps({"create_request": _range(PREFIX)}))
        self._events = self._watch.getresponse()
        self._events.readline()  # that it watches

    def _connect(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def _answers(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            self._kept = self._connect()
            return "kvs" not in self.ask("kv/range", **_range(PREFIX))
        return False

    def ask(self, path, **body):
        self._kept.request("POST", f"/v3/{path}", json.dumps(body))
        return json.loads(self._kept.getresponse().read())

    def await_event(self, kind):
        """The instant at which the watcher has read it."""
        while True:
            line = self._events.readline()
            seen = time.monotonic_ns()
            if not line:
                raise NotMeasured("the watch of etcd ended")
            events = json.loads(line)["result"].get("events", [])
            if kind in [event.get("type", "PUT") for event in events]:
                return seen

    def close(self):
        self._watch.close()
        self._kept.close()
        self._process.kill()
        self._process.wait(PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)


def _ours(bench, etcd):
    """Milliseconds until the key is gone, and those of phase 1."""
    further = (
        'identity: {advertise: "http://127.0.0.1:1"}\n'
        f'discovery: [{{etcd: {{endpoints: ["{etcd.url}"]}}}}]\n'
        "events: {}"
    )
    with Run(bench, further) as run:
        run.await_serving()
        etcd.await_event("PUT")
        peer = run.engine_peer()
        peer.ask({"op": "endpoint.register", "endpoint": "generate"})
        time.sleep(SETTLE)
        before = time.monotonic_ns()
        run.terminate()
        gone = etcd.await_event("DELETE")
        peer.await_op("cleanup")
        peer.send({"op": "cleanup.done"})
        run.ended()
        peer.close()
        log = (run.folder / "log").read_text().splitlines()
        [report] = [json.loads(line)["report"] for line in log if '"report":' in line]
        return (gone - before) / 1e6, report["phases"]["deregistering"]["ms"]


def _bare(etcd):
    """The same, as one delete by a connection that is open already."""
    key = PREFIX + "dynamo/backend/generate/1"
    lease = etcd.ask("lease/grant", TTL=60)["ID"]
    etcd.ask("kv/put", key=_encode(key), value=_encode("{}" * 100), lease=lease)
    etcd.await_event("PUT")
    time.sleep(SETTLE)
    before = time.monotonic_ns()
    etcd.ask("kv/deleterange", key=_encode(key))
    return (etcd.await_event("DELETE") - before) / 1e6


def key_gone(bench):
    with contextlib.closing(_Etcd()) as etcd:
        subjects = {"lastcall": lambda: _ours(bench, etcd), "call": lambda: _bare(etcd)}
        taken = bench.alternate(subjects)
    calls = sorted(taken["call"])
    middle = calls[len(calls) // 2]
    yield figure("TERM until the key is seen gone", "ms", [gone for gone, _ in taken["lastcall"]],
                 peers={"one call": middle}, bound=3 * middle)  # fmt: skip
    yield figure("phase 1, late_accept zero", "ms", [ms for _, ms in taken["lastcall"]])


MEASUREMENTS = [key_gone]
