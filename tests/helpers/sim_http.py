"""The HTTP/1.1 edge of engine_sim: requests in, answers and event streams out.

Small on purpose: Content-Length bodies in, keep-alive, chunked streams out. The point here is what
a server library would hide: a client that goes away is noticed at once, and a stream can be cut
without its final chunk.

Threads: one event loop.
"""

import asyncio
import json

REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed",
           429: "Too Many Requests", 500: "Internal Server Error",
           503: "Service Unavailable"}  # fmt: skip
MAX_BODY = 16 * 1024 * 1024


class Request:
    def __init__(self, method, path, headers, body):
        self.method = method
        self.path = path
        self.headers = headers  # names in lower case
        self.body = body

    def json(self):
        """The body as an object; ValueError when it is none."""
        value = json.loads(self.body or b"{}")
        if not isinstance(value, dict):
            raise ValueError("expected a JSON object")
        return value


class Connection(asyncio.StreamReaderProtocol):
    """One client. `on_gone` is called once when it hangs up, also while a stream is written."""

    def __init__(self, handle):
        self._reader = asyncio.StreamReader()
        super().__init__(self._reader, self._serve)
        self._handle = handle
        self.gone = False
        self.on_gone = None

    def eof_received(self):
        self._hung_up()
        return super().eof_received()

    def connection_lost(self, error):
        self._hung_up()
        super().connection_lost(error)

    def _hung_up(self):
        if not self.gone:
            self.gone = True
            if self.on_gone is not None:
                self.on_gone()

    async def _serve(self, reader, writer):
        self.writer = writer
        try:
            while True:
                request = await self._read_request(reader)
                if request is None or not await self._handle(self, request):
                    return
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def _read_request(self, reader):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        try:
            method, path, _ = first.split(" ")
            headers = dict(line.split(":", 1) for line in lines)
            headers = {name.strip().lower(): value.strip() for name, value in headers.items()}
            length = int(headers.get("content-length", 0))
        except ValueError:
            await self.answer(400, {"error": "cannot read the request"}, close=True)
            return None
        if not 0 <= length <= MAX_BODY:
            await self.answer(400, {"error": "cannot take a body of this size"}, close=True)
            return None
        body = await reader.readexactly(length)
        return Request(method, path.split("?")[0], headers, body)

    async def answer(self, status, body, *, headers=(), close=False):
        """One whole answer: bytes as text, anything else as JSON. True to keep the connection."""
        kind = "text/plain; charset=utf-8"
        if not isinstance(body, bytes):
            kind, body = "application/json", json.dumps(body).encode()
        head = [f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}", f"Content-Type: {kind}",
                f"Content-Length: {len(body)}"]  # fmt: skip
        head += [f"{name}: {value}" for name, value in headers]
        head += ["Connection: close"] if close else []
        self.writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + body)
        await self.writer.drain()
        return not close

    def start_stream(self, headers=()):
        head = ["HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Cache-Control: no-cache",
                "Transfer-Encoding: chunked"]  # fmt: skip
        head += [f"{name}: {value}" for name, value in headers]
        self.writer.write("\r\n".join(head).encode() + b"\r\n\r\n")

    async def send(self, data):
        self.writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        if self.writer.transport.get_write_buffer_size() > 64 * 1024:
            await self.writer.drain()

    async def finish_stream(self):
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()


def event(data):
    return b"data: " + json.dumps(data, separators=(",", ":")).encode() + b"\n\n"
