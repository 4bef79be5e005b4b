"""Tells the supervisor of uncaught exceptions, then lets the previous hook do its work.

An uncaught exception on the main thread ends the process: the report adds its traceback to what
the supervisor would otherwise only see as an exit. On another thread it ends only that thread,
which is fatal for an engine's worker and harmless for a telemetry thread; hence the choice.

Threads: `install` and `remove` from any; the hooks run on the thread that failed.
"""

from __future__ import annotations

import sys
import threading
import traceback
from types import TracebackType
from typing import Callable, Literal, Optional

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


def remove(report: Report) -> None:
    _reports.pop(report, None)


def _on_main(
    kind: type[BaseException], error: BaseException, trace: Optional[TracebackType]
) -> None:
    # Ctrl-C is an order, not a failure.
    if not issubclass(kind, KeyboardInterrupt):
        detail = "".join(traceback.format_exception(kind, error, trace))
        for report in list(_reports):
            report(f"uncaught {kind.__name__}", detail)
    _previous_main(kind, error, trace)


def _on_thread(failure: threading.ExceptHookArgs) -> None:
    kind = failure.exc_type
    if not issubclass(kind, SystemExit):
        name = failure.thread.name if failure.thread else "unknown"
        detail = "".join(
            traceback.format_exception(kind, failure.exc_value, failure.exc_traceback)
        )
        for report, choice in list(_reports.items()):
            if choice == "all":
                report(f"uncaught {kind.__name__} in thread {name}", detail)
    _previous_thread(failure)
