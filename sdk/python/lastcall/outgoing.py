"""Calls to other tiers: the ids that they carry, and their end when the request is cancelled.

A worker that calls another one adds `headers(context)` and makes the call inside
`abort_on_stop(context)`. When the request is killed here, the call is cut and its connection
closes; that notifies the other side, on whatever pod it runs. `lastcall.httpx` and
`lastcall.aiohttp` do both.

Rules
  1. The call has an id of its own, `CALLER/N`, because the caller's may be live on the other side,
     too.
  2. A cut ends in `Cancelled`; a cancellation of the task from outside stays a CancelledError.
  3. A closed connection is a kill on the other side. If a `Channel` can send a stop there, the call
     continues and everything that still arrives is delivered, but it nevertheless ends in
     `Cancelled`. If the other side does not accept the stop within `STOP_WITHIN` seconds, the call
     is cut.

Threads: `headers` from any; `abort_on_stop` belongs to the task that enters it, `aborting` to the
thread; a stop from another thread is passed to the task's loop, or calls `abort`.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import threading
import urllib.parse
from typing import Any, Awaitable, Callable, Generic, MutableMapping, Optional, TypeVar

from . import loops, wire
from .context import Context
from .current import current
from .cut import Cut
from .errors import Cancelled, ExitError, ExitKind, ExitTrace

REQUEST_ID = "X-Request-Id"
ROOT = "X-Lastcall-Root"
PARENT = "X-Lastcall-Parent"
# A secret of the call: a peer that knows it may stop the call, by `DELETE` of CALLS + the secret.
CHANNEL = "X-Lastcall-Channel"
CALLS = "/lastcall/calls/"
STOP_WITHIN = 1.0  # seconds for the other side to accept a stop; then the connection is closed
STOP_TAKEN = 204  # the status of an accepted stop

T = TypeVar("T")

_log = logging.getLogger("lastcall")
_calls = itertools.count(1)
# The characters that a header value may contain unescaped. '%' is not among them, so that the value
# can always be decoded.
_PLAIN = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) != "%")


def headers(context: Optional[Context] = None) -> dict[str, str]:
    """The headers that show the other side to which request its work belongs.

    X-Request-Id is the call's own id; X-Lastcall-Root and X-Lastcall-Parent are the user's request
    and the caller. They are for the current request unless a context is given; empty without both.
    """
    context = context or current()
    if context is None:
        return {}
    own = f"{context.id()}/{next(_calls)}"
    if len(own.encode("utf-8")) > wire.MAX_ID:
        own = os.urandom(16).hex()
    return {REQUEST_ID: to_header(own), ROOT: to_header(context.root),
            PARENT: to_header(context.id())}  # fmt: skip


def add_headers(given: MutableMapping[str, str], context: Optional[Context] = None) -> None:
    """Adds the result of `headers`; existing headers take precedence."""
    for name, value in headers(context).items():
        given.setdefault(name, value)


def to_header(request_id: str) -> str:
    return urllib.parse.quote(request_id, safe=_PLAIN)


def from_header(value: str) -> str:
    return urllib.parse.unquote(value)


class Channel(Generic[T]):
    """Sends a stop to the other side of one call, apart from the call's own connection.

    `report` sends DELETE for its path to the call's server, and returns the status of the answer.
    `broken` are the errors with which the call ends if the other side breaks it off, as a stopped
    one may do.
    """

    def __init__(self, report: Callable[[str], T], broken: tuple[type[BaseException], ...]) -> None:
        self._secret = os.urandom(16).hex()
        self._report = report
        self.broken = broken

    def add_header(self, given: MutableMapping[str, str]) -> None:
        given.setdefault(CHANNEL, self._secret)

    def report(self) -> T:
        return self._report(CALLS + self._secret)


class abort_on_stop:
    """For `async with`: a stop of the context cuts the current await of the block.

    The block then ends in `Cancelled`. With a channel, a stop is sent there and only a kill cuts.
    The context is the current request's unless one is given; without both nothing is ever cut.
    """

    def __init__(
        self,
        context: Optional[Context] = None,
        channel: Optional[Channel[Awaitable[int]]] = None,
    ) -> None:
        self._context = context or current()
        self._channel = channel
        self._cut = Cut()
        self._forget: list[Callable[[], None]] = []
        self._reporting: Optional[asyncio.Task[None]] = None
        self._close: Optional[Callable[[], object]] = None

    def close_with(self, close: Callable[[], object]) -> None:
        """From now on a cut also calls `close`, which must not block. The block may be in a
        generator that its server has left, where no task waits and a cancel reaches nobody."""
        self._close = close

    async def __aenter__(self) -> Optional[Context]:
        if self._context is not None:
            loop = loops.running()
            self._context.raise_if_stopped()
            self._cut.arm()
            if self._channel is None:
                self._forget.append(self._context.on_stop(loops.OnLoop(loop, self._fire)))
            else:
                self._forget.append(self._context.on_stop(loops.OnLoop(loop, self._send_stop)))
                self._forget.append(self._context.on_kill(loops.OnLoop(loop, self._fire)))
        return self._context

    def _send_stop(self) -> None:
        assert self._context is not None
        if self._reporting is None and self._forget and not self._context.is_killed():
            self._reporting = asyncio.ensure_future(self._report())

    async def _report(self) -> None:
        assert self._channel is not None
        try:
            status = await asyncio.wait_for(self._channel.report(), STOP_WITHIN)
        except Exception as error:
            _log.debug("cannot send a stop: %r; closing the call", error)
            status = 0
        if status != STOP_TAKEN:
            self._fire()

    def _fire(self) -> None:
        self._cut.fire()
        if self._forget and self._close is not None:
            self._close()

    async def __aexit__(self, kind: ExitKind, error: ExitError, trace: ExitTrace) -> None:
        while self._forget:
            self._forget.pop()()
        is_ours = self._cut.fired and self._cut.settle(error)
        self._cut.disarm()
        if self._reporting is not None:
            self._reporting.cancel()
        if self._context is None:
            return
        if is_ours:
            raise Cancelled(self._context.id(), self._context.cause or "control") from None
        _raise_if_stopped(self._context, self._channel, error)


def _raise_if_stopped(
    context: Context, channel: Optional[Channel[Any]], error: Optional[BaseException]
) -> None:
    """A call that a stop has ended early must not look complete."""
    if channel is not None and context.is_stopped():
        if error is None or isinstance(error, channel.broken):
            raise Cancelled(context.id(), context.cause or "control") from error


class aborting:
    """For `with`, in a thread: a stop of the context calls `abort`, which ends the block's call.

    The block then ends in `Cancelled`, even if it reached its end meanwhile: a stream that was cut
    must not look finished. `abort` is called at most once and never after the block, on the thread
    that cancels or the one that notified the channel. It must not block; it may shut a socket down,
    for example. With a channel, a stop is sent there, in a thread of its own, and only a kill
    aborts. The context is the current request's unless one is given; without both `abort` is never
    called.
    """

    def __init__(
        self,
        abort: Callable[[], object],
        context: Optional[Context] = None,
        channel: Optional[Channel[int]] = None,
    ) -> None:
        self._context = context or current()
        self._abort = abort
        self._channel = channel
        self._lock = threading.Lock()
        self._is_over = False
        self._forget: list[Callable[[], None]] = []
        self.fired = False

    def __enter__(self) -> Optional[Context]:
        if self._context is not None:
            self._context.raise_if_stopped()
            if self._channel is None:
                self._forget.append(self._context.on_stop(self._cut))
            else:
                self._forget.append(self._context.on_stop(self._send_stop))
                self._forget.append(self._context.on_kill(self._cut))
        return self._context

    def __exit__(self, kind: ExitKind, error: ExitError, trace: ExitTrace) -> None:
        while self._forget:
            self._forget.pop()()
        with self._lock:
            self._is_over = True
        if self._context is None:
            return
        if self.fired and (error is None or isinstance(error, Exception)):
            raise Cancelled(self._context.id(), self._context.cause or "control") from error
        _raise_if_stopped(self._context, self._channel, error)

    def _cut(self, _: Optional[Context] = None) -> None:
        with self._lock:
            if not self._is_over and not self.fired:
                self.fired = True
                self._abort()

    def _send_stop(self, context: Context) -> None:
        if not context.is_killed():
            threading.Thread(target=self._report, name="lastcall-stop", daemon=True).start()

    def _report(self) -> None:
        assert self._channel is not None
        try:
            status = self._channel.report()
        except Exception as error:
            _log.debug("cannot send a stop: %r; closing the call", error)
            status = 0
        if status != STOP_TAKEN:
            self._cut()
