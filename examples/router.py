#!/usr/bin/env python3
"""A router that follows instances in etcd and passes HTTP requests on to them.

    python3 examples/router.py --etcd http://127.0.0.1:2379 --namespace dynamo --port 8100

Standard library only. It shows the three things that a router needs to lose no request while
workers come and go: (1) it watches the keys instead of asking now and then; (2) it takes a worker
out of the choice as soon as its key is gone, and lets what it has there run on; (3) what a worker
did not answer at all, or refused as retryable before the first byte, goes to another one.
"""

import argparse
import base64
import contextlib
import http.client
import http.server
import itertools
import json
import sys
import threading
import time
from urllib.parse import urlsplit

HOP_BY_HOP = {"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "host"}
# A request waits for a first worker for this time.
PATIENCE = 10.0


def encode(text):
    return base64.b64encode(text.encode()).decode()


def decode(text):
    return base64.b64decode(text).decode()


class Workers:
    """The workers that may be given requests, by key; the watcher writes, the requests read."""

    def __init__(self):
        self._urls = {}
        self._changed = threading.Condition()
        self._turn = itertools.count()

    def replace(self, urls):
        with self._changed:
            self._urls = dict(urls)
            self._changed.notify_all()

    def put(self, key, url):
        with self._changed:
            self._urls[key] = url
            self._changed.notify_all()

    def remove(self, key):
        with self._changed:
            self._urls.pop(key, None)

    def choose(self, tried, deadline):
        """One that was not tried yet, in turn; None when there is none by the deadline."""
        with self._changed:
            while True:
                left = sorted(set(self._urls.values()) - tried)
                if left:
                    return left[next(self._turn) % len(left)]
                wait = deadline - time.monotonic()
                if wait <= 0:
                    return None
                if tried and not self._changed.wait(min(wait, 0.2)):
                    tried.clear()  # no new worker: those that refused may be free again
                elif not tried:
                    self._changed.wait(wait)

    def urls(self):
        with self._changed:
            return sorted(self._urls.values())


class Watch(threading.Thread):
    """Keeps Workers as etcd has them: (1) lists once, then follows every change."""

    def __init__(self, etcd, prefix, workers):
        super().__init__(daemon=True)
        self.etcd, self.prefix, self.workers = urlsplit(etcd), prefix, workers

    def run(self):
        while True:
            with contextlib.suppress(OSError, ValueError, KeyError, http.client.HTTPException):
                self.follow(self.list())
            time.sleep(0.2)  # etcd is away: what was known goes on being used

    def ask(self, connection, path, **body):
        connection.request("POST", f"/v3/{path}", json.dumps(body))
        return connection.getresponse()

    def range(self):
        end = self.prefix[:-1] + chr(ord(self.prefix[-1]) + 1)
        return {"key": encode(self.prefix), "range_end": encode(end)}

    def connect(self, timeout):
        return http.client.HTTPConnection(self.etcd.hostname, self.etcd.port, timeout=timeout)

    def list(self):
        with contextlib.closing(self.connect(5)) as connection:
            answer = json.loads(self.ask(connection, "kv/range", **self.range()).read())
        self.workers.replace({decode(kv["key"]): self.url(kv) for kv in answer.get("kvs", [])})
        return int(answer["header"]["revision"])

    def follow(self, revision):
        create = {**self.range(), "start_revision": revision + 1, "progress_notify": True}
        # etcd sends something at least every ten minutes; silence for longer is a dead connection.
        with contextlib.closing(self.connect(900)) as connection:
            for line in iter(self.ask(connection, "watch", create_request=create).readline, b""):
                result = json.loads(line)["result"]
                if result.get("canceled"):
                    return  # compacted meanwhile: list again
                for event in result.get("events", []):
                    key = decode(event["kv"]["key"])
                    if event.get("type") == "DELETE":
                        self.workers.remove(key)  # (2)
                    else:
                        self.workers.put(key, self.url(event["kv"]))

    @staticmethod
    def url(kv):
        return json.loads(decode(kv["value"]))["transport"]["http"]


class Router(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    workers = None  # set by serve()

    def do_GET(self):  # noqa: N802
        if self.path == "/workers":
            self.reply(200, {"workers": self.workers.urls()})
        else:
            self.route()

    def do_POST(self):  # noqa: N802
        self.route()

    def route(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        deadline, tried = time.monotonic() + PATIENCE, set()
        while True:
            url = self.workers.choose(tried, deadline)
            if url is None:
                self.reply(503, {"error": {"message": "no worker"}})
                return
            tried.add(url)
            answer, connection = self.ask(url, body)
            if answer is not None:
                with contextlib.closing(connection):
                    self.relay(answer)
                return

    def ask(self, url, body):
        """(3) The answer that is to be passed on, or None: another worker may do better."""
        target = urlsplit(url)
        connection = http.client.HTTPConnection(target.hostname, target.port, timeout=600)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP_BY_HOP}
        try:
            connection.request(self.command, target.path + self.path, body, headers)
            answer = connection.getresponse()
        except (OSError, http.client.HTTPException):
            connection.close()
            return None, None
        if answer.status == 503 and answer.headers.get("X-Lastcall-Reason"):
            connection.close()
            return None, None
        return answer, connection

    def relay(self, answer):
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            if name.lower() not in HOP_BY_HOP | {"content-length", "date", "server"}:
                self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            while data := answer.read1(65536):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.write(b"0\r\n\r\n")
        except (OSError, http.client.HTTPException):
            # Cut in the middle: no final chunk, so that it cannot look finished.
            self.close_connection = True

    def reply(self, status, document):
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--etcd", default="http://127.0.0.1:2379")
    parser.add_argument("--namespace", default="dynamo")
    parser.add_argument("--component", default="backend")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8100)
    options = parser.parse_args()
    Router.workers = Workers()
    prefix = f"v1/instances/{options.namespace}/{options.component}/"
    Watch(options.etcd, prefix, Router.workers).start()
    server = Server((options.host, options.port), Router)
    print(f"routes on {options.host}:{server.server_address[1]}", file=sys.stderr, flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()


if __name__ == "__main__":
    main()
