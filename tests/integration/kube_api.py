"""API servers for tests of lastcall-kube: a small one of our own, and a real kube-apiserver.

Both have `put`, `change` (its status), `remove`, a kubeconfig, and the objects that a rollout has:
pods, Deployments, Events. The real one is started where its programs can be found: in the folder
that LASTCALL_KUBERNETES names, in build/kubernetes (tests/e2e/one_node.sh build), or on PATH.
"""

import contextlib
import copy
import http.client
import http.server
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
import uuid
from urllib.parse import parse_qs, urlsplit

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "serve"))
from serve_peer import wait_until  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
PATIENCE = 60
GROUPS = {"pods": "/api/v1", "events": "/api/v1", "deployments": "/apis/apps/v1"}


def kubeconfig(server, token="tok", space="models", **cluster):
    return {
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": space}}],
    }  # fmt: skip


# --- ours ----------------------------------------------------------------------------------------


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # head and body in one packet

    def answer(self, status, body, kind="application/json"):
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):  # noqa: N802
        api = self.server.api
        url = urlsplit(self.path)
        query = {key: value[0] for key, value in parse_qs(url.query).items()}
        if self.headers.get("Authorization") not in (f"Bearer {api.token}", None):
            return self.answer(401, {"kind": "Status", "message": "Unauthorized"})
        api.asked.append(self.path)
        parts = url.path.split("/namespaces/models/", 1)[-1].split("/")
        if len(parts) > 2 and parts[2] == "proxy":
            status, text = api.pages.get((parts[1], parts[3]), (404, "nothing there\n"))
            return self.answer(status, text, "text/plain")
        if len(parts) == 2:
            found = api.objects[parts[0]].get(parts[1])
            missing = {"message": f'"{parts[1]}" not found'}
            return self.answer(200 if found else 404, found or missing)
        if query.get("watch") and api.watch_refusal:
            api.refused += 1
            refusal = {"kind": "Status", "message": api.watch_refusal}
            return self.answer(403, json.dumps(refusal) + "\n")  # with its line end, as there
        if query.get("watch"):
            return self.watch(api, parts[0], query)
        self.answer(200, api.listed(parts[0], query))
        return api.lists.append(parts[0])

    def watch(self, api, plural, query):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        with contextlib.suppress(OSError):
            for change in api.changes(plural, query):
                data = (json.dumps(change) + "\n").encode()
                for piece in (data[: len(data) // 2], data[len(data) // 2 :]):
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.flush()
                api.sent.append(change["object"]["metadata"].get("name"))
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


def matches(thing, query):
    labels = thing["metadata"].get("labels", {})
    wanted = [term.split("=") for term in query.get("labelSelector", "").split(",") if term]
    fields = query.get("fieldSelector", "").removeprefix("involvedObject.uid=")
    return all(labels.get(key) == value for key, value in wanted) and (
        not fields or thing["involvedObject"]["uid"] == fields
    )


class OurApi:
    """What it forgets (`forget`) is too old for a watch, as after a compaction."""

    def __init__(self, folder, tls=None):
        self.token = "tok"
        self.objects = {plural: {} for plural in GROUPS}
        self.pages = {}  # (pod:port, path) -> (status, text)
        self.asked = []
        self.lists = []  # plurals that were listed
        self.sent = []  # names, of the watches' changes
        self.watch_refusal, self.refused = None, 0  # in words; how often
        self._history, self._version, self._oldest = [], 100, 0
        self._changed = threading.Condition()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.api, self._server.daemon_threads = self, True
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.config = folder / "kubeconfig"
        self.config.write_text(json.dumps(kubeconfig(self.url)))

    def _note(self, kind, plural, thing):
        with self._changed:
            self._version += 1
            thing["metadata"]["resourceVersion"] = str(self._version)
            self._history.append((self._version, kind, plural, copy.deepcopy(thing)))
            self._changed.notify_all()

    def put(self, plural, thing):
        thing["metadata"].setdefault("uid", str(uuid.uuid4()))
        self.objects[plural][thing["metadata"]["name"]] = thing
        self._note("ADDED", plural, thing)
        return thing

    def change(self, plural, name, status, **metadata):
        thing = self.objects[plural][name]
        thing["status"] = {**thing.get("status", {}), **status}
        thing["metadata"].update(metadata)
        self._note("MODIFIED", plural, thing)

    def mark_ending(self, name):
        self.change("pods", name, {}, deletionTimestamp="2026-01-05T09:30:00Z")

    def remove(self, plural, name):
        self._note("DELETED", plural, self.objects[plural].pop(name))

    def forget(self, name):
        """Removes a pod, and with it every change so far."""
        with self._changed:
            self.objects["pods"].pop(name)
            self._version += 1
            self._oldest = self._version
            self._changed.notify_all()

    def listed(self, plural, query):
        found = [each for each in self.objects[plural].values() if matches(each, query)]
        begin, limit = int(query.get("continue", 0)), int(query["limit"])
        metadata = {"resourceVersion": str(self._version)}
        if begin + limit < len(found):
            metadata["continue"] = str(begin + limit)
        return {"metadata": metadata, "items": found[begin : begin + limit]}

    def changes(self, plural, query):
        version = int(query["resourceVersion"])
        end = time.monotonic() + int(query["timeoutSeconds"])
        while (left := end - time.monotonic()) > 0:
            with self._changed:
                self._changed.wait_for(lambda: self._version > version, left)  # noqa: B023
                is_old = version < self._oldest
                new = [each for each in self._history if each[0] > version]
                version = self._version
            if is_old:
                yield {"type": "ERROR", "object": {"kind": "Status", "code": 410, "metadata": {}}}
                return
            for _, kind, which, thing in new:
                if which == plural and matches(thing, query):
                    yield {"type": kind, "object": thing}

    def close(self):
        self._server.shutdown()
        self._server.server_close()


# --- a real one ----------------------------------------------------------------------------------


def program(name):
    for folder in (os.environ.get("LASTCALL_KUBERNETES"), os.path.join(ROOT, "build/kubernetes")):
        if folder and os.access(os.path.join(folder, name), os.X_OK):
            return os.path.join(folder, name)
    return shutil.which(name)


def why_not_real():
    if not program("kube-apiserver"):
        return "no kube-apiserver: tests/e2e/one_node.sh build makes it"
    if not program("etcd"):
        return "no etcd"
    version = subprocess.run([program("etcd"), "--version"], capture_output=True, text=True,
                             timeout=20).stdout.split()[2]  # fmt: skip
    number = tuple(int(part) for part in version.split(".")[:2])
    return "" if number >= (3, 5) else f"no etcd of 3.5 or newer: {version}"


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class RealApi:
    """Without a kubelet: the test writes what one would."""

    def __init__(self, folder, services="10.96.0.0/24"):
        self.folder = folder
        client, peer, port = free_ports(3)
        (folder / "tokens.csv").write_text('tok,admin,1,"system:masters"\n')
        subprocess.run(["openssl", "genrsa", "-out", folder / "sa.key", "2048"], check=True,
                       capture_output=True, timeout=60)  # fmt: skip
        self._processes = [
            self._start("etcd", "--data-dir", folder / "etcd", "--unsafe-no-fsync",
                        "--listen-client-urls", f"http://127.0.0.1:{client}",
                        "--advertise-client-urls", f"http://127.0.0.1:{client}",
                        "--listen-peer-urls", f"http://127.0.0.1:{peer}"),
            self._start("kube-apiserver", f"--etcd-servers=http://127.0.0.1:{client}",
                        f"--secure-port={port}", "--bind-address=127.0.0.1",
                        "--advertise-address=127.0.0.1", f"--cert-dir={folder}",
                        f"--token-auth-file={folder}/tokens.csv", "--authorization-mode=RBAC",
                        f"--service-cluster-ip-range={services}",
                        "--service-account-issuer=https://k",
                        f"--service-account-key-file={folder}/sa.key",
                        f"--service-account-signing-key-file={folder}/sa.key",
                        "--disable-admission-plugins=ServiceAccount",
                        "--endpoint-reconciler-type=none"),
        ]  # fmt: skip
        self.port = port
        self.config = folder / "kubeconfig"
        self.config.write_text(json.dumps(kubeconfig(
            f"https://127.0.0.1:{port}", **{"insecure-skip-tls-verify": True}
        )))  # fmt: skip
        try:
            self._wait()
            self._ask("POST", "/api/v1/namespaces", {"metadata": {"name": "models"}})
        except BaseException:
            self.close()
            raise

    def _start(self, name, *words):
        log = open(self.folder / f"{name}.log", "w")
        return subprocess.Popen([program(name), *map(str, words)], stdout=log, stderr=log)

    def _ask(self, method, path, body=None, kind="application/json"):
        status, text = self.ask(method, path, body, kind)
        assert status < 300, (method, path, text)
        return json.loads(text) if text.startswith(b"{") else text

    def ask(self, method, path, body=None, kind="application/json"):
        """The status and the body of its answer."""
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=20,
                                                 context=context)  # fmt: skip
        with contextlib.closing(connection):
            connection.request(method, path, json.dumps(body) if body is not None else None,
                               {"Authorization": "Bearer tok", "Content-Type": kind})  # fmt: skip
            answer = connection.getresponse()
            return answer.status, answer.read()

    def _wait(self):
        wait_until(self._is_ready, "a kube-apiserver", pause=0.1, patience=3 * PATIENCE)

    def _is_ready(self):
        with contextlib.suppress(OSError, AssertionError, http.client.HTTPException):
            return self._ask("GET", "/readyz")

    def _path(self, plural, name="", part=""):
        path = f"{GROUPS[plural]}/namespaces/models/{plural}"
        return path + (f"/{name}" if name else "") + part

    def put(self, plural, thing):
        """With its status, which creating it leaves out."""
        made = self._ask("POST", self._path(plural), {**thing, "status": None})
        if plural != "events" and thing.get("status"):
            self.change(plural, thing["metadata"]["name"], thing["status"])
        return made

    def change(self, plural, name, status, **metadata):
        assert not metadata
        self._ask("PATCH", self._path(plural, name, "/status"), {"status": status},
                  "application/merge-patch+json")  # fmt: skip

    def mark_ending(self, name):
        """As `kubectl delete` does: a pod that has a node is there until its kubelet reports."""
        self._ask("DELETE", self._path("pods", name), {"gracePeriodSeconds": 30})

    def remove(self, plural, name):
        self._ask("DELETE", self._path(plural, name), {"gracePeriodSeconds": 0})

    def close(self):
        for process in reversed(self._processes):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder / "etcd", ignore_errors=True)  # over 120 MB
