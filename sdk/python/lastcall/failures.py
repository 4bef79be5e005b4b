"""The client's methods that report that the engine is dead.

Each of them sends one `fatal`, of which the first counts: called by hand, from a guarded block,
from a watched task or child process; `uncaught` reports uncaught exceptions.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
import inspect
import logging
import os
import sys
import traceback
from typing import Any, AsyncIterator, Callable, Generator, Optional, TypeVar, Union, cast

from . import session, uncaught, wire
from .callbacks import Callbacks
from .errors import ExitError, ExitKind, ExitTrace, concerns_a_request
from .watch import ChildWatcher, Forget, Report, watch_future

Function = TypeVar("Function", bound=Callable[..., Any])

_log = logging.getLogger("lastcall")

_ENDED = frozenset(("cleaning_up", "exited"))


class Guard(contextlib.ContextDecorator):
    """The result of `guard`, for any number of blocks, in tasks and in threads."""

    def __init__(self, report: Report, name: str) -> None:
        self._report = report
        self._name = name

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, kind: ExitKind, error: ExitError, trace: ExitTrace) -> None:
        if isinstance(error, Exception) and not concerns_a_request(error):
            detail = "".join(traceback.format_exception(type(error), error, trace))
            self._report(f"{self._name} failed: {type(error).__name__}", detail)

    def __call__(self, function: Function) -> Function:
        if inspect.iscoroutinefunction(function):
            wrap = self._around_coroutine
        elif inspect.isasyncgenfunction(function):
            wrap = self._around_async_generator
        elif inspect.isgeneratorfunction(function):
            wrap = self._around_generator
        else:
            return super().__call__(function)
        return cast(Function, functools.update_wrapper(wrap(function), function))

    def _around_coroutine(self, function: Any) -> Any:
        async def call(*arguments: Any, **named: Any) -> Any:
            with self:
                return await function(*arguments, **named)

        return call

    def _around_generator(self, function: Any) -> Any:
        def stream(*arguments: Any, **named: Any) -> Generator[Any, Any, Any]:
            with self:
                return (yield from function(*arguments, **named))

        return stream

    def _around_async_generator(self, function: Any) -> Any:
        async def stream(*arguments: Any, **named: Any) -> AsyncIterator[Any]:
            with self:
                items = function(*arguments, **named)
                try:
                    step = items.__anext__()
                    while True:
                        try:
                            item = await step
                        except StopAsyncIteration:
                            return
                        # The caller's sends, throws and close are passed on to the generator.
                        try:
                            sent = yield item
                        except GeneratorExit:
                            raise
                        except BaseException as error:
                            step = items.athrow(error)
                        else:
                            step = items.asend(sent)
                finally:
                    await items.aclose()

        return stream


class Failures:
    _watcher: Optional[ChildWatcher] = None
    _callbacks: Callbacks

    @property
    def _session(self) -> session.Session:
        raise NotImplementedError

    def report_fatal(
        self, reason: str, detail: Optional[str] = None, *, timeout: float = 1.0
    ) -> bool:
        """Reports that the engine is dead: the supervisor starts a fatal stop. The first report
        counts.

        `detail` is by default the traceback of the exception being handled. Blocks until a
        supervisor has acknowledged, for at most `timeout` seconds; returns whether one has. If not,
        the report is sent later. If none is connected, the report is also logged.
        """
        # A program that fails may pass on the exception itself, which must not cost the report.
        reason, detail = str(reason), None if detail is None else str(detail)
        if detail is None:
            detail = traceback.format_exc() if sys.exc_info()[0] is not None else ""
        if not self._session.welcomed:
            _log.critical(
                "fatal, and no lastcall supervisor is connected: %s%s",
                reason, f"\n{detail}" if detail else "",
            )  # fmt: skip
        acknowledged = self._session.report_fatal(wire.clip_name(reason), detail)
        if acknowledged is None:
            return False
        try:
            return acknowledged.result(timeout)
        except Exception:
            return False

    def guard(self, name: str) -> Guard:
        """An exception that leaves the block, or the function that this decorates, is fatal.

        It is meant for loops that keep the engine alive. The function may be a generator, and
        either may be asynchronous. The exception is raised on; a request's own `Cancelled` and
        `Rejected` are not failures, and neither is a cancelled task.
        """
        return Guard(self._report_end, name)

    def watch(
        self, what: Any, name: Optional[str] = None, *, any_end: bool = False
    ) -> Forget:
        """The engine is dead if this task, future or child process ends. Returns a function that
        ends the watch.

        A task's exception is fatal and reported with its traceback; so is the end of a child unless
        it ends with 0 or by TERM. With `any_end` every end is fatal. A child is anything with a
        `pid` (from subprocess, asyncio or multiprocessing), or the pid itself. It is not reaped. An
        end after the supervisor has begun to clean up is not reported. Without a socket children
        are not watched.
        """
        if isinstance(what, (asyncio.Future, concurrent.futures.Future)):
            return watch_future(what, name or _name_of(what), any_end, self._report_end)
        if not self._session.enabled:
            return lambda: None
        if not isinstance(what, int) and not hasattr(what, "pid"):
            raise TypeError(f"cannot watch {what!r}: expected a task, a future or a process")
        return self._children().add(what, name or _name_of(what), any_end)

    # --- inside

    def _become_critical(self, report_uncaught: Optional[uncaught.Choice]) -> None:
        """Makes a client critical that was made while this process could not be critical yet."""
        if self._session.send_critical() and self._session.enabled:
            self._report_failures(report_uncaught or "all")

    def _report_failures(self, choice: uncaught.Choice) -> None:
        uncaught.install(self._report_uncaught, choice)
        if choice == "all" and hasattr(os, "pidfd_open") and not self._find_children():
            # Where a supervisor can be reached, there may be room for this as well.
            self._callbacks.phase.add(lambda _: self._find_children())

    def _find_children(self) -> bool:
        try:
            self._children().find_children()
        except (OSError, RuntimeError) as error:  # the engine runs on without it
            _log.error("child processes are not watched, trying again later: %s", error)
            return False
        return True

    def _stop_reporting(self) -> None:
        uncaught.remove(self._report_uncaught)
        if self._watcher is not None:
            self._watcher.close()

    def _children(self) -> ChildWatcher:
        if self._watcher is None:
            self._watcher = ChildWatcher(self._report_end, self._is_over)
        return self._watcher

    def _report_uncaught(self, reason: str, detail: str) -> None:
        if not self._is_over():
            self.report_fatal(reason, detail)  # waits, because the process may end

    def _report_end(self, reason: str, detail: str) -> None:
        if not self._is_over():
            self.report_fatal(reason, detail, timeout=0)  # the event loop may call this

    def _is_over(self) -> bool:
        return self._session.phase in _ENDED


def _name_of(what: Union[asyncio.Future[Any], concurrent.futures.Future[Any], Any]) -> str:
    if isinstance(what, asyncio.Task):
        return f"task {what.get_name()}"
    if isinstance(what, (asyncio.Future, concurrent.futures.Future)):
        return "future"
    name = getattr(what, "name", None)
    return f"child process {name}" if isinstance(name, str) else "child process"
