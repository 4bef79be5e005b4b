"""A peer of the supervisor, by hand: what a test sends is what goes over the wire.

Rules: 1. every wait has a deadline; 2. lines that a test did not ask about are kept, in order.
"""

import contextlib
import json
import socket
import time

PATIENCE = 20.0


class Peer:
    def __init__(self, path, role="engine", name="test", **hello):
        self.lines = []
        self._buffer = b""
        self._seq = 0
        self._socket = connect(path)
        self.send("hello", version=1, role=role, name=name, **hello)
        self.welcome = self.expect("welcome")

    def send(self, op, **fields):
        self._socket.sendall(json.dumps({"op": op, **fields}).encode() + b"\n")

    def send_together(self, *messages):
        """One write, so that the supervisor reads all of them in one turn of its loop."""
        self._socket.sendall(b"".join(json.dumps(each).encode() + b"\n" for each in messages))

    def ask(self, op, **fields):
        """The result of the ack; an error is raised as such."""
        self._seq += 1
        seq = self._seq
        self.send(op, seq=seq, **fields)
        line = self.expect_where(
            lambda m: m["op"] in ("ack", "error") and m.get("seq") == seq, f"answer to {op}"
        )
        if line["op"] == "error":
            raise PeerError(line["code"], line["message"])
        return line.get("result")

    def expect(self, op, **fields):
        return self.expect_where(
            lambda m: m["op"] == op and all(m.get(k) == v for k, v in fields.items()),
            f"{op} {fields}",
        )

    def expect_where(self, chosen, what):
        deadline = time.monotonic() + PATIENCE
        while True:
            for index, line in enumerate(self.lines):
                if chosen(line):
                    return self.lines.pop(index)
            if not self._read(deadline - time.monotonic()):
                raise AssertionError(f"expected {what}; got {self.lines}")

    def answer_checks(self, status, **fields):
        """Answers the checks that have come by now, with one line."""
        while self._read(0.01):
            pass
        others = [line for line in self.lines if line["op"] != "health.check"]
        is_asked, self.lines = len(others) < len(self.lines), others
        if is_asked:
            self.send("health", status=status, **fields)

    def closed(self):
        """The supervisor closes the connection."""
        deadline = time.monotonic() + PATIENCE
        while self._read(deadline - time.monotonic()):
            pass
        return time.monotonic() < deadline

    def _read(self, timeout):
        if timeout <= 0:
            return False
        self._socket.settimeout(timeout)
        try:
            data = self._socket.recv(65536)
        except (TimeoutError, ConnectionError):
            return False
        *whole, self._buffer = (self._buffer + data).split(b"\n")
        self.lines += [json.loads(line) for line in whole]
        return bool(data)

    def close(self):
        with contextlib.suppress(OSError):
            self._socket.close()


class PeerError(Exception):
    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code


def connect(path):
    deadline = time.monotonic() + PATIENCE
    while True:
        peer = socket.socket(socket.AF_UNIX)
        try:
            peer.connect(path)
            return peer
        except OSError:
            peer.close()
            if time.monotonic() > deadline:
                raise
            wait_until(lambda: True, pause=0.02)


def wait_until(happened, what="condition", *, pause=0.01, patience=PATIENCE):
    """Polls until it is truthy, and returns it."""
    deadline = time.monotonic() + patience
    time.sleep(pause)
    while True:
        result = happened()
        if result:
            return result
        assert time.monotonic() < deadline, f"{what}: not within {patience} s"
        time.sleep(pause)


def answer_checks_until(happened, peers, status, what):
    """Any one answer may come too late on a busy machine, and then another check follows."""

    def answered():
        for peer in peers:
            peer.answer_checks(status)
        return happened()

    wait_until(answered, what)


def holds_for(condition, seconds, pause=0.02):
    """It is true now, and stays true that long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert condition()
        time.sleep(pause)
