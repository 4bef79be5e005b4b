"""Streams that stay open: the benchmark is their clients and, behind the proxy, their engine.

An event goes out when every client has the one before, so that none are merged on their way.
"""

import socket

import processes
from figures import NotMeasured

PATIENCE = 20


def processor_seconds(pid):
    return sum(processes.processor_seconds(one) for one in processes.with_children(pid))


class OpenStreams:
    def __init__(self, listener, port, count, request, connect=socket.create_connection):
        self.users, self.inner = [], []
        for _ in range(count):
            user = connect(("127.0.0.1", port))
            user.settimeout(PATIENCE)
            user.sendall(request)
            self.users.append(user)
            self.inner.append(next_stream(listener, request[-1:]))

    def send(self, data):
        """From each engine's end; it is with each client when that has what it ends with."""
        for connection in self.inner:
            connection.sendall(data)
        for user in self.users:
            _read_until(user, data[-4:])

    def close(self):
        for one in self.users + self.inner:
            one.close()


def next_stream(listener, end):
    """A proxy that asks the engine for its metrics in between is not answered."""
    while True:
        connection, _ = listener.accept()
        connection.settimeout(PATIENCE)
        got = connection.recv(65536)
        if not got.startswith(b"GET /metrics "):
            _read_until(connection, end, got)
            return connection
        connection.close()


def _read_until(connection, end, got=b""):
    while not got.endswith(end):
        data = connection.recv(65536)
        if not data:
            raise NotMeasured("a stream ended early")
        got = got[-4:] + data


def cost(listener, at, streams, first, event, events):
    """(microseconds of processor time an event, kB a stream); `streams`: makes them at a port."""
    pid, port = at
    memory = processes.memory(pid)["Private_Dirty"]
    opened = streams(listener, port)
    opened.send(first)
    before = processor_seconds(pid)
    for _ in range(events):
        opened.send(event)
    count = len(opened.users)
    taken = (processor_seconds(pid) - before) * 1e6 / count / events
    held = (processes.memory(pid)["Private_Dirty"] - memory) / count
    opened.close()
    return taken, held
