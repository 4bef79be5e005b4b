"""Peer: the interface that the link's user implements."""

from __future__ import annotations

from typing import Optional

from .wire import Message

Line = tuple[bytes, Optional[object]]  # bytes, token


class Peer:
    def greeting(self) -> list[Line]:
        raise NotImplementedError

    def receive(self, message: Message) -> None:
        raise NotImplementedError

    def receive_on_loop(self, message: Message) -> bool:
        """Called on the program's event loop, where no code of the program may run; False if the
        message is for the link's thread."""
        raise NotImplementedError

    def is_busy(self) -> bool:
        """Whether cancels are likely."""
        raise NotImplementedError

    def lost(self, tokens: list[object]) -> None:
        raise NotImplementedError

    def tick(self, now: float) -> Optional[float]:
        """Does what is due, and returns when it has to be called next, by the same clock."""
        raise NotImplementedError
