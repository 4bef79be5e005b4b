"""Cut: a cancellation of a task that can be distinguished from those by other code.

From Python 3.11 on a task counts its cancellations, and `asyncio.timeout` uses that count to find
out to whom a CancelledError belongs. Some libraries leave the count raised, so it is compared with
its value at our cut, and the error itself carries our mark. Before 3.11 a cut that was fired is
taken for the only cancellation.

Threads: everything runs on the task's own thread.
"""

from __future__ import annotations

import asyncio
from typing import Any, Callable, Optional


class Cut:
    """Cancels the task that armed it, once, and only while it is armed."""

    def __init__(self) -> None:
        self._task: Optional[asyncio.Task[Any]] = None
        self._cancelled_before = 0
        self._cancelled_at_cut = 0
        self._settled = False
        self.fired = False

    def arm(self) -> None:
        self._task = asyncio.current_task()
        self._cancelled_before = _cancelling(self._task)

    def disarm(self) -> None:
        if self.fired and not self._settled:
            self.settle(None)  # the block has swallowed the error
        self._task = None

    def fire(self) -> None:
        if self._task is not None and not self.fired:
            self.fired = True
            self._cancelled_at_cut = _cancelling(self._task)
            self._task.cancel(self)

    def settle(self, error: Optional[BaseException]) -> bool:
        """Takes the cancellation back and returns whether `error` is ours. To be called once after
        `fire`."""
        self._settled = True
        uncancel: Optional[Callable[[], int]] = getattr(self._task, "uncancel", None)
        left = uncancel() if uncancel is not None else 0
        if not isinstance(error, asyncio.CancelledError) or left > self._cancelled_at_cut:
            return False
        if left <= self._cancelled_before:
            return True  # an inner scope also cancelled, took that back, and left the error to us
        return self in error.args or self._cancelled_at_cut == self._cancelled_before

    def was_cancelled(self) -> Optional[bool]:
        """Whether the task was cancelled since it armed this; None if that cannot be known."""
        if not hasattr(self._task, "cancelling"):
            return None
        return _cancelling(self._task) > self._cancelled_before


def _cancelling(task: Optional[asyncio.Task[Any]]) -> int:
    count: int = getattr(task, "cancelling", int)()
    return count
