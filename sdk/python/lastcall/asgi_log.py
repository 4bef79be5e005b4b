"""One line for a cut answer in the server's log, instead of a traceback.

A server breaks a connection in the middle of an answer only when its application fails, so the
middleware raises `Cancelled` for each request that is cut. uvicorn and hypercorn log that like any
failure, with 38 lines each, and during a stop, when people read the log.

Threads: any; logging has its own lock.
"""

from __future__ import annotations

import logging
from typing import Any, Optional

from .errors import Cancelled

# The loggers to which servers log the exceptions of applications.
SERVERS = ("uvicorn.error", "hypercorn.error")


class CutRequests(logging.Filter):
    """Turns the record of a request that was cut on purpose into one line; keeps all others."""

    def filter(self, record: logging.LogRecord) -> bool:
        cut = _cut_of(record.exc_info)
        if cut is not None:
            record.msg = "request %r was cut, and its connection closed: %s"
            record.args = (cut.request_id, cut.reason)
            record.exc_info = record.exc_text = None
            record.levelno, record.levelname = logging.INFO, logging.getLevelName(logging.INFO)
        return True


def _cut_of(exc_info: Any) -> Optional[Cancelled]:
    """The `Cancelled`, even if frameworks have wrapped it in groups of one exception."""
    error = exc_info[1] if exc_info else None
    while error is not None and not isinstance(error, Cancelled):
        inner: Any = getattr(error, "exceptions", ())
        error = inner[0] if len(inner) == 1 else None
    return error


def log_cuts_in_one_line() -> None:
    for name in SERVERS:
        logger = logging.getLogger(name)
        if not any(isinstance(each, CutRequests) for each in logger.filters):
            logger.addFilter(CutRequests())
