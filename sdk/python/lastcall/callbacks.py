"""Callbacks of the user's program, which run apart from the connection's thread.

Rules
  1. Each kind of callback (health, cleanup, ...) has a lane: its calls run one after the other, in
     order, on a daemon thread of its own. A health check that hangs delays neither a cancel nor
     the cleanup. The thread ends with the client.
  2. An awaitable that a callback returns, as that of a coroutine function, runs on the event loop
     that was running when the callback was registered.
  3. A callback that fails is logged and never stops the lane.
  4. If a lane cannot get a thread, the connection's thread does its jobs, because each question is
     asked only once and has to be answered. This does not apply to health checks, which the
     supervisor repeats.
  5. A lane blocks all signals except while it runs a callback: then it blocks those that the main
     thread blocks, and those that are pending when the call begins.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
import queue
import threading
import time
import traceback
from typing import Any, Awaitable, Callable, Optional, TypeVar, Union

from . import loops, threads, wire

_log = logging.getLogger("lastcall")

Job = Callable[[], None]
Send = Callable[[bytes], object]

# None or True: healthy. False: dead. A word of wire.HEALTH, alone or with a detail.
HealthAnswer = Union[None, bool, str, tuple[str, str]]
HealthCheck = Callable[[], Union[HealthAnswer, Awaitable[HealthAnswer]]]

# A decorated function keeps its own type.
H = TypeVar("H", bound=HealthCheck)
C = TypeVar("C", bound=Callable[[float], Any])
D = TypeVar("D", bound=Callable[[], Any])
P = TypeVar("P", bound=Callable[[str], Any])


class Lane:
    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.SimpleQueue[Optional[Job]] = queue.SimpleQueue()  # None: the end
        self._thread: Optional[threading.Thread] = None
        self._failed = False
        self._callbacks: list[Callable[..., Any]] = []

    @property
    def callbacks(self) -> list[Callable[..., Any]]:
        return list(self._callbacks)

    def add(self, callback: Callable[..., Any]) -> None:
        self._callbacks.append(_on_its_loop(callback))

    def post(self, job: Job) -> None:
        """Called only from the link's thread, which does the job itself if the lane has no
        thread."""
        if not self.offer(job):
            self._do(job)

    def offer(self, job: Job) -> bool:
        """Like `post`, but returns False if there is no thread for the job."""
        if self._thread is None:
            thread = threading.Thread(target=self._run, name=f"lastcall-{self._name}", daemon=True)
            try:
                threads.start(thread)
            except RuntimeError as error:
                if not self._failed:
                    _log.error("no thread for the %s callbacks: %s", self._name, error)
                self._failed = True
                return False
            self._thread, self._failed = thread, False
        self._jobs.put(job)
        return True

    def call_all(self, *arguments: object) -> None:
        for callback in self.callbacks:
            try:
                with threads.signals_of_main():
                    callback(*arguments)
            except Exception:
                _log.exception("the %s callback %r failed", self._name, callback)

    def close(self) -> None:
        """Ends the thread once it has done the jobs that it has."""
        self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._do(job)

    def _do(self, job: Job) -> None:
        try:
            job()
        except Exception:
            _log.exception("a %s callback failed", self._name)


class Callbacks:
    """The lanes, and the supervisor's questions to them."""

    def __init__(self) -> None:
        self._health_asked = False
        self.health = Lane("health")
        self.cleanup = Lane("cleanup")
        self.deregister = Lane("deregister")
        self.phase = Lane("phase")

    def close(self) -> None:
        """The connection is over, so nothing asks any more."""
        for lane in (self.health, self.cleanup, self.deregister, self.phase):
            lane.close()

    def check_health(self, send: Send) -> None:
        if self._health_asked:
            return  # the callback still runs; its answer serves for both

        def answer() -> None:
            try:
                status, detail = ask_health(self.health.callbacks)
            finally:
                self._health_asked = False
            send(wire.encode_clipped("health", "detail", detail, status=status))

        self._health_asked = True
        if not self.health.offer(answer):
            self._health_asked = False

    def leave_registries(self, send: Send) -> None:
        def answer() -> None:
            self.deregister.call_all()
            send(wire.encode("deregistered"))

        self.deregister.post(answer)

    def clean_up(self, send: Send, deadline: float) -> None:
        def answer() -> None:
            self.cleanup.call_all(max(0.0, deadline - time.monotonic()))
            send(wire.encode("cleanup.done"))

        self.cleanup.post(answer)


class Hooks:
    """The client's `on_*` methods. Each works as a decorator; several may be registered."""

    def __init__(self) -> None:
        self._callbacks = Callbacks()

    def on_health(self, callback: H) -> H:
        """Answers the supervisor's `ipc` health check.

        None or True mean healthy, False or an exception mean dead; or return "healthy", "busy" or
        "dead", alone or in a tuple with a detail. The worst of several answers counts. If a
        callback hangs there is no answer, which the supervisor takes for slowness.
        """
        self._callbacks.health.add(callback)
        return callback

    def on_cleanup(self, callback: C) -> C:
        """Called once everything in flight has ended, with the seconds left."""
        self._callbacks.cleanup.add(callback)
        return callback

    def on_deregister(self, callback: D) -> D:
        """Called when routers have to stop sending requests here; returning confirms it.

        The supervisor asks every process that has such a callback, whatever its configuration.
        """
        self._callbacks.deregister.add(callback)
        self._joins_registries()
        return callback

    def _joins_registries(self) -> None:
        """Notifies the supervisor that there is a callback to ask."""
        raise NotImplementedError

    def on_phase(self, callback: P) -> P:
        """Called with each new phase, in order."""
        self._callbacks.phase.add(callback)
        return callback


def _on_its_loop(callback: Callable[..., Any]) -> Callable[..., Any]:
    loop = asyncio._get_running_loop()
    if loop is None and loops.is_in_trio() and inspect.iscoroutinefunction(callback):
        raise RuntimeError(
            f"cannot call {getattr(callback, '__qualname__', callback)} back under trio: expected "
            "a plain function, which can call trio.from_thread.run with a trio_token"
        )

    # A plain function may return an awaitable, too: a lambda that calls a coroutine function does.
    async def result_of(given: Awaitable[Any]) -> Any:
        return await given

    def call(*arguments: object) -> Any:
        given = callback(*arguments)
        if not inspect.isawaitable(given):
            return given
        if loop is None or loop.is_closed():
            return asyncio.run(result_of(given))
        return asyncio.run_coroutine_threadsafe(result_of(given), loop).result()

    return functools.update_wrapper(call, callback)


def ask_health(callbacks: list[Callable[[], HealthAnswer]]) -> tuple[str, str]:
    """The worst of all answers; an exception counts as dead, with its traceback."""
    worst = ("healthy", "" if callbacks else "no health callback; the process answers")
    for callback in callbacks:
        try:
            with threads.signals_of_main():
                given = callback()
            answer = _read_health(given)
        except Exception:
            return "dead", traceback.format_exc()
        if answer[0] == "dead":
            return answer
        if answer[0] == "busy":
            worst = answer
    return worst


def _read_health(answer: HealthAnswer) -> tuple[str, str]:
    if answer is None or answer is True:
        return "healthy", ""
    if answer is False:
        return "dead", ""
    status, detail = (answer, "") if isinstance(answer, str) else answer
    wire.check_word(status, wire.HEALTH, "health status")
    return status, str(detail)
