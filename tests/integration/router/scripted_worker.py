"""Workers that follow a script: what they send on a leg, to the byte, and where they break off."""

import contextlib
import json
import re
import socket
import threading

from raw_engine import SSE_HEAD, Wire, chunk
from serve_peer import PATIENCE

TOKENS = 3


def text(tokens=TOKENS):
    return "".join(f"t{number} " for number in range(tokens))


def data(value):
    return b"data: " + (value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n\n"


class Leg:
    """A request to a worker; the answer is `t0 t1 t2 `, and goes on after what is given."""

    def __init__(self, wire, head, body):
        self.wire, self.head, self.body = wire, head, json.loads(body)
        self.asked = self.body["messages"][0]["content"]
        last = self.body["messages"][-1]
        self.given = last["content"] if self.body.get("continue_final_message") else ""
        self.at = len(self.given.split())
        self.joint = " " if self.given and not self.given.endswith(" ") else ""
        self.model = "m"

    def event(self, content=None, finish=None, at=None, count=None):
        prompt = 1 + (self.at if at is None else at)
        done = count or 0
        usage = {"prompt_tokens": prompt, "completion_tokens": done, "total_tokens": prompt + done}
        delta = {} if content is None else {"content": content}
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return data({"id": "w", "object": "chat.completion.chunk", "created": 1,
                     "model": self.model, "choices": [choice], "usage": usage})  # fmt: skip

    def token(self, number):
        joint = self.joint if number == self.at else ""
        return self.event(f"{joint}t{number} ", count=number - self.at + 1)

    def events(self):
        """All that is left of the answer, its end included."""
        tokens = [self.token(number) for number in range(self.at, TOKENS)]
        return [*tokens, self.event(finish="length", count=TOKENS - self.at), data(b"[DONE]")]

    def whole(self):
        return SSE_HEAD + b"".join(map(chunk, self.events())) + b"0\r\n\r\n"

    def send(self, raw):
        with contextlib.suppress(OSError):
            self.wire.send(raw)

    def wait(self):
        """Until the router has closed it."""
        with contextlib.suppress(OSError):
            self.wire.rest()


def whole(leg):
    leg.send(leg.whole())


class ScriptedWorker:
    """`first` is what it does with a request that no worker of its fleet has had, `then` with
    others.

    A script that returns has closed its connection. `seen` is the fleet's.
    """

    def __init__(self, first=whole, then=whole, seen=None):
        self.first, self.then = first, then
        self._seen = set() if seen is None else seen
        self.legs, self._open, self._lock = [], 0, threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self._listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(Wire(connection),), daemon=True).start()

    def _serve(self, wire):
        with contextlib.closing(wire):
            try:
                head = wire.until(b"\r\n\r\n")
                size = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
                leg = Leg(wire, head, wire.exactly(size))
            except (AssertionError, OSError):
                return  # opened and not used
            with self._lock:
                self.legs.append(leg)
                self._open += 1
            is_first = leg.asked not in self._seen
            self._seen.add(leg.asked)
            try:
                (self.first if is_first else self.then)(leg)
            finally:
                with self._lock:
                    self._open -= 1

    def open(self):
        """Legs that the worker still serves."""
        with self._lock:
            return self._open

    def refuse_new(self):
        """New connections are refused."""
        with contextlib.suppress(OSError):  # it was called before
            self._listener.shutdown(socket.SHUT_RDWR)  # close() alone leaves one to the thread
        self._listener.close()

    def vanish(self):
        """Its connections end, and new ones are refused."""
        self.refuse_new()
        with self._lock:
            for leg in self.legs:
                with contextlib.suppress(OSError):
                    leg.wire.socket.shutdown(socket.SHUT_RDWR)

    def close(self):
        self._listener.close()


class Answer:
    """A client and what it has of its answer."""

    def __init__(self, port, content="x", wrap=None, **fields):
        body = {"model": "m", "stream": True, "max_tokens": TOKENS, **fields,
                "messages": [{"role": "user", "content": content}]}  # fmt: skip
        written = json.dumps(body).encode()
        wire = Wire(socket.create_connection(("127.0.0.1", port)))
        self.wire = wrap(wire) if wrap else wire
        self.wire.socket.settimeout(2 * PATIENCE)
        self.wire.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
                       b"Content-Length: %d\r\n\r\n%b" % (len(written), written))  # fmt: skip
        self.raw = b""

    def has(self, number):
        """Waits for a token."""
        while f"t{number} ".encode() not in self.raw and f't{number}"'.encode() not in self.raw:
            got = self.wire.socket.recv(65536)
            assert got, self.raw
            self.raw += got
        return self

    def ended(self):
        self.raw += self.wire.rest()
        return self

    def events(self):
        head, _, body = self.raw.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), self.raw
        joined, rest = b"", body
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            length = int(size, 16) if size else 0
            joined, rest = joined + rest[:length], rest[length + 2 :]
        return [each for each in joined.decode().split("\n\n") if each and each[0] != ":"]

    def objects(self):
        found = [each.removeprefix("data: ") for each in self.events() if each[:5] == "data:"]
        return [json.loads(each) for each in found if each != "[DONE]"]

    def text(self):
        return "".join(choice["delta"].get("content") or "" for each in self.objects()
                       for choice in each["choices"])  # fmt: skip

    def is_whole(self):
        """One answer: its text once, one id and model, one finish, one [DONE], an orderly end."""
        finishes = [choice["finish_reason"] for each in self.objects()
                    for choice in each["choices"] if choice["finish_reason"]]  # fmt: skip
        found = (
            self.text().rstrip(), finishes, self.events().count("data: [DONE]"),
            {(each["id"], each["model"]) for each in self.objects()},
            self.raw.endswith(b"0\r\n\r\n"),
        )  # fmt: skip
        assert found == (text().rstrip(), ["length"], 1, {("w", "m")}, True), (found, self.raw)
        return True

    def error(self):
        """The object of the error event that it ended with; it has no other end."""
        [last] = [each for each in self.events() if each.startswith("event: error\n")]
        assert "[DONE]" not in self.raw.decode() and not self.raw.endswith(b"0\r\n\r\n"), self.raw
        return json.loads(last.partition("data: ")[2])["error"]

    def text_before_error(self):
        return "".join(
            choice["delta"].get("content") or ""
            for each in self.events() if each.startswith("data: {")
            for choice in json.loads(each[6:])["choices"]
        )  # fmt: skip

    def leave(self):
        self.wire.close()
