"""Both ends of a proxy as plain sockets: an engine and a client that send what a test wants."""

import queue
import select
import socket
import threading

from serve_peer import PATIENCE, wait_until


class Wire:
    """One connection, read with a deadline."""

    def __init__(self, connection):
        self.socket = connection
        self.socket.settimeout(PATIENCE)
        self.buffer = b""

    def send(self, data):
        self.socket.sendall(data)

    def until(self, mark):
        """Everything up to and with `mark`."""
        while mark not in self.buffer:
            data = self.socket.recv(65536)
            assert data, f"ended before {mark!r}: {self.buffer!r}"
            self.buffer += data
        found, _, self.buffer = self.buffer.partition(mark)
        return found + mark

    def exactly(self, size):
        while len(self.buffer) < size:
            data = self.socket.recv(65536)
            assert data, f"ended after {len(self.buffer)} of {size} bytes: {self.buffer!r}"
            self.buffer += data
        found, self.buffer = self.buffer[:size], self.buffer[size:]
        return found

    def rest(self):
        """Everything until the other side ends, orderly or not."""
        try:
            while data := self.socket.recv(65536):
                self.buffer += data
        except ConnectionResetError:
            self.buffer += b"<reset>"
        found, self.buffer = self.buffer, b""
        return found

    def ended(self):
        """The other side has closed and sent nothing more."""
        return self.rest() in (b"", b"<reset>")

    def close(self):
        self.socket.close()


class RawEngine:
    def __init__(self, host="127.0.0.1", port=0):
        self.listener = socket.create_server((host, port), backlog=256)
        self.address = "%s:%d" % self.listener.getsockname()
        self._arrived = queue.Queue()
        self._made = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self._made.append(connection)
            self._arrived.put(connection)

    def has_arrived(self):
        return not self._arrived.empty()

    def connection(self):
        """The next connection that the proxy makes."""
        return Wire(self._arrived.get(timeout=PATIENCE))

    def request(self):
        """The next connection and the head that came on it."""
        wire = self.connection()
        return wire, wire.until(b"\r\n\r\n")

    def connections(self):
        return len(self._made)

    def refuse(self):
        """From now on connections are refused: close() alone leaves one to the thread in accept."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def close(self):
        self.listener.close()
        for connection in self._made:
            connection.close()


def client(one):
    return Wire(socket.create_connection(("127.0.0.1", one.ingress_port)))


def post(path="/v1/chat/completions", body=b'{"model":"m","stream":true}', *lines):
    head = [f"POST {path} HTTP/1.1", "Host: h", f"Content-Length: {len(body)}", *lines]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def get(path="/v1/models", *lines):
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: h", *lines]).encode() + b"\r\n\r\n"


def ok(body=b"hello", *lines):
    head = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *lines]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


SSE_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def chunk(data):
    return b"%x\r\n%b\r\n" % (len(data), data)


def fill(wire):
    """Sends events until the proxy takes no more: what is left of the last one, their number."""
    wire.socket.setblocking(False)
    event = chunk(b"data: " + b"x" * 60_000 + b"\n\n")
    count, pending, stuck = 0, b"", 0
    while stuck < 3:  # until nothing moves any more
        if not select.select([], [wire.socket], [], 0.5)[1]:
            stuck += 1
            continue
        count += not pending
        pending = pending or event
        pending = pending[wire.socket.send(pending) :]
        assert count < 1024, "the proxy buffers without end"
    wire.socket.settimeout(PATIENCE)
    return pending, count


def metric(one, name, **labels):
    """The value of a series, 0 where it is absent."""
    wanted = {f'{key}="{value}"' for key, value in labels.items()}
    for line in one.get("/metrics")[1].splitlines():
        series, _, value = line.rpartition(" ")
        family, _, rest = series.partition("{")
        if family == name and wanted <= set(rest.rstrip("}").split(",")):
            return float(value)
    return 0.0


def served(one, engine):
    """A new client, and its first request answered on a connection to the engine that closes."""
    user = client(one)
    user.send(get())
    wire, _ = engine.request()
    wire.send(ok(b"hello", "Connection: close"))
    user.until(b"hello")
    return user


def wait_for_count(one, expected, *series, **labels):
    """Waits for a count that another thread reports after its client has had the answer."""
    wait_until(
        lambda: metric(one, *series, **labels) >= expected, f"{series[0]} is {expected}"
    )
    assert metric(one, *series, **labels) == expected


def asked(one, engine, *words, **options):
    """A client that has sent a request, as of post(), and the engine's end, which has read it."""
    request = post(*words, **options)
    user = client(one)
    user.send(request)
    wire, _ = engine.request()
    wire.exactly(len(request.partition(b"\r\n\r\n")[2]))
    return user, wire


def stream(one, engine, *words, **options):
    """The same with the first event of a stream."""
    user, wire = asked(one, engine, *words, **options)
    wire.send(SSE_HEAD + chunk(b"data: 1\n\n"))
    user.until(b"data: 1\n\n\r\n")
    return user, wire
