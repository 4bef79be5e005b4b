"""Dial: attempts to reach the supervisor's socket.

A supervisor may start later or be away for a while, so a single failed attempt is not reported. If
all attempts fail, for example because of a wrong path or missing permissions, that is reported,
because nothing else would show it.

Threads: only the link's.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from typing import Optional

from .errors import InvalidArgument

MAX_PATH = 107  # sockaddr_un has 108 bytes, one of them the final zero
COMPLAIN_AFTER = 5.0

_log = logging.getLogger("lastcall")


def check_path(path: str) -> str:
    """Returns the path if a Unix socket can have it, otherwise raises InvalidArgument."""
    size = len(os.fsencode(path))
    if size > MAX_PATH:
        raise InvalidArgument(
            f"cannot connect to {path!r}: {size} bytes, but a Unix socket path has at most "
            f"{MAX_PATH}"
        )
    if "\0" in path:
        raise InvalidArgument(f"cannot connect to {path!r}: expected a path without a zero byte")
    return path


class Dialer:
    def __init__(self, path: str) -> None:
        self._path = check_path(path)
        self._failing_since: Optional[float] = None
        self._last_problem = ""

    def dial(self) -> Optional[socket.socket]:
        """None if no supervisor is there, or if the process currently has no descriptor left."""
        connection = None
        try:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.setblocking(False)
            connection.connect(self._path)
        except OSError as error:
            if connection is not None:
                connection.close()
            self._failed(error)
            return None
        self._failing_since = None
        self._last_problem = ""
        return connection

    def _failed(self, error: OSError) -> None:
        now = time.monotonic()
        if self._failing_since is None:
            self._failing_since = now
        elif now - self._failing_since >= COMPLAIN_AFTER and self._last_problem != str(error):
            self._last_problem = str(error)
            _log.warning(
                "cannot connect to the lastcall supervisor at %s: %s; trying again",
                self._path, os.strerror(error.errno or 0),
            )  # fmt: skip
