"""The two directions of an HTTP exchange between an ASGI server and an application.

Rules
  1. Everything that the client sends reaches the application unchanged and in order; at most
     `limit` bytes plus one message are read ahead of the application. While a request waits for its
     admission more is read, because only receiving shows that the client has left: up to
     `MAX_SPARE` bytes for all such requests together.
  2. A stream of server-sent events is forwarded in whole events: the start of an event waits for
     its end, because no client could use it before. So a cut is always between two events.
  3. After a cut nothing from the application reaches the client.
  4. A client that leaves after `[DONE]` was the last data that it was sent has its whole answer:
     many clients close there and do not wait for the end of the body.
  5. An error that may mean the engine's death is held until the request is cut, which is how the
     death is reported, or until the supervisor has cleared the doubt, or for `HELD_FOR`. In the
     last two cases it is sent on unchanged.

Threads: all of it belongs to the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import math
import re
import weakref
from collections import deque
from typing import Any, Awaitable, Callable, Iterator, MutableMapping, Optional, Union

from .engine_error import EngineError, error_of_answer, error_of_event
from .errors import Cancelled, Rejected, error_body, sse_error

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
# Asks whether the engine is dead, and calls its argument once nothing has to wait for the answer
# any more. Calling the result ends the question; None: there is no doubt, or nobody who could
# decide.
Doubt = Callable[[Callable[[], object]], Optional[Callable[[], None]]]

PEEK_WITHIN = 0.1  # seconds, so that a client that sends its body slowly does not delay its request
MAX_HELD = 1024 * 1024  # bytes of one event; a longer one is passed on as it arrives
HELD_FOR = 2.0  # seconds, as in lastcall's own proxy
READ_AHEAD = 64 * 1024
MAX_SPARE = 16 * 1024 * 1024  # bytes per event loop, so for nearly every process

_log = logging.getLogger("lastcall")
_EVENT_END = re.compile(rb"\r?\n\r?\n|\r\r")
_DONE = re.compile(rb"(?m)^data: ?\[DONE\]")


class Spare:
    """The bytes that the requests of one event loop may hold in addition to their own
    read-ahead."""

    def __init__(self) -> None:
        self._left = MAX_SPARE
        self._blocked: set[asyncio.Event] = set()

    def is_there(self, news: asyncio.Event) -> bool:
        """Whether there are spare bytes; if not, `news` is set once there are some again."""
        if self._left <= 0:
            self._blocked.add(news)
        return self._left > 0

    def take(self, size: int) -> None:
        """Takes spare bytes; a negative size gives them back."""
        self._left -= size
        if self._left > 0:
            for news in self._blocked:
                news.set()
            self._blocked.clear()

    def forget(self, news: asyncio.Event) -> None:
        self._blocked.discard(news)


_spares: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Spare] = weakref.WeakKeyDictionary()


class Inbox:
    """The client's messages, which are read ahead to notice at once when the client leaves."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._limit = max(limit, READ_AHEAD)
        self._messages: deque[Message] = deque()
        self._held = 0
        self._spare = _spares.setdefault(asyncio.get_running_loop(), Spare())
        self._taken = 0  # how many spare bytes it holds
        self._waits = False
        self._complete = False
        self._cut = False
        self._left_at = math.inf
        self._notified_at = math.inf  # the application has received the disconnect
        self._on_notified: list[Callable[[float], object]] = []
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self.gone = False
        self.started = False  # the application has got the request
        self.on_leave: Callable[[], object] = lambda: None
        self._pump = asyncio.ensure_future(self._read())

    async def peek(self) -> bytes:
        """The body if it is complete in time and within the limit; otherwise an empty one."""
        late: list[bool] = []

        def give_up() -> None:
            late.append(True)
            self._news.set()

        timer = asyncio.get_running_loop().call_later(PEEK_WITHIN, give_up)
        while not (self._complete or self.gone or late or self._held >= self._limit):
            self._news.clear()
            await self._news.wait()
        timer.cancel()
        if not self._complete:
            return b""
        return b"".join(message.get("body", b"") for message in self._messages)

    async def receive(self) -> Message:
        """The application's `receive`."""
        while not (self._messages or self.gone or self._cut):
            self._news.clear()
            await self._news.wait()
        if self._cut or not self._messages:
            self._notified()
            return {"type": "http.disconnect"}
        message = self._messages.popleft()
        self._hold(-len(message.get("body", b"")))
        self._room.set()
        return message

    def left_at(self, now: float) -> float:
        """The time since which the client looks gone, by the loop's clock."""
        return min(self._left_at, now)

    def when_notified(self, call: Callable[[float], object]) -> None:
        """Calls `call` with the instant at which the application received the disconnect."""
        if math.isfinite(self._notified_at):
            call(self._notified_at)
        else:
            self._on_notified.append(call)

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """For the wait for admission: reads on, however long the body is, to notice that the client
        leaves."""
        self._waits = True
        self._room.set()
        try:
            yield
        finally:
            self._waits = False

    def cut(self) -> None:
        """From now on the client looks gone."""
        self._cut = True
        self._left()

    def close(self) -> None:
        self._pump.cancel()
        self._messages.clear()
        self._hold(-self._held)
        self._spare.forget(self._room)

    def _left(self) -> None:
        self._left_at = min(self._left_at, asyncio.get_running_loop().time())
        self._news.set()

    def _notified(self) -> None:
        self._notified_at = min(self._notified_at, asyncio.get_running_loop().time())
        calls, self._on_notified = self._on_notified, []
        for call in calls:
            call(self._notified_at)

    def _hold(self, more: int) -> None:
        self._held += more
        beyond = max(0, self._held - self._limit)
        self._spare.take(beyond - self._taken)
        self._taken = beyond

    def _may_read(self) -> bool:
        if self._complete or self._held < self._limit:
            return True
        return self._waits and self._spare.is_there(self._room)

    async def _read(self) -> None:
        while True:
            try:
                message = await self._receive()
            except Exception as error:
                _log.debug("the server failed to receive: %r", error)
                message = {"type": "http.disconnect"}
            if message["type"] == "http.disconnect":
                self.gone = True
                self._left()
                self.on_leave()
                return
            self._messages.append(message)
            self._hold(len(message.get("body", b"")))
            self._complete = not message.get("more_body", False)
            self._news.set()
            while not self._may_read():
                self._room.clear()
                await self._room.wait()


class Outbox:
    """The answer to the client, and how it ends if it is cut."""

    def __init__(
        self,
        send: Send,
        request_id: str,
        on_progress: Callable[[], object],
        doubt: Doubt = lambda _: None,
    ) -> None:
        self._send = send
        self._id = request_id
        self._on_progress = on_progress
        self._doubt = doubt
        self._lock = asyncio.Lock()
        self._is_cut = False
        self._was_held = False
        self._news = asyncio.Event()  # it was cut, the client has left, or the engine is alive
        self._is_sse = False
        self._has_trailers = False
        self._tail = b""
        self._is_done = False  # [DONE] was sent: for the client the stream has ended
        self._ends_with_done = False  # [DONE] was the last data that was sent
        self._events_sent = 0
        self._bytes_sent = 0
        self.status = 0  # 0 until the response has started
        self.has_error = False  # an event of the stream was one
        self.complete = False

    async def send(self, message: Message) -> None:
        """The application's `send`; once the exchange was cut it fails as if the client had
        left."""
        async with self._lock:
            if self._is_cut:
                raise OSError("the request was cancelled")
            await self._forward(message)

    def cut(self) -> None:
        """Cuts at once: everything that the application sends from now on is refused."""
        self._is_cut = not (self.complete or self._is_done)
        self._news.set()

    def left(self) -> None:
        """The client has left: nobody waits for the held data any more."""
        self._news.set()

    @property
    def has_answered(self) -> bool:
        """Whether the client was sent its whole answer, even if the application has not ended
        yet."""
        return self.complete or self._ends_with_done

    @property
    def has_failed(self) -> bool:
        return self.status >= 500 or self.has_error

    async def report(self, kind: str, reason: str) -> None:
        """Notifies the client that nothing more will come, unless it already has everything."""
        async with self._lock:
            if self.complete or self._is_done:
                self._is_cut = False
            elif not self.status:
                await refuse(self._send, Cancelled(self._id, reason))
                self.complete = True
            elif self._is_sse:
                event = sse_error(
                    kind, self._id, events_sent=self._events_sent, bytes_sent=self._bytes_sent,
                    reason=reason,
                )  # fmt: skip
                await self._body(event, True)

    async def finish(self) -> None:
        """Ends the stream properly after [DONE] if the application has not done so."""
        if self._is_done and not self.complete:
            async with self._lock:
                await self._body(self._tail, False)
                self.complete = True

    async def _forward(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await self._start(message)
        elif message["type"] == "http.response.body" and self._is_sse:
            await self._events(message)
            return
        elif message["type"] == "http.response.body":
            self._bytes_sent += len(message.get("body", b""))
        await self._send(message)
        # Servers send the head of a stream before the engine has done anything for it.
        if not (self._is_sse and message["type"] == "http.response.start"):
            self._on_progress()
        ends = {
            "http.response.body": not (message.get("more_body", False) or self._has_trailers),
            "http.response.pathsend": not self._has_trailers,
            "http.response.trailers": not message.get("more_trailers", False),
        }
        self.complete = self.complete or ends.get(message["type"], False)

    async def _start(self, message: Message) -> None:
        headers = {bytes(name).lower(): bytes(value) for name, value in message.get("headers", ())}
        if error_of_answer(message["status"], headers) is EngineError.SUSPECT:
            await self._hold()
        self.status = message["status"]
        self._has_trailers = bool(message.get("trailers"))
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        # Nothing can be appended to a compressed stream.
        is_plain = headers.get(b"content-encoding", b"identity").lower() == b"identity"
        self._is_sse = kind == b"text/event-stream" and is_plain

    async def _events(self, message: Message) -> None:
        more = message.get("more_body", False)
        data = self._tail + message.get("body", b"")
        if more and len(data) < MAX_HELD:
            end = max((match.end() for match in _EVENT_END.finditer(data)), default=0)
            data, self._tail = data[:end], data[end:]
        else:
            self._tail = b""
        if not data and more:
            return
        before = self._before_error(data) if b"error" in data else len(data)
        if before < len(data):
            if before:
                await self._pass(data[:before], True)
            await self._hold()
            data = data[before:]
        await self._pass(data, more or self._has_trailers)
        self.complete = not (more or self._has_trailers)

    async def _pass(self, data: bytes, more: bool) -> None:
        """Sends whole events."""
        self._events_sent += sum(b"data:" in event for event in _EVENT_END.split(data))
        self._bytes_sent += len(data)
        has_done = _DONE.search(data) is not None
        self._is_done = self._is_done or has_done
        ends_with_it = has_done and data.rstrip(b"\r\n").endswith(b"[DONE]")
        if self._ends_with_done and data.strip(b"\r\n"):
            self._ends_with_done = False
        await self._body(data, more)
        if ends_with_it:  # only now, after the server has taken it
            self._ends_with_done = True
        self._on_progress()

    def _before_error(self, data: bytes) -> int:
        """The size of the events before the first one that may mean the engine's death."""
        begin, before = 0, len(data)
        for end in [*(match.end() for match in _EVENT_END.finditer(data)), len(data)]:
            error = error_of_event(data[begin:end])
            self.has_error = self.has_error or error is not EngineError.NONE
            if error is EngineError.SUSPECT:
                before = min(before, begin)
            begin = end
        return before

    async def _hold(self) -> None:
        forget = None if self._was_held else self._doubt(self._news.set)
        if forget is None:
            return
        self._was_held = True
        try:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._news.wait(), HELD_FOR)
        finally:
            forget()
        if self._is_cut:
            raise OSError("the request was cancelled")

    async def _body(self, data: bytes, more: bool) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": more})


async def refuse(send: Send, refusal: Union[Rejected, Cancelled], status: int = 503) -> None:
    """The whole answer to a request that does not run, or was cut before its first byte.

    `status` is used for a refusal for lack of capacity; a drain's refusal is always a 503.
    """
    is_overload = refusal.kind == "overloaded"
    error = error_body(
        refusal.kind, refusal.request_id,
        status=status if is_overload else 503, reason=refusal.reason,
    )  # fmt: skip
    figures = {"limit": getattr(refusal, "limit", None), "count": getattr(refusal, "count", None)}
    error["error"].update({name: n for name, n in figures.items() if n is not None})
    if detail := getattr(refusal, "detail", ""):
        error["error"]["message"] += f" ({detail})"
    body = json.dumps(error, separators=(",", ":")).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"x-lastcall-reason", refusal.reason.encode()),
    ]
    for name, figure in figures.items():
        if figure is not None:
            headers.append((f"x-lastcall-{name}".encode(), b"%d" % figure))
    if error["error"]["retryable"]:
        retry_after = getattr(refusal, "retry_after", None)
        # The request may be sent to another server at once; the header is for a client that has
        # only this one.
        headers.append((b"retry-after", b"%d" % max(1, math.ceil(retry_after or 1))))
        headers.append((b"retry-after-ms", b"%d" % max(1, math.ceil((retry_after or 1) * 1000))))
    should_retry = b"true" if error["error"]["retryable"] else b"false"
    headers.append((b"x-should-retry", should_retry))
    code = error["error"]["code"]
    await send({"type": "http.response.start", "status": code, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
