"""Context: the cancellation state of one request, and its tree of sub-requests.

Rules
  1. The state only rises: live < stopped < killed. A stopped context never becomes live again, and
     a killed one never goes back to stopped; `is_stopped()` is also true after a kill.
  2. Each call that cancels returns whether it was the first to reach that state.
  3. A cancel reaches children before their parent, in link order; a child that is linked later gets
     its parent's state at once. So the state of a child is never below that of its parent.
  4. Cycles are refused; walks are loops, so a deep tree does not use more stack.
  5. A finished context leaves the tree as soon as it has no unfinished child below it.

Threads: every method may be called from any thread, even from a signal handler. Callbacks run on
the thread that cancels, which for a cancel from the supervisor is the client's own thread: they
must not block. One lock guards all trees; reading a state takes no lock.

The semantics are a stricter version of those of Dynamo's AsyncEngineContext.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import weakref
from typing import AbstractSet, Callable, Optional

from . import loops, tree, wire
from .errors import HANDED_OFF, Cancelled, ExitError, ExitKind, ExitTrace, InvalidArgument
from .owner import NOBODY, Owner
from .tree import KILLED, LIVE, STOPPED

_log = logging.getLogger("lastcall")
Callback = Callable[["Context"], object]


class NotOnLoop(Exception):
    """A cancel would run a callback of the program, which must not hold up the event loop."""


class Context:
    """One request, made by `Client.begin`; a plain `Context()` belongs to no client."""

    __slots__ = ("_id", "_root", "_owner", "_state", "_reason", "_cause", "_outcome",
                 "_confirmed", "_children", "_parents", "_callbacks", "__weakref__")  # fmt: skip

    def __init__(
        self, id: Optional[str] = None, *, root: Optional[str] = None, owner: Owner = NOBODY
    ) -> None:
        self._id = wire.check_id(os.urandom(16).hex() if id is None else id)
        self._root = self._id if root is None else wire.check_id(root)
        self._owner = owner
        self._state = LIVE
        self._reason: Optional[str] = None
        self._cause: Optional[str] = None
        self._outcome: Optional[str] = None
        self._confirmed = False
        self._children: dict[Context, None] = {}
        self._parents: list[weakref.ref[Context]] = []
        self._callbacks: dict[object, tuple[int, Callback]] = {}

    def __repr__(self) -> str:
        state = ("live", "stopped", "killed")[self._state]
        return f"<lastcall.Context {self._id!r} {self._outcome or state}>"

    # --- who and how

    def id(self) -> str:
        return self._id

    @property
    def root(self) -> str:
        """The user's request id, shared by all sub-requests; its own id for a first request."""
        return self._root

    def is_stopped(self) -> bool:
        return self._state >= STOPPED

    def is_killed(self) -> bool:
        return self._state >= KILLED

    @property
    def reason(self) -> Optional[str]:
        """The reason of the first cancel ("parent" if it came from the parent)."""
        return self._reason

    @property
    def cause(self) -> Optional[str]:
        """Like `reason`, but instead of "parent" the reason of the ancestor where the cancel
        began."""
        if self._cause == "parent":  # the supervisor notified the child first
            with tree.lock:
                return tree.cause_above(self)
        return self._cause

    @property
    def outcome(self) -> Optional[str]:
        """The request's outcome; None while it is in flight."""
        return self._outcome

    # --- waiting

    async def stopped(self) -> None:
        """Returns once stopped or killed; at once if it already is."""
        await self._reached(STOPPED)

    async def killed(self) -> None:
        """Returns once killed; a stop is not enough."""
        await self._reached(KILLED)

    async def async_killed_or_stopped(self) -> bool:
        await self._reached(STOPPED)
        return True

    def wait_stopped(self, timeout: Optional[float] = None) -> bool:
        """For threads: blocks until stopped or killed; False if the time is over before that."""
        event = threading.Event()
        forget = self.on_stop(lambda _: event.set())
        try:
            return event.wait(timeout)
        finally:
            forget()

    def on_stop(self, callback: Callback) -> Callable[[], None]:
        """Calls back once, when stopped or killed; at once if it already is.

        Returns a function that removes the callback.
        """
        return self._subscribe(STOPPED, callback)

    def on_kill(self, callback: Callback) -> Callable[[], None]:
        """Like `on_stop`, but only for a kill."""
        return self._subscribe(KILLED, callback)

    # --- cancelling; the result says whether this call was the first

    def stop_generating(self, reason: str = "control") -> bool:
        """Asks for an orderly early end; the output so far stays valid."""
        return self._raise(STOPPED, wire.check_word(reason, wire.REASONS, "reason"))

    def stop(self, reason: str = "control") -> bool:
        """The same as `stop_generating`."""
        return self._raise(STOPPED, wire.check_word(reason, wire.REASONS, "reason"))

    def kill(self, reason: str = "control") -> bool:
        """Asks for an immediate end, without sending the rest."""
        return self._raise(KILLED, wire.check_word(reason, wire.REASONS, "reason"))

    def is_confirmed(self) -> bool:
        return self._confirmed

    def confirm(self) -> bool:
        """Reports that the engine has stopped working on this cancelled request, before it ends."""
        with tree.lock:
            if self._state < STOPPED or self._confirmed or self._outcome is not None:
                return False
            self._confirmed = True
        self._owner.confirmed(self)
        return True

    def raise_if_stopped(self) -> None:
        """Raises `Cancelled` if stopped or killed: for handlers that work in steps."""
        if self._state >= STOPPED:
            raise Cancelled(self._id, self.cause or "control")

    # --- the tree

    def link_child(self, child: Context) -> bool:
        """Cancels `child` whenever this context is cancelled. False if it is already linked or
        finished."""
        with tree.lock:
            if tree.reaches(child, self):
                raise InvalidArgument(
                    f"cannot link {child._id!r} below {self._id!r}: that would make a cycle"
                )
            if child in self._children or child._outcome is not None:
                return False
            self._children[child] = None
            child._parents.append(weakref.ref(self))
            level, cause = self._state, self.cause
        if level > LIVE:
            child._raise(level, "parent", cause=cause)
        return True

    # --- the end

    def progress(self) -> None:
        """Reports progress of the request (such as a new token). Cheap: call it often."""
        self._owner.progress(self._id)

    def end(self, outcome: Optional[str] = None) -> bool:
        """Ends the request; the first call counts and later ones return False.

        Without an outcome the state determines it: completed, or after a cancel migrated,
        engine_dead or cancelled.
        """
        if outcome is not None:
            wire.check_word(outcome, wire.OUTCOMES, "outcome")
        with tree.lock:
            if self._outcome is not None:
                return False
            self._outcome = outcome = outcome or self._natural_outcome()
            tree.leave(self)
        self._owner.ended(self, outcome)
        return True

    def __enter__(self) -> Context:
        return self

    def __exit__(self, kind: ExitKind, error: ExitError, trace: ExitTrace) -> None:
        if error is None or self._state > LIVE:
            self.end()
        elif isinstance(error, Cancelled) or loops.is_cancel(error):
            self.end("cancelled")
        else:
            self.end("error")

    async def __aenter__(self) -> Context:
        return self

    async def __aexit__(self, kind: ExitKind, error: ExitError, trace: ExitTrace) -> None:
        self.__exit__(kind, error, trace)

    # --- inside

    def _natural_outcome(self) -> str:
        if self._state == LIVE:
            return "completed"
        if self.cause in HANDED_OFF:
            return "migrated"
        return "engine_dead" if self.cause == "engine_dead" else "cancelled"

    def _raise(
        self,
        level: int,
        reason: str,
        *,
        cause: Optional[str] = None,
        notified: AbstractSet[str] = frozenset(),
        on_loop: bool = False,
    ) -> bool:
        """`on_loop`: raises `NotOnLoop`, and changes nothing, if code of the program would run."""
        with tree.lock:
            if self._state >= level:
                return False
            risen = tree.below(self, level)
            if on_loop and not all(context._is_for_loops(level) for context in risen):
                raise NotOnLoop
            calls: list[tuple[Context, Callback]] = []
            for context in risen:
                if context._state == LIVE:
                    context._reason = reason if context is self else "parent"
                    context._cause = cause or reason
                context._state = level
                calls.extend((context, each) for each in context._take_callbacks(level))
        for context, callback in calls:
            _call(callback, context)
        # One client owns nearly every tree.
        for owner in dict.fromkeys(context._owner for context in risen):
            owner.raised([each for each in risen if each._owner is owner], notified)
        return True

    def _subscribe(self, level: int, callback: Callback) -> Callable[[], None]:
        token = object()
        with tree.lock:
            is_early = self._state < level
            if is_early:
                self._callbacks[token] = (level, callback)
        if not is_early:
            _call(callback, self)
            return lambda: None
        if isinstance(callback, loops.OnLoop):
            self._owner.awaited_on(callback.loop)
        return lambda: self._unsubscribe(token)

    def _unsubscribe(self, token: object) -> None:
        with tree.lock:
            self._callbacks.pop(token, None)

    def _is_for_loops(self, level: int) -> bool:
        return all(
            isinstance(call, loops.OnLoop) for at, call in self._callbacks.values() if at <= level
        )

    def _take_callbacks(self, level: int) -> list[Callback]:
        due = [(token, call) for token, (at, call) in self._callbacks.items() if at <= level]
        for token, _ in due:
            del self._callbacks[token]
        return [call for _, call in due]

    async def _reached(self, level: int) -> None:
        if self._state >= level:
            return
        loop = loops.running()
        reached: asyncio.Future[None] = loop.create_future()

        def resolve() -> None:
            if not reached.done():
                reached.set_result(None)

        forget = self._subscribe(level, loops.OnLoop(loop, resolve))
        try:
            await reached
        finally:
            forget()


def _call(callback: Callback, context: Context) -> None:
    try:
        callback(context)
    except Exception:
        _log.exception("a cancel callback of request %r failed", context.id())
