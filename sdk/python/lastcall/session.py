"""Session: the protocol with the supervisor, from hello to the last answer.

Rules
  1. The connection may end at any moment; on the next one the greeting reports the whole state.
  2. Every line with a `seq` is answered by `ack` or `error`; these are never answered themselves.
  3. User code runs on the lanes of `callbacks`; contexts are cancelled without a lock.

Threads: all methods from any; `Peer` methods on the link's thread.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import math
import os
import threading
import time
import weakref
from typing import Any, Callable, Optional

from . import wire
from .callbacks import Callbacks
from .context import NotOnLoop
from .doubts import Cleared, Doubts
from .errors import Rejected
from .ledger import Ledger, Outlet, React
from .link import Link
from .peer import Line, Peer
from .refused import Refused
from .tree import KILLED, STOPPED

_log = logging.getLogger("lastcall")
_sessions: weakref.WeakSet[Session] = weakref.WeakSet()


class Session(Peer, Outlet):
    def __init__(self, path: Optional[str], hello: wire.Message, callbacks: Callbacks) -> None:
        self._lock = threading.RLock()
        self._hello = hello
        self._callbacks = callbacks
        self.endpoints: dict[str, bool] = {}
        self.path = path
        self.is_over = False  # closed by its client, or forked away
        self._seq = 0
        self._answers: dict[int, React] = {}
        self._fatal: Optional[tuple[str, str, concurrent.futures.Future[bool]]] = None
        self.welcome: Optional[wire.Message] = None
        self.lost_at = time.monotonic()
        self.phase: Optional[str] = None
        self.deadline_at_ms: Optional[int] = None
        self.ledger = Ledger(self._lock, self)
        self._doubts = Doubts()
        self._refused = Refused()
        self._link = Link(path, self._lock, self) if path else None
        if self._link is not None and not self._link.start():
            self.lost_at = -math.inf  # no request waits for an answer that no thread can receive
        _sessions.add(self)

    # --- for the client

    def set_endpoint(self, name: str, graceful_shutdown: bool) -> None:
        with self._lock:
            if self.endpoints.get(name) is not graceful_shutdown:
                self.endpoints[name] = graceful_shutdown
                self._send("endpoint.register", endpoint=name, graceful_shutdown=graceful_shutdown)

    def drop_endpoint(self, name: str) -> None:
        with self._lock:
            if self.endpoints.pop(name, None) is not None:
                self._send("endpoint.unregister", endpoint=name)

    def announce_registration(self) -> None:
        """Announces that this process leaves its own registries when it is asked to."""
        self._send("registered")  # without a connection it is lost, but the next greeting has it

    def report_load(self, **load: Any) -> None:
        self._send("load", **load)

    def send_critical(self) -> bool:
        """Marks this process as critical; False if that was sent already."""
        with self._lock:
            is_news = not self._hello["critical"]
            self._hello["critical"] = True
            if is_news and self._link is not None:
                self._link.renew()
            return is_news

    def report_fatal(self, reason: str, detail: str) -> Optional[concurrent.futures.Future[bool]]:
        """Returns a future that is done when the supervisor has acknowledged; None without a
        socket."""
        with self._lock:
            if self._link is None:
                return None
            if self._fatal is None:
                self._fatal = (reason, detail, concurrent.futures.Future())
                if self.connected:
                    self._link.send(self._fatal_line())
            return self._fatal[2]

    def doubt(self, cleared: Cleared) -> object:
        """Asks whether the engine is alive; returns the handle for `forget_doubt`."""
        with self._lock:
            doubt = self._doubts.add(cleared)
            if self.connected:
                self.send(self._doubt_line())
            return doubt

    def forget_doubt(self, doubt: object) -> None:
        with self._lock:
            self._doubts.forget(doubt)

    def close(self, timeout: float) -> None:
        try:
            if self._link is not None:
                self._link.close(timeout)
        finally:
            self.ledger.close()
            self._callbacks.close()
            self._refused.end()

    def detach(self) -> None:
        """In a forked child: gives up the parent's connection and requests, which are not ours."""
        self._lock = threading.RLock()
        self.is_over = True
        link, self._link = self._link, None
        if link is not None:
            link.abandon()
        self.welcome = None
        self.ledger.reset(self._lock)

    # --- Outlet: what the ledger uses

    @property
    def enabled(self) -> bool:  # type: ignore[override]
        return self._link is not None

    @property
    def connected(self) -> bool:  # type: ignore[override]
        return self._link is not None and self._link.connected

    @property
    def welcomed(self) -> bool:  # type: ignore[override]
        return self.welcome is not None

    def send(self, line: bytes, token: Optional[object] = None) -> bool:
        link = self._link
        return link is not None and link.send(line, token)

    def is_received_here(self) -> bool:
        return self._link is not None and self._link.is_here()

    def expect(self, react: React) -> int:
        self._seq += 1
        self._answers[self._seq] = react
        return self._seq

    def wake(self) -> None:
        if self._link is not None:
            self._link.wake()

    def read_on(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._link is not None:
            self._link.read_on(loop)

    # --- Peer: what the link calls

    def greeting(self) -> list[Line]:
        live, announcement = self.ledger.announcement()
        lines: list[Line] = [(wire.encode("hello", **self._hello, live=live), None)]
        if self._callbacks.deregister.callbacks:
            lines.append((wire.encode("registered"), None))
        if self._fatal is not None and not self._fatal[2].done():
            lines.append((self._fatal_line(), None))
        if self._doubts:
            lines.append((self._doubt_line(), None))
        for name, graceful in self.endpoints.items():
            line = wire.encode("endpoint.register", endpoint=name, graceful_shutdown=graceful)
            lines.append((line, None))
        return lines + announcement

    def lost(self, tokens: list[object]) -> None:
        self.ledger.lost(tokens)
        self._refused.lost()
        self._answers.clear()
        if self.welcome is not None:  # a supervisor that sent no welcome does not count
            self.lost_at = time.monotonic()
        self.welcome = None

    def tick(self, now: float) -> Optional[float]:
        with self._lock:
            due = self.ledger.tick(now)
        counted = self._refused.tick(now)
        return counted if due is None else due if counted is None else min(due, counted)

    def receive(self, message: wire.Message) -> None:
        op, seq = message["op"], message.get("seq")
        seq = seq if isinstance(seq, int) else None
        handler = _HANDLERS.get(op)
        try:
            if handler is None:
                raise wire.WireError("unknown_op", f"{op}: not known to an engine")
            handler(self, message)
        except wire.WireError as error:
            if op not in ("ack", "error"):
                self._send("error", seq=seq, code=error.code, message=str(error))
        except Exception:
            _log.exception("cannot handle %s from the lastcall supervisor", op)
        else:
            if seq is not None and op not in ("ack", "error"):
                self._send("ack", seq=seq)

    def receive_on_loop(self, message: wire.Message) -> bool:
        op = message["op"]
        handler = _HANDLERS_ON_LOOP.get(op)
        # The answer to a fatal error completes a future of the program.
        if handler is None or (self._fatal is not None if op == "ack" else "seq" in message):
            return False
        try:
            handler(self, message)
        except NotOnLoop:
            if self._link is not None:
                self._link.read_alone()
            return False
        except Exception:  # on the link's thread it is an answer or a log line
            return False
        return True

    def is_busy(self) -> bool:
        return len(self.ledger) > 0

    # --- messages from the supervisor

    def _on_welcome(self, message: wire.Message) -> None:
        with self._lock:
            self.welcome = message
            if self._link is not None:
                self._link.settle()
        self._on_phase(message)

    def _on_phase(self, message: wire.Message) -> None:
        phase = wire.field(message, "phase", str)
        if phase not in wire.PHASES:
            raise wire.WireError("bad_field", f"{message['op']}.phase: {phase!r} is not a phase")
        deadline = wire.optional_field(message, "deadline_at_ms", int)
        # A welcome in the middle of a stop does not repeat the deadline.
        if message["op"] == "phase" or phase in ("starting", "serving"):
            self.deadline_at_ms = deadline
        if phase != self.phase:
            self.phase = phase
            self._callbacks.phase.post(lambda: self._callbacks.phase.call_all(phase))

    def _on_admitted(self, message: wire.Message) -> None:
        with self._lock:
            self.ledger.admitted(wire.field(message, "id", str))

    def _on_rejected(self, message: wire.Message) -> None:
        wait_ms = wire.optional_field(message, "retry_after_ms", int)
        rejected = Rejected(
            wire.field(message, "id", str),
            wire.known_word(wire.field(message, "reason", str), wire.REFUSALS, "overloaded"),
            None if wait_ms is None else wait_ms / 1000,
            wire.optional_field(message, "limit", int),
            wire.optional_field(message, "count", int),
            wire.optional_field(message, "detail", str) or "",
        )
        with self._lock:
            self.ledger.rejected(rejected)

    def _on_cancel(self, message: wire.Message, on_loop: bool = False) -> None:
        ids = wire.field(message, "ids", list)
        mode, reason = wire.field(message, "mode", str), wire.field(message, "reason", str)
        if not all(isinstance(each, str) for each in ids):
            raise wire.WireError("bad_field", "cancel.ids: expected strings")
        # A reason that this version does not know must not prevent the cancel.
        reason = wire.known_word(reason, wire.REASONS, "control")
        notified = frozenset(ids)
        for request_id in ids:
            context = self.ledger.find(request_id)
            if context is not None:  # otherwise it ended while the line was on its way
                level = KILLED if mode == "kill" else STOPPED
                context._raise(level, reason, notified=notified, on_loop=on_loop)

    def _on_cancel_on_loop(self, message: wire.Message) -> None:
        self._on_cancel(message, on_loop=True)

    def _on_health_check(self, message: wire.Message) -> None:
        self._callbacks.check_health(self.send)

    def _on_health_cleared(self, message: wire.Message) -> None:
        at_ms = wire.field(message, "at_ms", int)
        with self._lock:
            over = self._doubts.clear(at_ms)
        for cleared in over:
            cleared()

    def _on_deregister(self, message: wire.Message) -> None:
        self._callbacks.leave_registries(self.send)

    def _on_cleanup(self, message: wire.Message) -> None:
        self._callbacks.clean_up(self.send, wire.field(message, "deadline_at_ms", int) / 1000)

    def _on_ack(self, message: wire.Message) -> None:
        self._on_answer(message, None)

    def _on_error(self, message: wire.Message) -> None:
        text = f"{message.get('code')}: {message.get('message')}"
        if message.get("code") == "unknown_op":
            _log.debug("the lastcall supervisor is older than this SDK: %s", text)
        elif self.welcomed:
            self._refused.add(str(message.get("code")), text, time.monotonic())
        elif self._link is None or self._link.is_news(text):
            _log.error("the lastcall supervisor refused a line: %s", text)
        self._on_answer(message, text)

    def _on_answer(self, message: wire.Message, error: Optional[str]) -> None:
        with self._lock:
            seq = message.get("seq")
            react = self._answers.pop(seq, None) if isinstance(seq, int) else None
            if react is not None:
                react(error)

    # --- inside

    @staticmethod
    def _doubt_line() -> bytes:
        return wire.encode("health.doubt")

    def _send(self, op: str, **fields: Any) -> None:
        self.send(wire.encode(op, **fields))

    def _fatal_line(self) -> bytes:
        assert self._fatal is not None
        reason, detail, done = self._fatal

        def react(error: Optional[str]) -> None:
            if not done.done():
                done.set_result(error is None)

        return wire.encode_clipped("fatal", "detail", detail, reason=reason, seq=self.expect(react))


_HANDLERS: dict[str, Callable[[Session, wire.Message], None]] = {
    "welcome": Session._on_welcome,
    "phase": Session._on_phase,
    "admitted": Session._on_admitted,
    "rejected": Session._on_rejected,
    "cancel": Session._on_cancel,
    "health.check": Session._on_health_check,
    "health.cleared": Session._on_health_cleared,
    "deregister": Session._on_deregister,
    "cleanup": Session._on_cleanup,
    "ack": Session._on_ack,
    "error": Session._on_error,
}

_HANDLERS_ON_LOOP: dict[str, Callable[[Session, wire.Message], None]] = {
    "admitted": Session._on_admitted,
    "rejected": Session._on_rejected,
    "cancel": Session._on_cancel_on_loop,
    "ack": Session._on_ack,
}


def close_all(timeout: float) -> None:
    for session in list(_sessions):
        session.close(timeout)


def _detach_all() -> None:
    for session in list(_sessions):
        session.detach()


os.register_at_fork(after_in_child=_detach_all)
