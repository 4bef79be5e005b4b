"""A real etcd, with one member or several, and a client of its JSON gateway."""

import base64
import contextlib
import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import threading
import time

from ports import free_port
from serve_peer import wait_until

ETCD = shutil.which("etcd") or "/usr/bin/etcd"
# Prefixes of keys: everything that a supervisor may write.
INSTANCES = "v1/instances/"
PASSWORD = "correct-horse-1234"  # of the user `worker`, once it is guarded


def _is_stopped(pid):
    states = set()
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/stat", encoding="latin-1") as file:
            states.add(file.read().rpartition(")")[2].split()[0])
    return states == {"T"}


def encode(text):
    return base64.b64encode(text.encode()).decode()


def decode(text):
    return base64.b64decode(text).decode()


class Gateway:
    """Asks one member, on one kept connection."""

    def __init__(self, port, tls=None, token=None):
        self.tls, self.token = tls, token
        kind = http.client.HTTPSConnection if tls else http.client.HTTPConnection
        self.connection = kind("127.0.0.1", port, timeout=20, **({"context": tls} if tls else {}))

    def ask(self, path, **body):
        headers = {"Authorization": self.token} if self.token else {}
        self.connection.request("POST", f"/v3/{path}", json.dumps(body), headers)
        response = self.connection.getresponse()
        answer = json.loads(response.read())
        if response.status != 200:
            raise GatewayError(answer)
        return answer

    def keys(self, prefix=INSTANCES):
        """What is below the prefix: {key: (value, lease)}."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        found = self.ask("kv/range", key=encode(prefix), range_end=encode(end)).get("kvs", [])
        return {
            decode(kv["key"]): (decode(kv.get("value", "")), int(kv.get("lease", 0)))
            for kv in found
        }

    def put(self, key, value, **more):
        return self.ask("kv/put", key=encode(key), value=encode(value), **more)

    def delete(self, key):
        return self.ask("kv/deleterange", key=encode(key))

    def leases(self):
        return {int(lease["ID"]) for lease in self.ask("lease/leases").get("leases", [])}

    def close(self):
        self.connection.close()


class GatewayError(Exception):
    pass


class Watcher:
    """Sees every change below the prefix, each with the time at which it was seen."""

    def __init__(self, port, prefix=INSTANCES):
        self.events = []
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        create = {"key": encode(prefix), "range_end": encode(end)}
        self._connection.request("POST", "/v3/watch", json.dumps({"create_request": create}))
        self._response = self._connection.getresponse()
        assert json.loads(self._response.readline())["result"]["created"]
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self):
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException, AttributeError):
            for line in iter(self._response.readline, b""):
                seen = time.monotonic()
                for event in json.loads(line)["result"].get("events", []):
                    kind = event.get("type", "PUT")
                    self.events.append((kind, decode(event["kv"]["key"]), seen))

    def wait_for(self, kind, count=1):
        def of_kind():
            return [event for event in self.events if event[0] == kind]

        return wait_until(
            lambda: of_kind() if len(of_kind()) >= count else None, f"{count} {kind} seen"
        )[count - 1]

    def close(self):
        with contextlib.suppress(OSError):
            self._connection.sock.shutdown(2)
        self._connection.close()


class Member:
    def __init__(self, name, directory, flags):
        self.name = name
        self.port, self.peer_port = free_port(), free_port()
        self.directory = directory
        self.flags = flags
        self.process = None

    def start(self, cluster, state="new", scheme="http"):
        url = f"{scheme}://127.0.0.1:{self.port}"
        peer = f"http://127.0.0.1:{self.peer_port}"
        with open(os.path.join(self.directory, f"{self.name}.log"), "ab") as log:
            self.process = subprocess.Popen(
                (ETCD, "--name", self.name, "--data-dir", os.path.join(self.directory, self.name),
                 "--listen-client-urls", url, "--advertise-client-urls", url,
                 "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                 "--initial-cluster", cluster, "--initial-cluster-state", state,
                 "--unsafe-no-fsync", "--logger", "zap", *self.flags),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory,
            )  # fmt: skip


class Etcd:
    def __init__(self, directory, members=1, flags=(), tls=None):
        self.directory, self.tls = directory, tls
        self.members = [Member(f"m{i}", directory, flags) for i in range(members)]
        self.cluster = ",".join(
            f"{member.name}=http://127.0.0.1:{member.peer_port}" for member in self.members
        )
        self.start()

    @property
    def scheme(self):
        return "https" if self.tls else "http"

    @property
    def port(self):
        return self.members[0].port

    @property
    def urls(self):
        return [f"{self.scheme}://127.0.0.1:{member.port}" for member in self.members]

    def start(self, forget=False):
        """Every member, with the data it had or without."""
        for member in self.members:
            if forget:
                shutil.rmtree(os.path.join(self.directory, member.name))
            member.start(self.cluster, scheme=self.scheme)
        for member in self.members:
            wait_until(lambda port=member.port: self._answers(port), "etcd answers", patience=60)

    def _answers(self, port):
        try:
            with contextlib.closing(Gateway(port, self.tls)) as gateway:
                gateway.ask("kv/range", key=encode("x"))
                return True
        except GatewayError:
            return True
        except (OSError, ValueError, http.client.HTTPException, ssl.SSLError):
            return False

    def gateway(self, index=0, token=None):
        return Gateway(self.members[index].port, self.tls, token)

    def keys(self):
        with contextlib.closing(self.gateway()) as gateway:
            return gateway.keys()

    def leases(self):
        with contextlib.closing(self.gateway()) as gateway:
            return gateway.leases()

    def wait_for_key(self):
        return wait_until(self.keys, "a key in etcd", patience=60)

    def watch(self):
        return Watcher(self.port)

    def leader(self):
        """The member that leads, by its own report."""
        for member in self.members:
            with contextlib.suppress(OSError), contextlib.closing(Gateway(member.port)) as gateway:
                status = gateway.ask("maintenance/status")
                if status.get("leader") == status["header"]["member_id"]:
                    return member
        return None

    def signal(self, number, member=None):
        for one in [member] if member else self.members:
            one.process.send_signal(number)
            if number == signal.SIGSTOP:  # it takes a moment, in which requests are answered
                wait_until(lambda one=one: _is_stopped(one.process.pid), "every thread is stopped")

    def kill(self, member=None):
        for one in [member] if member else self.members:
            one.process.kill()
            one.process.wait()

    def close(self):
        """Ends every member; its log stays, but not its data, which is over 120 MB."""
        for member in self.members:
            if member.process.poll() is None:
                member.process.send_signal(signal.SIGCONT)
                member.process.kill()
                member.process.wait()
            shutil.rmtree(os.path.join(self.directory, member.name), ignore_errors=True)


def guard(etcd):
    """Users and passwords from now on."""
    gateway = etcd.gateway()
    gateway.ask("auth/user/add", name="root", password="root")
    gateway.ask("auth/user/grant", user="root", role="root")
    gateway.ask("auth/user/add", name="worker", password=PASSWORD)
    gateway.ask("auth/role/add", name="instances")
    every = {"key": "djEv", "range_end": "djEw"}  # v1/ to v10
    gateway.ask("auth/role/grant", name="instances", perm={"permType": "READWRITE", **every})
    gateway.ask("auth/user/grant", user="worker", role="instances")
    gateway.ask("auth/enable")
    gateway.close()
    return wait_until(lambda: login(etcd, "root", "root"))


def login(etcd, name, password):
    gateway = etcd.gateway()
    try:
        return gateway.ask("auth/authenticate", name=name, password=password)["token"]
    finally:
        gateway.close()
