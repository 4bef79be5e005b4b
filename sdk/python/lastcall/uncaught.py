"""Reports uncaught exceptions to the supervisor, then calls the previous hook.

An uncaught exception on the main thread ends the process: the report adds the traceback to an end
that the supervisor would otherwise only see as an exit. On another thread it ends only that thread,
which is fatal for an engine's worker but harmless for a telemetry thread; hence the choice. The
cancel or the refusal of a request is harmless there in either case.
multiprocessing calls no hook for the target of a child. Up to Python 3.12 it runs its finalizers
while the exception is being raised; for later versions use `Client.guard` around the target.

A forked child has made no choice yet: the choices of its parent's clients end with the fork.

Threads: `install` and `remove` from any; the hooks run on the thread that failed.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from types import TracebackType
from typing import Callable, Literal, Optional

from .errors import concerns_a_request

Choice = Literal["all", "main", "off"]
Report = Callable[[str, str], object]  # reason, traceback

_reports: dict[Report, Choice] = {}
_previous_main = sys.excepthook
_previous_thread = threading.excepthook
_installed = False


def install(report: Report, choice: Choice) -> None:
    global _installed, _previous_main, _previous_thread
    if choice == "off":
        return
    _reports[report] = choice
    if not _installed:
        _installed = True
        _previous_main, sys.excepthook = sys.excepthook, _on_main
        _previous_thread, threading.excepthook = threading.excepthook, _on_thread
    at_child_end(_on_child_end, priority=100)


def at_child_end(callback: Callable[[], object], *, priority: int) -> None:
    """Calls back at the end of a child of multiprocessing, which may not run atexit; elsewhere does
    nothing."""
    module = sys.modules.get("multiprocessing")
    if module is not None and module.parent_process() is not None:
        sys.modules["multiprocessing.util"].Finalize(None, callback, exitpriority=priority)


def remove(report: Report) -> None:
    _reports.pop(report, None)


def _on_main(
    kind: type[BaseException], error: BaseException, trace: Optional[TracebackType]
) -> None:
    # Ctrl-C is a command, not a failure.
    if not issubclass(kind, KeyboardInterrupt):
        detail = "".join(traceback.format_exception(kind, error, trace))
        for report in list(_reports):
            report(f"uncaught {kind.__name__}", detail)
    _previous_main(kind, error, trace)


def _on_child_end() -> None:
    kind, error, trace = sys.exc_info()
    if kind is not None and error is not None and issubclass(kind, Exception):
        detail = "".join(traceback.format_exception(kind, error, trace))
        for report in list(_reports):
            report(f"uncaught {kind.__name__} in {threading.current_thread().name}", detail)


def _on_thread(failure: threading.ExceptHookArgs) -> None:
    kind = failure.exc_type
    if not issubclass(kind, SystemExit) and not concerns_a_request(failure.exc_value):
        name = failure.thread.name if failure.thread else "unknown"
        detail = "".join(
            traceback.format_exception(kind, failure.exc_value, failure.exc_traceback)
        )
        for report, choice in list(_reports.items()):
            if choice == "all":
                report(f"uncaught {kind.__name__} in thread {name}", detail)
    _previous_thread(failure)


os.register_at_fork(after_in_child=_reports.clear)
