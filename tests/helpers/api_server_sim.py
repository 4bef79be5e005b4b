"""A small stand-in for a Kubernetes API server: EndpointSlices, one pod, events; over TLS.

It has what a pod's own lifecycle touches, and no more: list and watch of EndpointSlices in one or
both versions, patches of the pod and its status, created events, and a token that can be rotated.
"""

import contextlib
import http.server
import json
import threading
from urllib.parse import parse_qs, unquote, urlsplit

NAMESPACE, POD, UID = "models", "qwen-0", "5c1b1c6e-0000-4000-8000-000000000001"


def slice_of(name, ready, service="qwen", uid=UID, pod=POD):
    """An EndpointSlice with this pod in it; `ready` None leaves the condition out."""
    conditions = {} if ready is None else {"ready": ready}
    target = {"kind": "Pod", "namespace": NAMESPACE, "name": pod, "uid": uid}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": service}},
        "endpoints": [
            {"addresses": ["10.0.0.9"], "conditions": {"ready": True}},
            {"addresses": ["10.0.0.7"], "conditions": conditions, "targetRef": target},
        ],
    }


class ApiServer:
    def __init__(self, tls, token, versions=("v1", "v1beta1"), watch_limit=None, pages=True):
        self.token = token
        self.versions = versions
        self.watch_limit = watch_limit  # changes after which a watch is ended
        self.pages = pages  # or lists are whole, whatever limit is asked for
        self.pod = {"metadata": {"uid": UID, "labels": {}}, "status": {"conditions": []}}
        self.refusal = None  # of patches, in words
        self.refused_at = ""  # the end of the paths that are refused
        self.events = []
        self.requests = []  # (method, path)
        self._slices = {}
        self._history = []  # (version, type, slice)
        self._ends = 0  # of watches
        self.forgotten = 0  # a watch from before that version gets 410
        self._version = 100
        self._changed = threading.Condition()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.sim = self
        self._server.daemon_threads = True
        self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def put_slice(self, one):
        with self._changed:
            self._version += 1
            name = one["metadata"]["name"]
            kind = "MODIFIED" if name in self._slices else "ADDED"
            one["metadata"]["resourceVersion"] = str(self._version)
            self._slices[name] = one
            self._history.append((self._version, kind, json.dumps(one)))
            self._changed.notify_all()

    def delete_slice(self, name):
        with self._changed:
            self._version += 1
            one = self._slices.pop(name)
            one["metadata"]["resourceVersion"] = str(self._version)
            self._history.append((self._version, "DELETED", json.dumps(one)))
            self._changed.notify_all()

    def bookmark(self):
        """Notifies watches that everything was sent up to a version which nothing else has
        reported."""
        with self._changed:
            self._version += 10
            only = {"kind": "EndpointSlice", "metadata": {"resourceVersion": str(self._version)}}
            self._history.append((self._version, "BOOKMARK", json.dumps(only)))
            self._changed.notify_all()

    def end_watches(self):
        """Those that run now."""
        with self._changed:
            self._ends += 1
            self._changed.notify_all()

    def delete_pod(self, grace):
        self.pod["metadata"] |= {
            "deletionTimestamp": "2026-01-05T09:30:00Z", "deletionGracePeriodSeconds": grace
        }  # fmt: skip

    def remove_pod(self, successor=None):
        """As `kubectl delete --force` does; a StatefulSet then makes another of the same name."""
        for name in list(self._slices):
            self.delete_slice(name)
        self.pod = successor and {"metadata": {"uid": successor}, "status": {"conditions": []}}

    def condition(self, kind):
        return next((c for c in self.pod["status"]["conditions"] if c["type"] == kind), None)

    def close(self):
        self.end_watches()
        self._server.shutdown()
        self._server.server_close()

    # --- what a request may see and do ---

    def listed(self, selector, limit=0, token=""):
        found = self._all_listed(selector)
        begin = int(token.partition("/")[0] or 0)
        if limit and self.pages:
            if begin + limit < len(found["items"]):
                found["metadata"]["continue"] = f"{begin + limit}/of a=&b"  # opaque
            found["items"] = found["items"][begin : begin + limit]
        return found

    def _all_listed(self, selector):
        names = selector.partition(" in (")[2].rstrip(")").split(",") if selector else None
        with self._changed:
            items = [
                one
                for one in self._slices.values()
                if names is None or one["metadata"]["labels"]["kubernetes.io/service-name"] in names
            ]
            return {"metadata": {"resourceVersion": str(self._version)}, "items": list(items)}

    def changes(self, version, seconds=30):
        """Each change after that version, as it comes."""
        sent, ends = 0, self._ends
        if version < self.forgotten:
            yield json.dumps({"type": "ERROR", "object": {"kind": "Status", "code": 410}})
            return
        while self.watch_limit is None or sent < self.watch_limit:
            with self._changed:
                self._changed.wait_for(
                    lambda: self._version > version or self._ends > ends, seconds
                )
                new = [entry for entry in self._history if entry[0] > version]
            for version, kind, one in new:  # noqa: B007
                sent += 1
                yield json.dumps({"type": kind, "object": json.loads(one)})
            if not new:
                return

    def patch(self, path, patch):
        if self.refusal and path.endswith(self.refused_at):
            return 403, {"message": self.refusal}
        if self.pod is None:
            return 404, {"message": f'pods "{POD}" not found'}
        if patch.get("metadata", {}).get("uid", UID) != self.pod["metadata"]["uid"]:
            return 409, {"message": "the uid in the patch does not match"}
        with self._changed:
            for key, value in patch.get("metadata", {}).get("labels", {}).items():
                labels = self.pod["metadata"]["labels"]
                labels.pop(key, None)
                if value is not None:
                    labels[key] = value
            self.pod["metadata"].setdefault("annotations", {}).update(
                patch.get("metadata", {}).get("annotations", {})
            )
            for condition in patch.get("status", {}).get("conditions", []):
                conditions = self.pod["status"]["conditions"]
                conditions[:] = [c for c in conditions if c["type"] != condition["type"]]
                conditions.append(condition)
        return 200, self.pod


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def sim(self):
        return self.server.sim

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def body(self):
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def allowed(self):
        self.sim.requests.append((self.command, self.path))
        if self.headers.get("Authorization") == f"Bearer {self.sim.token}":
            return True
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(401, {"kind": "Status", "message": "Unauthorized"})
        return False

    def do_GET(self):  # noqa: N802
        if not self.allowed():
            return
        url = urlsplit(self.path)
        query = {key: value[0] for key, value in parse_qs(url.query).items()}
        known = [
            f"/apis/discovery.k8s.io/{version}/namespaces/{NAMESPACE}/endpointslices"
            for version in self.sim.versions
        ]
        if url.path == f"/api/v1/namespaces/{NAMESPACE}/pods/{POD}":
            self.answer(200 if self.sim.pod else 404, self.sim.pod or {})
        elif url.path not in known:
            self.answer(404, {"message": "the server could not find the resource"})
        elif query.get("watch"):
            self.watch(int(query["resourceVersion"]), min(30, int(query["timeoutSeconds"])))
        else:
            selector = unquote(query.get("labelSelector", ""))
            limit, token = int(query.get("limit", 0)), query.get("continue", "")
            with contextlib.suppress(OSError):  # of a client that has had enough
                self.answer(200, self.sim.listed(selector, limit, token))

    def watch(self, version, seconds):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in self.sim.changes(version, seconds):
            data = line.encode() + b"\n"
            half = len(data) // 2  # a line may come in pieces
            for piece in (data[:half], data[half:]):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def do_PATCH(self):  # noqa: N802
        if not self.allowed():
            return
        patch = self.body()
        pod = f"/api/v1/namespaces/{NAMESPACE}/pods/{POD}"
        kinds = {
            pod: "application/merge-patch+json",
            f"{pod}/status": "application/strategic-merge-patch+json",
        }
        if kinds.get(self.path) != self.headers["Content-Type"]:
            self.answer(415, {"message": "an unknown path or kind of patch"})
        else:
            self.answer(*self.sim.patch(self.path, patch))

    def do_POST(self):  # noqa: N802
        if not self.allowed():
            return
        self.sim.events.append(self.body())
        self.answer(201, {})

    def log_message(self, *_):
        pass
