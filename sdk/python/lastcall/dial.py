"""Dial: one attempt to reach the supervisor's socket."""

from __future__ import annotations

import os
import socket
from typing import Optional

MAX_PATH = 107  # sockaddr_un has 108 bytes, one of them the final zero


def check_path(path: str) -> str:
    size = len(os.fsencode(path))
    if size > MAX_PATH:
        raise ValueError(
            f"cannot connect to {path!r}: {size} bytes, but a Unix socket path has at most "
            f"{MAX_PATH}"
        )
    return path


def dial(path: str) -> Optional[socket.socket]:
    """None when nobody is there, and when the process has no descriptor left for now."""
    connection = None
    try:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setblocking(False)
        connection.connect(path)
    except OSError:
        if connection is not None:
            connection.close()
        return None
    return connection
