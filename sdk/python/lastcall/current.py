"""The context of the request that runs here, for code that is not handed one.

Set while a decorated handler or an ASGI application works on a request, and inherited by the tasks
and `asyncio.to_thread` calls that it starts. Not by `with client.request(...)`: inside a generator
such a block would leave its context in the code that consumes the generator.

A request that begins there without another parent is a sub-request of it. What goes on after the
request has ended, or in a forked child, has inherited one that is not a parent any more.
"""

from __future__ import annotations

import contextlib
import contextvars
from typing import Iterator, Optional

from .context import Context

_current: contextvars.ContextVar[Optional[Context]] = contextvars.ContextVar(
    "lastcall.current", default=None
)


def current() -> Optional[Context]:
    """The context of the request that is being handled, None outside of one."""
    return _current.get()


def parent() -> Optional[Context]:
    """The same while it is live in this process."""
    context = _current.get()
    return context if context is not None and context._owner.tracks(context) else None


@contextlib.contextmanager
def working_on(context: Context) -> Iterator[None]:
    """The block must not yield to another task's code, as the body of a generator would."""
    token = _current.set(context)
    try:
        yield
    finally:
        _current.reset(token)
