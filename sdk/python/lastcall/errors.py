"""The failures of a request, and how a client of the engine is notified of them.

A cut stream must never look finished. Code that streams server-sent events ends a cancelled stream
at an event boundary with `sse_error(...)`, then closes without `[DONE]` and without the final
chunk; before the first byte the same object is the body of a 503.
"""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any, Optional

from . import loops

# Reasons that mean that another replica can continue the request.
HANDED_OFF = frozenset(("migrate", "grace_timeout"))
RETRYABLE = frozenset(("migrated", "engine_dead", "draining", "overloaded"))

# The arguments of `__exit__`.
ExitKind = Optional[type[BaseException]]
ExitError = Optional[BaseException]
ExitTrace = Optional[TracebackType]

_MESSAGES = {
    "migrated": "this replica is shutting down; send the request again to continue elsewhere",
    "engine_dead": "the engine failed; send the request again",
    "draining": "this replica is shutting down and takes no new requests",
    "overloaded": "Server overloaded: worker at capacity",
    "cancelled": "the request was cancelled",
}


class LastcallError(Exception):
    """Base class of all exceptions that this package raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # By default a copy is made by calling the class with `args`, which has only the message: in
        # an executor of processes that error would take the place of this one and end the pool.
        return _copy, (type(self), self.args), self.__dict__


class InvalidArgument(LastcallError, ValueError):
    """A value that the program or its environment has given cannot be used."""


def _copy(kind: type[LastcallError], args: tuple[Any, ...]) -> LastcallError:
    return kind.__new__(kind, *args)


class Rejected(LastcallError):
    """Admission refused the request. `reason` is draining, overloaded or queue_timeout."""

    def __init__(
        self,
        request_id: str,
        reason: str,
        retry_after: Optional[float] = None,
        limit: Optional[int] = None,
        count: Optional[int] = None,
        detail: str = "",
    ) -> None:
        why = f"{reason} ({detail})" if detail else reason
        super().__init__(f"request {request_id!r} was rejected: {why}")
        self.request_id = request_id
        self.reason = reason
        self.retry_after = retry_after  # seconds, None if the supervisor gave no estimate
        self.limit = limit  # how many may run and wait in total; None if that was not the reason
        self.count = count  # how many did
        self.detail = detail  # the load that makes the engine busy; may be empty

    @property
    def kind(self) -> str:
        return "draining" if self.reason == "draining" else "overloaded"


class Cancelled(LastcallError):
    """The request was cancelled before it could finish, for `reason`."""

    def __init__(self, request_id: str, reason: str) -> None:
        super().__init__(f"request {request_id!r} was cancelled: {reason}")
        self.request_id = request_id
        self.reason = reason

    @property
    def kind(self) -> str:
        if self.reason in HANDED_OFF:
            return "migrated"
        return "engine_dead" if self.reason == "engine_dead" else "cancelled"


def is_only_cancels(error: BaseException) -> bool:
    """Whether it is a group of exceptions, such as a TaskGroup's, that contains only cancels."""
    if not _members(error):
        return False
    left = [error]
    while left:
        each = left.pop()
        members = _members(each)
        if not members and not (isinstance(each, Cancelled) or loops.is_cancel(each)):
            return False
        left.extend(members)
    return True


def concerns_a_request(error: Optional[BaseException]) -> bool:
    """Whether it is the end of one request, which is no failure of the engine."""
    return error is not None and (
        isinstance(error, (Cancelled, Rejected)) or is_only_cancels(error)
    )


def _members(error: BaseException) -> tuple[BaseException, ...]:
    # Recognised by its members: before Python 3.11 groups are a library's, later they are built in.
    members = getattr(error, "exceptions", None)
    return members if isinstance(members, tuple) else ()


def error_body(
    kind: str,
    request_id: str,
    *,
    events_sent: int = 0,
    bytes_sent: int = 0,
    message: Optional[str] = None,
    status: int = 503,
    reason: Optional[str] = None,
) -> dict[str, Any]:
    """The error object that lastcall's own proxy also sends.

    `kind` is migrated, engine_dead, draining, overloaded or cancelled; `code` is the status of the
    refusal, or the one that it would have had before the first byte. `reason` is that of the
    `Cancelled` or `Rejected`; it is left out unless given.
    """
    error = {
        "type": kind,
        "code": status if kind in RETRYABLE else 499,
        "message": message or _MESSAGES.get(kind, kind),
        "request_id": request_id,
        "events_sent": events_sent,
        "bytes_sent": bytes_sent,
        "retryable": kind in RETRYABLE,
    }
    return {"error": error if reason is None else {**error, "reason": reason}}


def sse_error(
    kind: str,
    request_id: str,
    *,
    events_sent: int = 0,
    bytes_sent: int = 0,
    reason: Optional[str] = None,
) -> bytes:
    """`error_body` as the last server-sent event of a stream that was cut."""
    body = error_body(
        kind, request_id, events_sent=events_sent, bytes_sent=bytes_sent, reason=reason
    )
    return b"event: error\ndata: " + json.dumps(body, separators=(",", ":")).encode() + b"\n\n"
