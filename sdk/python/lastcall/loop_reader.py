"""LoopReader: the program's event loop reads the connection in place of the link's thread.

A cancel that the link's thread reads has to wake that thread first and then the loop's, where a
task awaits it. Read on the loop it needs one wake-up: after a pause that takes a fifth less time.

Rules
  1. It has a duplicate of the descriptor, which only the loop's thread uses and closes, so that a
     loop that is busy when the connection ends never polls a descriptor that belongs to another
     file by then.
  2. It is made on the running loop, and ends with the connection, or when the link retires it.

Threads: the constructor on the loop's thread, `retire` and `abandon` on any.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Callable

from .incoming import Incoming
from .wire import Message


class LoopReader:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        connection: socket.socket,
        incoming: Incoming,
        receive: Callable[[Message], bool],
        hand_over: Callable[[], None],
    ) -> None:
        """`hand_over`: called when something waits for the link's thread.

        Raises NotImplementedError for a loop that cannot poll, and OSError without a descriptor.
        """
        self._loop = loop
        self._incoming = incoming
        self._receive = receive
        self._hand_over = hand_over
        self._connection = connection.dup()
        try:
            loop.add_reader(self._connection.fileno(), self._read)
        except BaseException:
            self._connection.close()
            raise

    @property
    def is_open(self) -> bool:
        return self._connection.fileno() != -1 and not self._loop.is_closed()

    def retire(self) -> None:
        """The link's thread reads alone from now on."""
        try:
            self._loop.call_soon_threadsafe(self._close)
        except RuntimeError:  # the loop is closed, so it polls nothing any more
            self._connection.close()

    def abandon(self) -> None:
        """In a forked child, which shares the loop's epoll set with its parent: closes only the
        duplicate."""
        self._connection.close()

    def _read(self) -> None:
        is_for_thread = self._incoming.read_on_loop(self._connection, self._receive)
        if not self._incoming.takes_more:
            self._close()
        if is_for_thread:
            self._hand_over()

    def _close(self) -> None:
        if self._connection.fileno() != -1:
            self._loop.remove_reader(self._connection.fileno())
            self._connection.close()
