"""A real nats-server, and a subscriber that speaks the protocol by hand."""

import contextlib
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time

from ports import free_port
from serve_peer import wait_until

NATS = shutil.which("nats-server") or "/usr/sbin/nats-server"


class Nats:
    def __init__(self, directory, config="", tls=None):
        self.directory, self.tls = directory, tls
        self.port = free_port()
        self.config = os.path.join(directory, "nats.conf")
        with open(self.config, "w") as file:
            file.write(config)
        self.process = None
        self.start()

    @property
    def url(self):
        return f"{'tls' if self.tls else 'nats'}://127.0.0.1:{self.port}"

    def start(self):
        with open(os.path.join(self.directory, "log"), "ab") as log:
            self.process = subprocess.Popen(
                (NATS, "-a", "127.0.0.1", "-p", str(self.port), "-c", self.config),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        wait_until(self._listens, "nats-server listens")

    def _listens(self):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            return True
        return False

    def refusals(self):
        """How often a client's name or password was wrong."""
        with open(os.path.join(self.directory, "log")) as file:
            return file.read().count("authentication error")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.kill()


class Subscriber:
    """Every message of one subject, parsed, in order; with the time it was seen."""

    def __init__(self, server, subject="lastcall.events", **login):
        self.messages, self.seen_at = [], []
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=120)
        self._file = self._socket.makefile("rb")
        assert self._file.readline().startswith(b"INFO")
        if server.tls:
            self._socket = server.tls.wrap_socket(self._socket, server_hostname="127.0.0.1")
            self._file = self._socket.makefile("rb")
        connect = json.dumps({"verbose": False, "pedantic": False, **login})
        self._socket.sendall(f"CONNECT {connect}\r\nSUB {subject} 1\r\nPING\r\n".encode())
        line = self._file.readline()
        while not line.startswith(b"PONG"):
            assert line, "the server ended the connection"
            line = self._file.readline()
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self):
        with contextlib.suppress(OSError, ValueError, ssl.SSLError):
            for line in iter(self._file.readline, b""):
                if line.startswith(b"PING"):
                    self._socket.sendall(b"PONG\r\n")
                elif line.startswith(b"MSG"):
                    body = self._file.read(int(line.split()[-1]) + 2)
                    self.seen_at.append(time.monotonic())
                    self.messages.append(json.loads(body))

    def of(self, event):
        return [message for message in self.messages if message["event"] == event]

    def wait_for(self, event, **fields):
        def matching():
            return next(
                (m for m in self.of(event) if all(m.get(k) == v for k, v in fields.items())), None
            )

        return wait_until(matching, f"event {event} {fields}")

    def close(self):
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
