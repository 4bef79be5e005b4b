"""What happened in one run, which observer saw it, in milliseconds of CLOCK_MONOTONIC.

Threads: any may add; readers get copies.
"""

import threading
import time
from dataclasses import dataclass, field


def now_ms():
    return time.monotonic_ns() // 1_000_000


@dataclass
class Event:
    at_ms: int
    who: str  # kit, kubelet, client, engine, a container's name
    what: str
    fields: dict = field(default_factory=dict)


class Transcript:
    def __init__(self):
        self._events, self._lock = [], threading.Lock()
        self.zero_ms = now_ms()

    def add(self, who, what, at_ms=None, **fields):
        event = Event(now_ms() if at_ms is None else at_ms, who, what, fields)
        with self._lock:
            self._events.append(event)
        return event

    def events(self, who=None, what=None, **fields):
        """In order of time, those that fit."""
        with self._lock:
            events = sorted(self._events, key=lambda event: event.at_ms)
        return [
            e for e in events
            if who in (None, e.who) and what in (None, e.what)
            and all(e.fields.get(key) == value for key, value in fields.items())
        ]  # fmt: skip

    def first(self, who=None, what=None, **fields):
        return next(iter(self.events(who, what, **fields)), None)

    def text(self, limit=80):
        """For people: seconds from the stop's beginning, or from the start where there was none."""
        stop = self.first("kubelet", "deletes the pod")
        zero = stop.at_ms if stop else self.zero_ms
        rows = []
        for e in self.events():
            words = " ".join(f"{key}={value}" for key, value in e.fields.items())
            rows.append(f"{(e.at_ms - zero) / 1000:+8.2f} s  {e.who:<9} {e.what} {words}".rstrip())
        if len(rows) > limit:
            rows[limit // 2 : len(rows) - limit // 2] = [f"   ... {len(rows) - limit} lines ..."]
        return "\n".join(rows)


def wait_until(condition, seconds):
    """Whether it came true in this time. The kit waits for events, never for time to pass."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            return None
        time.sleep(0.01)
