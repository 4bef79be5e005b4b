"""The context of the request that runs here, for code that does not get it as an argument.

It is set while a decorated handler or an ASGI application works on a request, and is inherited by
the tasks and `asyncio.to_thread` calls that these start. `with client.request(...)` does not set
it: inside a generator such a block would leave its context in the code that consumes the generator.

A request that begins there without another parent is a sub-request of it. Code that continues after
the request has ended, or in a forked child, has inherited a context that is no longer a parent.
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
    """The context of the request that is being handled; None if there is none."""
    return _current.get()


def parent() -> Optional[Context]:
    """The same, but only while it is live in this process."""
    context = _current.get()
    return context if context is not None and context._owner.tracks(context) else None


@contextlib.contextmanager
def working_on(context: Context) -> Iterator[None]:
    """Sets the current context for a block. The block must not yield to code outside, as the body
    of a generator would."""
    token = _current.set(context)
    try:
        yield
    finally:
        _current.reset(token)
