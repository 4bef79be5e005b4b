"""Servers that never come to an answer, each at another step of being connected to."""

import contextlib
import os
import socket

import pytest

# Three more lookups of each name, as in a pod; 10 s each with what resolv.conf has by default.
RESOLV_CONF = "search a.test b.test c.test\noptions ndots:5\nnameserver {address}\n"


def loopback_address():
    """An address of this process alone, so that tests may run side by side."""
    pid = os.getpid()
    return f"127.{1 + (pid >> 16 & 0x7F)}.{pid >> 8 & 0xFF}.{1 + (pid & 0xFF) % 254}"


class SilentDns:
    """A name server that takes every question and answers none."""

    def __init__(self, directory):
        address = loopback_address()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind((address, 53))
        except PermissionError:
            pytest.skip("port 53 is not for this user")
        self.resolv_conf = os.path.join(str(directory), "resolv.conf")
        with open(self.resolv_conf, "w") as file:
            file.write(RESOLV_CONF.format(address=address))

    @property
    def mounted(self):
        """The mounts that a process's namespace needs, so that it asks here."""
        return f"mount --bind {self.resolv_conf} /etc/resolv.conf"

    def close(self):
        self._socket.close()


class Deaf:
    """A port whose queue of connections is full: what comes is dropped without a word."""

    def __init__(self, address="127.0.0.1", port=0):
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind((address, port))
        self._listener.listen(0)
        self.port = self._listener.getsockname()[1]
        self._queued = []
        for _ in range(8):
            one = socket.socket()
            one.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                one.connect((address, self.port))
            self._queued.append(one)

    def close(self):
        for one in (*self._queued, self._listener):
            one.close()


class Mute:
    """Accepts, and never sends anything: a TLS handshake hangs there."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]

    def close(self):
        self._listener.close()
