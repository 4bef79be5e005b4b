"""Doubts: answers that are held back, because an error in them may be the engine's death.

Rules
  1. The supervisor is notified of each at once, and again by the greeting of the next connection.
  2. `cleared` of a doubt is called once at most, on the link's thread and with no lock held. It is
     not called where the engine is dead: then the request is cancelled.

Threads: with the shared lock held.
"""

from __future__ import annotations

import time
from typing import Callable

Cleared = Callable[[], object]


class Doubts:
    def __init__(self) -> None:
        self._since: dict[object, tuple[int, Cleared]] = {}

    def __bool__(self) -> bool:
        return bool(self._since)

    def add(self, cleared: Cleared) -> object:
        """What forget() takes."""
        doubt = object()
        self._since[doubt] = (int(time.monotonic() * 1000), cleared)
        return doubt

    def forget(self, doubt: object) -> None:
        self._since.pop(doubt, None)

    def clear(self, at_ms: int) -> list[Cleared]:
        """What is to be called now that nothing up to that instant is in doubt any more."""
        over = [doubt for doubt, (since, _) in self._since.items() if since <= at_ms]
        return [self._since.pop(doubt)[1] for doubt in over]
