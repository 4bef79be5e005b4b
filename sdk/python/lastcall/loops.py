"""Loops: calls functions on an event loop from other threads.

Rules
  1. A closed loop is not called, because nothing waits there any more.
  2. The connection's thread collects its calls until it has nothing left to do, or has `MOST_HELD`
     of them. If a loop's thread were woken sooner, it would have to wait for the interpreter lock,
     which the connection's thread still needs, and would be woken a second time.
  3. Only asyncio's loops are called. Under trio (also below anyio) a wait is refused before it
     begins, and a cancel of trio is a cancel, not an error.

Threads: `soon` and the questions about the running loop from any; a `Holder` belongs to the thread
that entered it.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from typing import Callable, Optional

MOST_HELD = 32

_Call = Callable[[], object]
_here = threading.local()


def running() -> asyncio.AbstractEventLoop:
    """The loop of asyncio that runs here, for code that is going to wait on it."""
    loop = asyncio._get_running_loop()
    if loop is None:
        raise RuntimeError(
            "cannot wait here: "
            + ("this code runs under trio" if is_in_trio() else "no event loop runs here")
            + ", expected asyncio; code under trio can use 'with client.request(...)' without "
            "admission, and the blocking calls in a thread (trio.to_thread.run_sync)"
        )
    return loop


def is_in_trio() -> bool:
    # It is not imported here: a program that has not imported it does not run under it.
    lowlevel = getattr(sys.modules.get("trio"), "lowlevel", None)
    if lowlevel is None:
        return False
    try:
        lowlevel.current_task()
    except RuntimeError:
        return False
    return True


def is_here() -> bool:
    """Whether a wait that blocks this thread would block an event loop, of asyncio or of trio."""
    return asyncio._get_running_loop() is not None or is_in_trio()


def is_cancel(error: Optional[BaseException]) -> bool:
    """Whether a task was cancelled, by asyncio or by trio, or a generator was closed."""
    if isinstance(error, (asyncio.CancelledError, GeneratorExit)):
        return True
    cancelled = getattr(sys.modules.get("trio"), "Cancelled", None)
    return isinstance(cancelled, type) and isinstance(error, cancelled)


def soon(loop: asyncio.AbstractEventLoop, call: _Call) -> None:
    holder: Optional[Holder] = getattr(_here, "holder", None)
    if holder is None:
        _call(loop, call)
    else:
        holder.hold(loop, call)


class OnLoop:
    """A callback that only calls a function on its event loop: it may run on any thread."""

    __slots__ = ("loop", "_call")

    def __init__(self, loop: asyncio.AbstractEventLoop, call: _Call) -> None:
        self.loop = loop
        self._call = call

    def __call__(self, _: object = None) -> None:
        soon(self.loop, self._call)


class Holder:
    """While it is entered, the calls of this thread wait for `release`."""

    def __init__(self) -> None:
        self._held: list[tuple[asyncio.AbstractEventLoop, _Call]] = []

    def __enter__(self) -> Holder:
        _here.holder = self
        return self

    def __exit__(self, *_: object) -> None:
        _here.holder = None
        self.release()

    def hold(self, loop: asyncio.AbstractEventLoop, call: _Call) -> None:
        self._held.append((loop, call))
        if len(self._held) >= MOST_HELD:
            self.release()

    def release(self) -> None:
        if self._held:
            held, self._held = self._held, []
            for loop, call in held:
                _call(loop, call)


def _call(loop: asyncio.AbstractEventLoop, call: _Call) -> None:
    with contextlib.suppress(RuntimeError):
        if asyncio._get_running_loop() is loop:
            loop.call_soon(call)  # without a byte that wakes it
        else:
            loop.call_soon_threadsafe(call)
