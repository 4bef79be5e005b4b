"""Watch: tasks and child processes without which the engine is useless.

A child process that dies raises no exception in this process, and a task that fails is noticed only
when it is awaited, which may never happen.

Rules
  1. A child's end is fatal unless it ended with 0 or by TERM, which is how children are stopped on
     purpose, or its status cannot be known (it is another process's child). With `any_end` every
     end is fatal.
  2. The status is read without reaping the child, so the code that started it still gets it.
  3. Once the supervisor cleans up, ends are expected and not reported.

Threads: methods from any; one daemon thread waits for all children.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import select
import signal
import sys
import threading
import traceback
import weakref
from typing import Any, Callable, Optional, Union

from . import threads
from .errors import InvalidArgument
from .wake_pipe import WakePipe

Report = Callable[[str, str], object]  # reason, detail
Forget = Callable[[], None]
Child = tuple[int, Any, str, bool]  # pid, process, name, any_end

_FIND_EVERY = 0.5  # seconds between searches for new children of multiprocessing
_STATUS_WITHIN = 1.0  # seconds in which another thread's wait has to report its result

_log = logging.getLogger("lastcall")
_watchers: weakref.WeakSet[ChildWatcher] = weakref.WeakSet()


class ChildWatcher:
    """Reports children that died. `is_over` returns whether ends are now expected."""

    def __init__(self, report: Report, is_over: Callable[[], bool]) -> None:
        self._report = report
        self._is_over = is_over
        self._lock = threading.Lock()
        self._children: dict[int, Child] = {}  # by pidfd
        self._finds = False
        self._found: weakref.WeakSet[Any] = weakref.WeakSet()
        self._closed = False
        self._pipe = WakePipe()
        self._thread: Optional[threading.Thread] = None
        _watchers.add(self)

    def find_children(self) -> None:
        """From now on each child that multiprocessing starts is watched.

        Raises OSError without a descriptor and RuntimeError without a thread.
        """
        with self._lock:
            self._finds = True
            self._start()

    def add(self, process: Any, name: str, any_end: bool) -> Forget:
        pid = process if isinstance(process, int) else process.pid
        if pid is None:
            raise InvalidArgument(f"cannot watch {name}: it has not been started")
        if not hasattr(os, "pidfd_open"):
            raise NotImplementedError(f"cannot watch {name}: this system has no pidfd_open")
        try:
            if told_code(process) is not None:
                raise ProcessLookupError  # its pid may belong to another process by now
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            self._died(pid, process, name, any_end)
            return lambda: None
        with self._lock:
            if self._closed:
                os.close(fd)
                return lambda: None
            try:
                self._start()
            except (OSError, RuntimeError):  # no descriptor or thread: the caller may try again
                os.close(fd)
                raise
            child = self._children[fd] = pid, process, name, any_end
            self._pipe.wake()
        return lambda: self._forget(fd, child)

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                self._pipe.wake()
                if self._thread is None:
                    self._release()

    def abandon(self) -> None:
        """For a forked child: the thread does not exist here, and the children are the parent's."""
        self._lock = threading.Lock()
        self._closed, self._thread = True, None
        self._release()

    # --- inside

    def _start(self) -> None:
        if self._thread is None and not self._closed:
            self._pipe.open()
            thread = threading.Thread(target=self._run, name="lastcall-watch", daemon=True)
            threads.start(thread)
            self._thread = thread

    def _release(self) -> None:
        self._pipe.close()
        while self._children:
            os.close(self._children.popitem()[0])

    def _forget(self, fd: int, child: Child) -> None:
        with self._lock:
            if self._take(fd, child):
                self._pipe.wake()

    def _take(self, fd: int, child: Child) -> bool:
        """With the lock held: removes the child. False if it is gone; another one may have the
        number."""
        if self._children.get(fd) is not child:
            return False
        del self._children[fd]
        os.close(fd)
        return True

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._closed:
                    self._release()
                    self._thread = None
                    return
                poll = select.poll()
                polled = dict(self._children)
                for fd in (self._pipe.reader, *polled):
                    poll.register(fd, select.POLLIN)
            ready = poll.poll(_FIND_EVERY * 1000 if self._finds else None)
            for fd, _ in ready:
                if fd == self._pipe.reader:
                    self._pipe.drain()
                    continue
                with self._lock:
                    has_ended = self._take(fd, polled[fd])
                if has_ended:
                    self._died(*polled[fd])
            if self._finds:
                self._find()

    def _find(self) -> None:
        module = sys.modules.get("multiprocessing.process")
        # Not active_children(), which reaps children that other code may be waiting for.
        for process in list(getattr(module, "_children", ())):
            if process not in self._found and process.pid is not None:
                self._found.add(process)
                try:
                    self.add(process, f"child process {process.name}", False)
                except (OSError, NotImplementedError) as error:
                    _log.warning("%s", error)

    def _died(self, pid: int, process: Any, name: str, any_end: bool) -> None:
        code = exit_code_of(pid, process)
        is_fine = not any_end and code in (None, 0, -signal.SIGTERM)
        if not (is_fine or self._closed or self._is_over()):
            self._report(f"{name} died", f"pid {pid} {describe_exit(code)}")


def exit_code_of(pid: int, process: Any) -> Optional[int]:
    """How a child ended: its code, or the negative number of its signal; None if unknown."""
    code = told_code(process)
    if code is not None:
        return code
    try:
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except OSError:  # reaped, or not our child: the thread that reaped it may be about to report it
        pause = threading.Event()
        for _ in range(20):
            pause.wait(_STATUS_WITHIN / 20)
            if told_code(process) is not None:
                break
        return told_code(process)
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def told_code(process: Any) -> Optional[int]:
    """The result that the process object already knows. `exitcode` is not used, because it
    reaps."""
    code = getattr(getattr(process, "_popen", process), "returncode", None)
    return code if isinstance(code, int) else None


def describe_exit(code: Optional[int]) -> str:
    if code is None:
        return "ended in an unknown way"
    if code >= 0:
        return f"exited with {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def watch_future(
    future: Union[asyncio.Future[Any], concurrent.futures.Future[Any]],
    name: str,
    any_end: bool,
    report: Report,
) -> Forget:
    """Reports the exception of a task or future, and its cancellation only with `any_end`."""

    forgotten: list[bool] = []

    def on_done(done: Any) -> None:
        if forgotten:
            return
        error = None if done.cancelled() else done.exception()
        if error is not None and not isinstance(error, (SystemExit, KeyboardInterrupt)):
            lines = traceback.format_exception(type(error), error, error.__traceback__)
            report(f"{name} failed: {type(error).__name__}", "".join(lines))
        elif any_end:
            report(f"{name} ended", "was cancelled" if done.cancelled() else "returned")

    future.add_done_callback(on_done)
    remove: Optional[Callable[[Any], object]] = getattr(future, "remove_done_callback", None)

    def forget() -> None:
        forgotten.append(True)  # a callback cannot be removed from a concurrent future
        if remove is not None:
            remove(on_done)

    return forget


def _abandon_all() -> None:
    for watcher in list(_watchers):
        watcher.abandon()


os.register_at_fork(after_in_child=_abandon_all)
