"""Doubts: answers that are held back because an error in them may mean the engine's death.

Rules
  1. The supervisor is notified of each doubt at once, and again in the greeting of the next
     connection.
  2. `cleared` of a doubt is called at most once, on the link's thread and without a lock. It is not
     called if the engine is dead: then the request is cancelled.

Threads: all methods are called with the shared lock held.
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
        """Adds a doubt and returns the handle for forget()."""
        doubt = object()
        self._since[doubt] = (int(time.monotonic() * 1000), cleared)
        return doubt

    def forget(self, doubt: object) -> None:
        self._since.pop(doubt, None)

    def clear(self, at_ms: int) -> list[Cleared]:
        """Removes the doubts up to that instant, and returns the callbacks to call for them."""
        over = [doubt for doubt, (since, _) in self._since.items() if since <= at_ms]
        return [self._since.pop(doubt)[1] for doubt in over]
