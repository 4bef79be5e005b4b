"""One HTTP/1.1 exchange over asyncio's own streams, on a connection of its own.

Rules
  1. A body that breaks off is an error and never counts as complete: `ConnectionError`.
  2. `close` breaks the connection at once, from any task of the loop; a task that is reading it
     then gets that error.
  3. Memory is bounded: a head has at most 64 KiB, an event at most `MAX_EVENT` bytes.

Threads: everything belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import urllib.parse
from typing import Any, AsyncIterator, Mapping, Optional

MAX_EVENT = 16 * 1024 * 1024
MAX_ANSWER = 64 * 1024 * 1024

DONE = "[DONE]"  # the data of the last event, as OpenAI's streams have it

_LINE = 64 * 1024
_LINE_END = re.compile(rb"\r\n|\r|\n")
_PIECE = 64 * 1024


class Exchange:
    """A request that was sent, and its answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.status = 0
        self.headers: dict[str, str] = {}

    @classmethod
    async def open(
        cls, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> Exchange:
        """Connects and sends; raises `OSError` if nothing listens."""
        parts = urllib.parse.urlsplit(url)
        is_tls = parts.scheme == "https"
        if parts.hostname is None or parts.scheme not in ("http", "https"):
            raise ValueError(f"cannot call {url!r}: expected http://HOST:PORT")
        reader, writer = await asyncio.open_connection(
            parts.hostname, parts.port or (443 if is_tls else 80), limit=_LINE,
            ssl=ssl.create_default_context() if is_tls else None,
        )  # fmt: skip
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        head = [f"{method} {target} HTTP/1.1", f"Host: {parts.netloc.rpartition('@')[2]}",
                "Connection: close", f"Content-Length: {len(body)}"]  # fmt: skip
        for name, value in headers.items():
            if not (name + value).isprintable():
                raise ValueError(f"cannot send the header {name!r}: expected printable text")
            head.append(f"{name}: {value}")
        try:
            writer.write("\r\n".join([*head, "", ""]).encode("latin-1") + body)
            await writer.drain()
        except BaseException:
            writer.transport.abort()
            raise
        return cls(reader, writer)

    def close(self) -> None:
        self._writer.transport.abort()

    async def head(self) -> None:
        """Waits for the head of the answer."""
        while True:
            line = await self._line()
            words = line.split(" ", 2)
            if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
                raise ConnectionError(f"expected an answer of HTTP/1.1, got {line[:80]!r}")
            self.status = int(words[1])
            self.headers = {}
            while True:
                line = await self._line()
                if not line:
                    break
                name, _, value = line.partition(":")
                self.headers[name.strip().lower()] = value.strip()
            if self.status >= 200:  # otherwise it is an interim answer
                return

    @property
    def ends_with_connection(self) -> bool:
        """Whether only the end of the connection ends the body, so that a cut looks the same."""
        is_chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
        return not is_chunked and "content-length" not in self.headers

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it arrives."""
        if self.status in (204, 304):
            return
        length = self.headers.get("content-length")
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            async for piece in self._chunks():
                yield piece
        elif length is None:
            while piece := await self._reader.read(_PIECE):
                yield piece
        elif length.isdigit():
            left = int(length)
            while left > 0:
                piece = await self._some(left)
                left -= len(piece)
                yield piece
        else:
            raise ConnectionError(f"cannot use the content-length {length[:40]!r}")

    async def whole(self) -> bytes:
        pieces = []
        size = 0
        async for piece in self.pieces():
            pieces.append(piece)
            size += len(piece)
            if size > MAX_ANSWER:
                raise ConnectionError(f"the answer has more than {MAX_ANSWER} bytes")
        return b"".join(pieces)

    async def events(self) -> AsyncIterator[tuple[str, str]]:
        """Server-sent events: the name ("message" if an event has none) and the data of each."""
        name, data, size = "", [], 0
        async for line in self._event_lines():
            if line.startswith(":"):
                continue
            if line:
                field, _, value = line.partition(":")
                value = value[1:] if value.startswith(" ") else value
                if field == "data":
                    data.append(value)
                elif field == "event":
                    name = value
                size += len(line)
                if size > MAX_EVENT:
                    raise ConnectionError(f"an event has more than {MAX_EVENT} characters")
            else:
                if data:
                    yield name or "message", "\n".join(data)
                name, data, size = "", [], 0
        # An empty line ends each event. Only the end of a connection may be the end of a body, and
        # where a proxy was cut, a body that looks complete ends in the middle of an event, too.
        if data == [DONE]:
            yield name or "message", DONE
        elif size:
            raise ConnectionError("the connection ended in the middle of an event")

    async def _event_lines(self) -> AsyncIterator[str]:
        # Each piece is searched once: a long line comes in hundreds of them.
        begun, size = [b""], 0
        was_return = False
        async for piece in self.pieces():
            if was_return and piece.startswith(b"\n"):
                piece = piece[1:]  # the rest of a line end
            was_return = piece.endswith(b"\r")
            first, *others = _LINE_END.split(piece)
            begun.append(first)
            size += len(first)
            if size > MAX_EVENT:
                raise ConnectionError(f"an event has more than {MAX_EVENT} bytes")
            if others:
                rest = others.pop()
                for line in (b"".join(begun), *others):
                    yield line.decode("utf-8", "replace")
                begun, size = [rest], len(rest)
        if size:
            yield b"".join(begun).decode("utf-8", "replace")  # its end has not come

    async def _chunks(self) -> AsyncIterator[bytes]:
        while True:
            size = (await self._line()).partition(";")[0].strip()
            try:
                left = int(size, 16)
            except ValueError:
                raise ConnectionError(f"cannot use the chunk size {size[:40]!r}") from None
            if left == 0:
                while await self._line():
                    pass  # trailers
                return
            while left > 0:
                piece = await self._some(left)
                left -= len(piece)
                yield piece
            await self._line()

    async def _some(self, most: int) -> bytes:
        piece = await self._reader.read(min(most, _PIECE))
        if not piece:
            raise ConnectionError("the connection ended in the middle of an answer")
        return piece

    async def _line(self) -> str:
        try:
            line = await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            raise ConnectionError("the connection ended in the middle of an answer") from None
        except asyncio.LimitOverrunError:
            raise ConnectionError(f"a line has more than {_LINE} bytes") from None
        return line.decode("latin-1").rstrip("\r\n")


async def ask(method: str, url: str, body: Optional[Any] = None) -> Any:
    """Sends JSON and returns the answer's JSON; raises `OSError` unless the status is 2xx."""
    data = b"" if body is None else json.dumps(body).encode()
    exchange = await Exchange.open(method, url, {"Content-Type": "application/json"}, data)
    try:
        await exchange.head()
        answer = await exchange.whole()
    finally:
        exchange.close()
    if not 200 <= exchange.status < 300:
        raise OSError(f"{url} answered {exchange.status}")
    return json.loads(answer) if answer else None
