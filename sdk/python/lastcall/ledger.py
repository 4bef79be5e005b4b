"""Ledger: the live requests of this process, and the lines that report them to the supervisor.

Rules
  1. The table is authoritative, not the lines that were sent. `greeting` reports everything again:
     the live requests as `resumed`, their cancels, and the ends that no supervisor has read.
  2. A request that waits for admission asks again on each connection, and starts unadmitted when
     there has been no supervisor (no connection, or one without `welcome`) for `UNADMITTED_AFTER`
     seconds: only the first second of an absence delays a request. A close starts the requests that
     wait, and afterwards none waits.
  3. A supervisor that is connected acknowledges each question at once. If it has not done so for
     `SILENT_AFTER` seconds, it hangs, and counts as absent until it answers again.
  4. Memory grows only with live requests; at most `MAX_UNHEARD` ends wait for a supervisor, beyond
     that the oldest are forgotten.

Threads: all methods from any; the lock is the link's, so that the table and the queue never differ.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from typing import AbstractSet, Any, Callable, Iterator, Optional, Sequence

from . import wire
from .context import Context
from .entry import Admission, Entry
from .errors import Cancelled, InvalidArgument, Rejected
from .owner import Owner
from .peer import Line

UNADMITTED_AFTER = 1.0
SILENT_AFTER = 2.0
# An answer may have arrived while this process was stopped: it has this time to be read.
READ_WITHIN = 0.1
PROGRESS_EVERY = 0.5
MAX_UNCONFIRMED = 1024

React = Callable[[Optional[str]], None]  # called with None for an ack, else with the error


class Outlet:
    """The part of the session that the ledger uses: an outlet that may be closed at any moment."""

    enabled: bool
    connected: bool
    welcomed: bool
    lost_at: float

    def send(self, line: bytes, token: Optional[object] = None) -> bool:
        raise NotImplementedError

    def is_received_here(self) -> bool:
        """Whether this is the thread that receives the supervisor's answers."""
        raise NotImplementedError

    def expect(self, react: React) -> int:
        """Returns a new `seq`; `react` is called for its answer, with the lock held."""
        raise NotImplementedError

    def wake(self) -> None:
        raise NotImplementedError

    def read_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Lines may be read on this loop, which runs on this thread."""
        raise NotImplementedError


class Ledger(Owner):
    def __init__(self, lock: Any, outlet: Outlet) -> None:
        self._lock = lock
        self._outlet = outlet
        self._entries: dict[str, Entry] = {}
        self._waiting: dict[str, Entry] = {}
        self._unconfirmed: deque[Entry] = deque(maxlen=MAX_UNCONFIRMED)
        self._moved: set[str] = set()
        self._moved_at = 0.0
        self._closed = False
        self._asked: dict[int, float] = {}  # when; the questions without an answer, oldest first
        self._late_since: Optional[float] = None  # an answer has been late since then
        self._is_silent = False

    @property
    def enabled(self) -> bool:
        return self._outlet.enabled

    def is_received_here(self) -> bool:
        return self._outlet.is_received_here()

    def find(self, request_id: str) -> Optional[Context]:
        entry = self._entries.get(request_id)
        return entry.context if entry else None

    def live(self) -> list[Context]:
        with self._lock:
            return [entry.context for entry in self._entries.values()]

    def __len__(self) -> int:
        return len(self._entries)

    def begin(self, entry: Entry, admit: bool) -> Optional[Admission[bool]]:
        """Adds the request; returns the future of its admission if it has to wait for one."""
        request_id = entry.context.id()
        with self._lock:
            if request_id in self._entries:
                raise InvalidArgument(
                    f"cannot begin request {request_id!r}: the id is live already"
                )
            self._entries[request_id] = entry
            if self._closed or not self._outlet.enabled:
                return None
            if not admit or self._unadmitted_at() <= time.monotonic():
                if self._outlet.connected:
                    entry.announced = True
                    self._outlet.send(entry.resumed_line() if admit else entry.line())
                return None
            entry.waiting = Admission()
            self._waiting[request_id] = entry
            if self._outlet.connected:
                self._outlet.send(self._question(entry))
            self._outlet.wake()  # so that its timer takes this request into account
            return entry.waiting

    def reset(self, lock: Any) -> None:
        """In a forked child: empties the ledger and sets a lock that no lost thread can hold."""
        self._lock = lock
        self._entries.clear()
        self._waiting.clear()
        self._unconfirmed.clear()
        self._moved.clear()
        self._forget_questions()

    def close(self) -> None:
        """Called when no answer will come any more."""
        with self._lock:
            self._closed = True
            self._start_unadmitted()

    # --- Owner: what the contexts report

    def raised(self, contexts: Sequence[Context], notified: AbstractSet[str]) -> None:
        given_up: list[Entry] = []
        with self._lock:
            entries = [each for each in map(self._entry_of, contexts) if each is not None]
            for entry in entries:
                if self._waiting.pop(entry.context.id(), None) is not None:
                    given_up.append(entry)
            news = [entry for entry in entries if entry.context.id() not in notified]
            for line in _cancel_lines(news):
                self._outlet.send(line)
        for entry in given_up:
            cause = entry.context.cause or "control"
            entry.settle(error=Cancelled(entry.context.id(), cause))

    def ended(self, context: Context, outcome: str) -> None:
        with self._lock:
            entry = self._entry_of(context)
            if entry is None:
                return
            del self._entries[context.id()]
            self._moved.discard(context.id())
            self._waiting.pop(context.id(), None)
            if not entry.announced:
                return
            line = wire.encode("request.end", id=context.id(), outcome=outcome)
            if context.is_stopped() and not context.is_confirmed():
                line = wire.encode("cancel.done", id=context.id()) + line
            # A request that was never admitted ends with its connection and need not be reported.
            token = entry if entry.waiting is None else None
            if not self._outlet.send(line, token) and token is not None:
                self._unconfirmed.append(token)

    def confirmed(self, context: Context) -> None:
        with self._lock:
            if self._entry_of(context) is not None:
                self._outlet.send(wire.encode("cancel.done", id=context.id()))

    def progress(self, request_id: str) -> None:
        # In the common case, another token within the interval, no lock is taken.
        if request_id in self._moved or not self._outlet.connected:
            return
        with self._lock:
            if request_id in self._entries:
                self._moved.add(request_id)
                if len(self._moved) == 1:
                    self._outlet.wake()

    def awaited_on(self, loop: asyncio.AbstractEventLoop) -> None:
        self._outlet.read_on(loop)

    def tracks(self, context: Context) -> bool:
        return self._entry_of(context) is not None

    # --- connections and timers

    def announcement(self) -> tuple[int, list[Line]]:
        """The number of live requests to report to a new supervisor, and the lines that report
        them."""
        running = [entry for entry in self._entries.values() if entry.waiting is None]
        unconfirmed = list(self._unconfirmed)
        self._unconfirmed.clear()
        lines: list[Line] = []
        for entry in unconfirmed:
            end = wire.encode("request.end", id=entry.context.id(), outcome=entry.context.outcome)
            lines.append((entry.resumed_line() + end, entry))
        for entry in running:
            entry.announced = True
            lines.append((entry.resumed_line(), None))
        lines.extend((line, None) for line in _cancel_lines(running))
        for entry in running:
            if entry.context.is_confirmed():
                lines.append((wire.encode("cancel.done", id=entry.context.id()), None))
        lines.extend((self._question(entry), None) for entry in self._waiting.values())
        return len(running) + len(unconfirmed), lines

    def lost(self, tokens: list[object]) -> None:
        self._unconfirmed.extend(token for token in tokens if isinstance(token, Entry))
        self._moved.clear()
        self._forget_questions()

    def tick(self, now: float) -> Optional[float]:
        """Sends and starts what is due; returns when something is due next."""
        due = [*self._tick_admission(now), *self._tick_progress(now)]
        return min(due) if due else None

    def admitted(self, request_id: str) -> None:
        entry = self._waiting.pop(request_id, None)
        if entry is not None:
            entry.settle(admitted=True)

    def rejected(self, rejected: Rejected) -> None:
        request_id = rejected.request_id
        entry = self._waiting.pop(request_id, None)
        if entry is not None:
            del self._entries[request_id]
            entry.settle(error=rejected)
            return
        # The request had started without admission when this answer was on its way, so the
        # supervisor has to count it.
        running = self._entries.get(request_id)
        if running is not None and running.waiting is None:
            self._outlet.send(running.resumed_line())

    # --- inside, with the lock held

    def _entry_of(self, context: Context) -> Optional[Entry]:
        entry = self._entries.get(context.id())
        return entry if entry is not None and entry.context is context else None

    def _question(self, entry: Entry) -> bytes:
        def react(error: Optional[str]) -> None:
            self._asked.pop(seq, None)
            self._late_since, self._is_silent = None, False
            # A supervisor that cannot even read the question must not stop the engine.
            if error is not None and self._waiting.pop(entry.context.id(), None) is not None:
                entry.settle(admitted=False)

        entry.announced = True
        seq = self._outlet.expect(react)
        self._asked[seq] = time.monotonic()
        return entry.line(admit=True, seq=seq)

    def _forget_questions(self) -> None:
        self._asked.clear()
        self._late_since, self._is_silent = None, False

    def _unadmitted_at(self) -> float:
        """The time from which on no request waits for admission any more."""
        if self._is_silent:
            return 0.0
        return math.inf if self._outlet.welcomed else self._outlet.lost_at + UNADMITTED_AFTER

    def _tick_admission(self, now: float) -> Iterator[float]:
        if not self._waiting:
            return
        if self._outlet.welcomed and not self._is_silent:
            yield from self._listen(now)
        unadmitted_at = self._unadmitted_at()
        if unadmitted_at <= now:
            self._start_unadmitted()
        elif math.isfinite(unadmitted_at):
            yield unadmitted_at

    def _listen(self, now: float) -> Iterator[float]:
        """Finds out whether the supervisor still answers."""
        late_at = next(iter(self._asked.values()), math.inf) + SILENT_AFTER
        if now < late_at:
            if math.isfinite(late_at):
                yield late_at
            return
        if self._late_since is None:
            self._late_since = now
        self._is_silent = now >= self._late_since + READ_WITHIN
        if not self._is_silent:
            yield self._late_since + READ_WITHIN

    def _start_unadmitted(self) -> None:
        given_up = list(self._waiting.values())
        self._waiting.clear()
        for entry in given_up:
            entry.settle(admitted=False)

    def _tick_progress(self, now: float) -> Iterator[float]:
        if not self._moved or not self._outlet.connected:
            return
        if now < self._moved_at + PROGRESS_EVERY:
            yield self._moved_at + PROGRESS_EVERY
            return
        for line in wire.encode_ids("request.progress", self._moved):
            self._outlet.send(line)
        self._moved.clear()
        self._moved_at = now


def _cancel_lines(entries: Sequence[Entry]) -> Iterator[bytes]:
    """One line for all requests that were cancelled in the same way."""
    groups: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        context = entry.context
        if context.is_stopped():
            mode = "kill" if context.is_killed() else "stop"
            groups.setdefault((mode, context.reason or "control"), []).append(context.id())
    for (mode, reason), ids in groups.items():
        yield from wire.encode_ids("cancel", ids, mode=mode, reason=reason)
