"""What a router and a worker have sent to each other, byte by byte, and the legs that are in it."""

import http.client
import io
import json
import selectors
import socket
import threading
from contextlib import suppress


class _Kept(io.BytesIO):
    """Several responses one after the other: reading one to its end must not close it."""

    def close(self):
        pass

    def makefile(self, _mode):
        return self


class Leg:
    """One request that a worker was given, and what came back of it."""

    def __init__(self, head, body, payload):
        self.headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head.split("\r\n")[1:])
        }
        self.id = self.headers.get("x-request-id", "")
        self.body = json.loads(body) if body else {}
        self.payload = payload
        self.prompt_ids, self.prompt_tokens = None, None
        self.pieces = []  # (ids, text) of each event
        for line in payload.split(b"\n"):
            if line.startswith(b"data: {"):
                with suppress(ValueError):  # the last one may be cut
                    self._take(json.loads(line[6:]))

    def _take(self, event):
        usage = event.get("usage") or {}
        self.prompt_tokens = usage.get("prompt_tokens") or self.prompt_tokens
        self.prompt_ids = self.prompt_ids or event.get("prompt_token_ids")
        for choice in event.get("choices", ()):
            self.prompt_ids = self.prompt_ids or choice.get("prompt_token_ids")
            delta = choice.get("delta", {})
            text = choice.get("text", delta.get("content")) or ""
            self.pieces.append((choice.get("token_ids") or [], text))

    @property
    def ids(self):
        return [each for ids, _ in self.pieces for each in ids]

    @property
    def text(self):
        return "".join(text for _, text in self.pieces)


def requests_of(data):
    """(head, body) of each whole request."""
    while data:
        head, found, rest = data.partition(b"\r\n\r\n")
        if not found:
            return
        head = head.decode("latin-1")
        length = next((int(line.partition(":")[2]) for line in head.split("\r\n")
                       if line.lower().startswith("content-length:")), 0)  # fmt: skip
        if len(rest) < length:
            return
        yield head, rest[:length]
        data = rest[length:]


def payloads_of(data):
    """The body of each response, the last one as far as it came."""
    stream = _Kept(data)
    while stream.tell() < len(data):
        response = http.client.HTTPResponse(stream)
        try:
            response.begin()
            yield response.read()
        except http.client.IncompleteRead as cut:
            yield cut.partial
        except http.client.HTTPException:
            return


class Recorder:
    """Relays connections to `port`; a worker that breaks one breaks it at the router, too."""

    def __init__(self, port):
        self.target = port
        self._talks = []  # (what the router sent, what the worker sent)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self._listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                threading.Thread(target=self._relay, args=(near,), daemon=True).start()

    def _relay(self, near):
        said, received = talk = bytearray(), bytearray()
        self._talks.append(talk)
        with suppress(OSError), near, socket.create_connection(
            ("127.0.0.1", self.target)
        ) as far, selectors.DefaultSelector() as ready:
            ready.register(near, selectors.EVENT_READ, (far, said))
            ready.register(far, selectors.EVENT_READ, (near, received))
            while True:
                for key, _ in ready.select():
                    data = key.fileobj.recv(65536)
                    if not data:
                        return
                    other, record = key.data
                    record += data
                    other.sendall(data)

    def legs(self):
        """Those of all connections, by the id that the worker saw."""
        found = {}
        for said, received in list(self._talks):
            payloads = payloads_of(bytes(received))
            for head, body in requests_of(bytes(said)):
                leg = Leg(head, body, next(payloads, b""))
                found[leg.id] = leg
        return found

    def close(self):
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
