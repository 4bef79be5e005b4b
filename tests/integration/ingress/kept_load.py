"""Users that keep their connections to whatever replica a service names, as HTTP clients do."""

import json
import random
import select
import socket
import threading
import time

PATIENCE = 60


class Lost(Exception):
    """A request was sent and has no answer, and its connection gave no reason to ask again."""


class Service:
    """The replicas that are ready; a client with a connection keeps it, as behind a Service's
    address."""

    def __init__(self):
        self._ready, self._next, self._lock = [], 0, threading.Lock()

    def set_ready(self, ports):
        with self._lock:
            self._ready = list(ports)

    def connect(self):
        with self._lock:
            self._next += 1
            port = self._ready[self._next % len(self._ready)]
        return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)


class Answer:
    def __init__(self, head, body):
        self.status = int(head.split(b" ", 2)[1])
        self.closes = b"\r\nconnection: close\r\n" in head.lower() + b"\r\n"
        self.is_draining = self.status == 503 and b'"type":"draining"' in body


class Kept:
    """One connection of a user, and the requests that were sent on it."""

    def __init__(self, connection):
        self.socket, self.buffer = connection, b""

    def is_over(self):
        """The check that any pool makes before it uses a connection again."""
        return bool(select.select([self.socket], [], [], 0)[0])

    def send(self, count):
        body = json.dumps({"model": "sim", "prompt": "x", "max_tokens": 2}).encode()
        head = b"POST /v1/completions HTTP/1.1\r\nHost: s\r\nContent-Length: %d\r\n\r\n" % len(body)
        self.socket.sendall((head + body) * count)

    def answer(self):
        """Nothing when the connection has ended in order before its first byte."""
        while b"\r\n\r\n" not in self.buffer:
            if not self.more():
                if self.buffer:
                    raise Lost(f"a part of a head: {self.buffer!r}")
                return None
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        size = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        while len(self.buffer) < size:
            if not self.more():
                raise Lost(f"{len(self.buffer)} of {size} bytes")
        body, self.buffer = self.buffer[:size], self.buffer[size:]
        return Answer(head, body)

    def more(self):
        data = self.socket.recv(65536)
        self.buffer += data
        return bool(data)


class User(threading.Thread):
    """Asks until it has to end. `batch` requests are sent at once, each `pause()` apart."""

    def __init__(self, service, batch=1, pause=lambda: 0.0):
        super().__init__()
        self.service, self.batch, self.pause = service, batch, pause
        self.served, self.refused, self.lost = 0, 0, []
        self.ends = threading.Event()
        self.start()

    def run(self):
        while not self.ends.is_set():
            connection = self.service.connect()
            try:
                with connection:
                    self.use(Kept(connection))
            except (Lost, OSError) as error:
                self.lost.append(repr(error))

    def use(self, kept):
        """Until the connection is to be closed."""
        while not self.ends.is_set():
            if self.ends.wait(self.pause()) or kept.is_over():
                return
            kept.send(self.batch)
            for _ in range(self.batch):
                answer = kept.answer()
                if answer is None:
                    raise Lost("an end without an answer")
                if answer.status == 200:
                    self.served += 1
                elif answer.is_draining:
                    self.refused += 1  # to be sent again, elsewhere
                else:
                    raise Lost(f"status {answer.status}")
                if answer.closes:
                    return  # what was sent after it is sent again: RFC 9112, 9.6


def users(service, busy=4, idle=6, pipelined=2, seed=1):
    draw = random.Random(seed)
    return [
        *[User(service) for _ in range(busy)],
        *[User(service, pause=lambda: draw.uniform(0.05, 0.9)) for _ in range(idle)],
        *[User(service, batch=3) for _ in range(pipelined)],
    ]


def end(everybody):
    for user in everybody:
        user.ends.set()
    limit = time.monotonic() + PATIENCE
    for user in everybody:
        user.join(limit - time.monotonic())
        assert not user.is_alive(), "a user waits without end"
