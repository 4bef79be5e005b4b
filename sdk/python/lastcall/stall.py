"""Stall: reports a call on the connection's thread that does not return.

Some of the program's callbacks run on the connection's thread (those of contexts, and log
handlers). While one of them runs, nothing is sent to the supervisor and nothing is received from
it.

Rules
  1. Other threads check this when they have something to send, so no extra thread has to watch.
  2. Each call is reported once, with its stack.

Threads: `call` on the connection's thread, `report` on any.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
import traceback
from typing import Callable, Optional, TypeVar

PATIENCE = 5.0  # seconds; code that holds the interpreter lock for one or two is common

_log = logging.getLogger("lastcall")
_T = TypeVar("_T")


class Stall:
    def __init__(self) -> None:
        self._since: Optional[float] = None
        self._thread = 0

    def call(self, function: Callable[[_T], None], argument: _T) -> None:
        self._thread = threading.get_ident()
        self._since = time.monotonic()
        try:
            function(argument)
        finally:
            self._since = None

    def report(self) -> None:
        since, now = self._since, time.monotonic()
        if since is None or now - since < PATIENCE or self._thread == threading.get_ident():
            return
        self._since = None
        stack = traceback.format_stack(sys._current_frames().get(self._thread))
        _log.error(
            "the lastcall connection has been held up for %.1f s, probably by a callback that "
            "blocks; nothing reaches the supervisor until it returns:\n%s",
            now - since, "".join(stack),
        )  # fmt: skip
