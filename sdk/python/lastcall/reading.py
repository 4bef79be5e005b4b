"""Reading: which thread reads the connection, the link's or that of the program's event loop.

A cancel that the link's thread reads wakes two threads one after the other: that one, and the one
of the loop on which a task awaits the cancel. If the loop reads it, only one is woken.

Rules
  1. The loop reads once a task on it awaits a cancel. While requests are live, the link's thread
     does not poll for lines then: it would be woken, too, and compete for the interpreter lock.
  2. A loop may be busy, so the thread looks every `LOOK_EVERY` seconds for bytes that were left.
  3. If it finds some, or if the loop must hand over a cancel because it would run a callback of the
     program, only the thread reads for the next `PAUSE` seconds.
  4. No lock is held while the lock of `incoming` is taken.

Threads: `read_on` on a running loop, `read_alone` on any, everything else on the link's thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
import time
from typing import Any, Callable, Optional

from .incoming import Incoming
from .loop_reader import LoopReader
from .peer import Peer

LOOK_EVERY = 0.05
PAUSE = 60.0

_LOOP_HAS_MS = 5  # to read what the thread has seen waiting


class Reading:
    """`lock`: the link's; `wake`: wakes its thread."""

    def __init__(self, lock: Any, peer: Peer, wake: Callable[[], None]) -> None:
        self._lock = lock
        self._peer = peer
        self._wake = wake
        self._connection: Optional[socket.socket] = None
        self.incoming = Incoming()
        self._loop_reader: Optional[LoopReader] = None
        self._paused_until = 0.0

    def begin(self, connection: socket.socket) -> None:
        with self._lock:
            self._connection = connection
            self.incoming = Incoming()

    def end(self) -> None:
        """Closes the connection."""
        self.incoming.end()
        with self._lock:
            connection, self._connection = self._connection, None
        self._retire(0.0)
        if connection is not None:
            with contextlib.suppress(OSError):  # the supervisor has closed it
                connection.shutdown(socket.SHUT_RDWR)  # the loop's duplicate would keep it open
            connection.close()

    def abandon(self) -> None:
        """In a forked child."""
        if self._connection is not None:
            self._connection.close()
        if self._loop_reader is not None:
            self._loop_reader.abandon()

    def read_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """A task of this loop awaits a cancel."""
        if self._is_on_loop() or time.monotonic() < self._paused_until:
            return
        with self._lock:
            if self._connection is None or self._is_on_loop() or not self.incoming.takes_more:
                return
            before, self._loop_reader = self._loop_reader, None
            try:
                self._loop_reader = LoopReader(
                    loop, self._connection, self.incoming, self._peer.receive_on_loop, self._wake
                )
            except (NotImplementedError, OSError):  # it cannot poll, or there is no descriptor
                self._paused_until = time.monotonic() + PAUSE
        if before is not None:
            before.retire()
        self._wake()  # so that the link's thread takes it into account

    def read_alone(self) -> None:
        """Only the link's thread reads for a while."""
        self._retire(PAUSE)

    def is_left_to_loop(self) -> bool:
        return self._is_on_loop() and self._peer.is_busy()

    def look(self) -> None:
        """Reads what the loop has left."""
        assert self._connection is not None
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        if poll.poll(0):
            select.poll().poll(_LOOP_HAS_MS)
            if self.read() and self._is_on_loop():  # a loop that is closed is not busy
                self.read_alone()

    def read(self) -> bool:
        assert self._connection is not None
        return self.incoming.read(self._connection)

    def _is_on_loop(self) -> bool:
        reader = self._loop_reader
        return reader is not None and reader.is_open

    def _retire(self, pause: float) -> None:
        with self._lock:
            reader, self._loop_reader = self._loop_reader, None
            self._paused_until = time.monotonic() + pause
        if reader is not None:
            reader.retire()
