"""Entry: one live request as it is reported to the supervisor, and its wait for admission.

Threads: always used under the ledger's lock.
"""

from __future__ import annotations

import concurrent.futures
import time
from typing import Any, Optional

from . import wire
from .context import Context
from .errors import LastcallError

Admission = concurrent.futures.Future  # True: admitted; False: started without admission


class Entry:
    __slots__ = ("context", "endpoint", "model", "stream", "parent", "priority", "way", "waiting",
                 "announced", "_began")  # fmt: skip

    def __init__(self, context: Context, endpoint: Optional[str], model: Optional[str],
                 stream: Optional[bool], parent: Optional[str],
                 priority: Optional[int], way: Optional[str] = None) -> None:  # fmt: skip
        self.context = context
        self.endpoint = endpoint
        self.model = model
        self.stream = stream
        self.parent = parent
        self.priority = priority
        self.way = way
        self.waiting: Optional[Admission[bool]] = None
        self.announced = False  # a supervisor was notified of it
        self._began = time.monotonic()

    def line(self, **how: Any) -> bytes:
        own = self.context.id()
        return wire.encode(
            "request.begin",
            id=own,
            root=self.context.root if self.context.root != own else None,
            parent=self.parent,
            endpoint=self.endpoint,
            model=self.model,
            stream=self.stream,
            priority=self.priority,
            way=self.way,
            **how,
        )

    def resumed_line(self) -> bytes:
        """The line for a request that began before the supervisor that reads the line."""
        return self.line(resumed=True, began_at_ms=int(self._began * 1000))

    def settle(self, *, admitted: bool = False, error: Optional[LastcallError] = None) -> None:
        """Ends the wait for admission; without an error the request runs from now on."""
        waiting = self.waiting
        if waiting is None or waiting.done():
            return
        try:
            if error is None:
                self.waiting = None
                waiting.set_result(admitted)
            else:
                waiting.set_exception(error)
        except concurrent.futures.InvalidStateError:
            pass  # the waiter was cancelled at this very moment, and withdraws the request
