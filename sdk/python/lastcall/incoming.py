"""Incoming: the lines of one connection, which the link's thread or the program's loop reads.

Rules
  1. Lines are handled in the order in which they came, whoever reads them. So the loop handles none
     while the thread has one, or while an earlier one waits for the thread.
  2. The loop handles only lines for which `Peer.receive_on_loop` returns True. The end of the
     connection, and bytes that are not lines, wait for the thread.
  3. Memory is bounded: the loop stops to read when `MOST_WAITING` lines wait for the thread.

Threads: `read` and `take` on the link's thread, `read_on_loop` on the loop's.
"""

from __future__ import annotations

import socket
import threading
from collections import deque
from typing import Callable, Optional

from .wire import LineReader, Message, WireError, decode

MOST_WAITING = 256

_READ_SIZE = 64 * 1024


class Incoming:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reader = LineReader()
        self._lines: deque[bytes] = deque()
        self._is_taken = False  # the link's thread handles a line
        self.is_ended = False
        self.fault: Optional[WireError] = None  # of the bytes after the lines

    @property
    def takes_more(self) -> bool:
        """Whether the loop may read on."""
        return not self.is_ended and self.fault is None and len(self._lines) < MOST_WAITING

    def end(self) -> None:
        """Nothing that still comes is handled."""
        with self._lock:
            self.is_ended = True
            self._lines.clear()

    def read(self, connection: socket.socket) -> bool:
        """Reads once, without blocking; returns whether there was something."""
        with self._lock:
            return self._read(connection)

    def take(self) -> Optional[bytes]:
        """Returns the next line; the one before it is handled now."""
        with self._lock:
            self._is_taken = bool(self._lines)
            return self._lines.popleft() if self._lines else None

    def read_on_loop(
        self, connection: socket.socket, receive: Callable[[Message], bool]
    ) -> bool:
        """Reads, and handles what it may; returns whether something waits for the link's thread."""
        with self._lock:
            self._read(connection)
            while self._lines and not self._is_taken and _is_received(self._lines[0], receive):
                self._lines.popleft()
            return bool(self._lines) or self.is_ended or self.fault is not None

    def _read(self, connection: socket.socket) -> bool:
        if self.is_ended or self.fault is not None:
            return False
        try:
            data = connection.recv(_READ_SIZE)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            data = b""
        if not data:
            self.is_ended = True
            return True
        try:
            self._lines.extend(self._reader.feed(data))
        except WireError as error:
            self.fault = error
        return True


def _is_received(line: bytes, receive: Callable[[Message], bool]) -> bool:
    try:
        return receive(decode(line))
    except WireError:  # for the link's thread, which refuses the line
        return False
