"""WakePipe: wakes a thread that polls.

Rules
  1. It has descriptors only between `open` and `close`; `wake` does nothing outside of that.
  2. Both may be called again. The descriptors are closed only once, because their numbers may
     belong to other files afterwards.

Threads: the caller excludes `close` from the other calls.
"""

from __future__ import annotations

import contextlib
import os


class WakePipe:
    def __init__(self) -> None:
        self.reader = self._writer = -1

    @property
    def is_open(self) -> bool:
        return self.reader != -1

    def open(self) -> None:
        """Raises OSError if no descriptor is free."""
        if not self.is_open:
            self.reader, self._writer = os.pipe()
            os.set_blocking(self.reader, False)
            os.set_blocking(self._writer, False)

    def wake(self) -> None:
        if self.is_open:
            with contextlib.suppress(BlockingIOError):  # it is full, so the thread wakes anyway
                os.write(self._writer, b"w")

    def drain(self) -> None:
        os.read(self.reader, 64)

    def close(self) -> None:
        if self.is_open:
            os.close(self.reader)
            os.close(self._writer)
            self.reader = self._writer = -1
