"""Calls to other tiers: the ids that go with them, and their end when the request is cancelled.

A worker that calls another one sends `headers(context)` along and makes the call inside
`abort_on_stop(context)`. When the request is cancelled here, the call is cut and its connection
closes; that is how the other side learns of it, on whatever pod it runs. `lastcall.httpx` and
`lastcall.aiohttp` do both.

Rules
  1. The call has an id of its own, `CALLER/N`: the caller's may be live on the other side too.
  2. A cut ends in `Cancelled`; a cancellation of the task from outside stays one.

Threads: `headers` from any; `abort_on_stop` belongs to the task that enters it, `aborting` to the
thread; a stop from another thread is carried over to the task's loop, or calls what aborts.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
import urllib.parse
from types import TracebackType
from typing import Callable, MutableMapping, Optional

from . import wire
from .context import Context
from .current import current
from .cut import Cut
from .errors import Cancelled

REQUEST_ID = "X-Request-Id"
ROOT = "X-Lastcall-Root"
PARENT = "X-Lastcall-Parent"
# A secret of the call: whoever knows it may stop the call, by `DELETE` of CALLS + the secret.
CHANNEL = "X-Lastcall-Channel"
CALLS = "/lastcall/calls/"

_calls = itertools.count(1)
# What a header value may hold as it is. Not '%', so that the way back is never in doubt.
_PLAIN = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) != "%")


def headers(context: Optional[Context] = None) -> dict[str, str]:
    """What tells the other side which request its work is part of.

    X-Request-Id is the call's own id; X-Lastcall-Root and X-Lastcall-Parent are the user's request
    and the caller. Of the current request unless a context is given; empty without either.
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
    """Adds what `headers` gives; what is there already wins."""
    for name, value in headers(context).items():
        given.setdefault(name, value)


def to_header(request_id: str) -> str:
    return urllib.parse.quote(request_id, safe=_PLAIN)


def from_header(value: str) -> str:
    return urllib.parse.unquote(value)


class abort_on_stop:
    """`async with` this: a stop of the context cuts the await at which the block stands.

    The block then ends in `Cancelled`. Of the current request unless a context is given; without
    either nothing is ever cut.
    """

    def __init__(self, context: Optional[Context] = None) -> None:
        self._context = context or current()
        self._cut = Cut()
        self._forget: Callable[[], None] = lambda: None

    async def __aenter__(self) -> Optional[Context]:
        if self._context is not None:
            self._context.raise_if_stopped()
            self._cut.arm()
            loop = asyncio.get_running_loop()

            def cut(_: Context) -> None:
                try:
                    loop.call_soon_threadsafe(self._cut.fire)
                except RuntimeError:
                    pass  # the loop is closed, and the call with it

            self._forget = self._context.on_stop(cut)
        return self._context

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._forget()
        is_ours = self._cut.fired and self._cut.settle(error)
        self._cut.disarm()
        if is_ours and self._context is not None:
            raise Cancelled(self._context.id(), self._context.cause or "control") from None


class aborting:
    """`with` this, in a thread: a stop of the context calls `abort`, which ends the block's call.

    The block then ends in `Cancelled`, also when it got to its end meanwhile: a stream that was cut
    must not look finished. `abort` is called at most once, on the thread that cancels, and never
    after the block; it must not block: shut a socket down, for example. Of the current request
    unless a context is given; without either it is never called.
    """

    def __init__(self, abort: Callable[[], object], context: Optional[Context] = None) -> None:
        self._context = context or current()
        self._abort = abort
        self._lock = threading.Lock()
        self._is_over = False
        self._forget: Callable[[], None] = lambda: None
        self.fired = False

    def __enter__(self) -> Optional[Context]:
        if self._context is not None:
            self._context.raise_if_stopped()
            self._forget = self._context.on_stop(self._on_stop)
        return self._context

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._forget()
        with self._lock:
            self._is_over = True
        if self.fired and self._context is not None:
            if error is None or isinstance(error, Exception):
                raise Cancelled(self._context.id(), self._context.cause or "control") from error

    def _on_stop(self, _: Context) -> None:
        with self._lock:
            if not self._is_over:
                self.fired = True
                self._abort()
