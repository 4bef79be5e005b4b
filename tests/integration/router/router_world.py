"""A router as a process, in front of engines that a test plays or of real workers."""

import contextlib
import http.client
import json
import os
import resource
import signal
import socket
import subprocess

from ports import free_port
from raw_engine import Wire, ok, post
from serve_peer import PATIENCE, wait_until
from serve_world import BUILD, merged

ROUTER = os.path.abspath(os.path.join(BUILD, "router/lastcall-router"))
QUIET = {"load": {"interval": None}, "migration": {"by": "text"}}  # workers are asked nothing
BODY = b'{"model":"m"}'
QUICK = {**QUIET, "shutdown": {"late_accept": "100ms", "grace_period": "20s"}}


def command(*words, text=None, **environment):
    """The program, to its end, with `text` piped into it."""
    return subprocess.run(
        [ROUTER, *words], capture_output=True, text=True, timeout=PATIENCE, check=False,
        input=text, env={**os.environ, **environment},
    )  # fmt: skip


def static(*addresses, model="m"):
    return {"static": {"urls": [f"http://{each}" for each in addresses], "model": model}}


def asks(one, engine):
    """A request that this engine answers."""
    user = one.client()
    user.send(post(body=BODY))
    wire, _ = engine.request()
    wire.until(BODY)
    wire.send(ok(b"hello", "Connection: close"))
    user.until(b"hello")


class Router:
    def __init__(self, directory, workers, **config):
        self.port, self.operators_port = free_port(), free_port()
        self.directory = str(directory)
        self.config = merged(
            merged(QUICK, {
                "listen": f"127.0.0.1:{self.port}",
                "operators": f"127.0.0.1:{self.operators_port}",
                "workers": workers,
            }),
            config,
        )  # fmt: skip
        self.process = None
        self._log = open(self.path("router.log"), "wb", buffering=0)  # noqa: SIM115

    def path(self, name):
        return os.path.join(self.directory, name)

    def write_config(self):
        with open(self.path("router.yaml"), "w", encoding="utf-8") as file:
            json.dump(self.config, file)  # which is YAML too
        return self.path("router.yaml")

    def start(self, *under, **environment):
        """`under`: the words of a program that starts it."""
        self.process = subprocess.Popen(
            (*under, ROUTER, "--config", self.write_config()), stdin=subprocess.DEVNULL,
            stdout=self._log, stderr=self._log, start_new_session=True,
            env={**os.environ, **environment},
        )  # fmt: skip
        wait_until(lambda: "the router listens" in self.log(), "the router listens")
        return self

    def log(self):
        with open(self.path("router.log"), encoding="utf-8") as file:
            return file.read()

    def client(self):
        return Wire(socket.create_connection(("127.0.0.1", self.port)))

    def ask(self, method, path, body=None, **headers):
        """(status, headers, body) of one request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            text = json.dumps(body) if isinstance(body, dict) else body
            kind = {"Content-Type": "application/json"} if text else {}
            names = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, text, {**kind, **names})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def operator(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.operators_port, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def metric(self, name, **labels):
        """The sum of the family's series that have these labels."""
        total = 0.0
        for line in self.operator("/metrics")[1].splitlines():
            series, _, value = line.rpartition(" ")
            if series.partition("{")[0] == name and all(
                f'{label}="{text}"' in series for label, text in labels.items()
            ):
                total += float(value)
        return total

    def counts(self, name, number, **labels):
        """An answer is whole at its client a moment before it is counted."""
        wait_until(lambda: self.metric(name, **labels) == number, f"{name}{labels} is {number}")
        return True

    @contextlib.contextmanager
    def short_of_descriptors(self, free):
        """It can open no more than `free` others meanwhile."""
        process = self.process.pid
        used = {int(each) for each in os.listdir(f"/proc/{process}/fd")}
        least = min(set(range(len(used) + 1)) - used)
        before = resource.prlimit(process, resource.RLIMIT_NOFILE)
        resource.prlimit(process, resource.RLIMIT_NOFILE, (least + free, before[1]))
        try:
            yield
        finally:
            resource.prlimit(process, resource.RLIMIT_NOFILE, before)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=2 * PATIENCE)

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._log.close()
