"""The context of the request that runs here, for code that is handed none.

Set while a decorated handler or an ASGI application works on a request, and inherited by the tasks
and `asyncio.to_thread` calls that it starts. Not by `with client.request(...)`: inside a generator
such a block would leave its context behind in whoever consumes the generator.
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


@contextlib.contextmanager
def working_on(context: Context) -> Iterator[None]:
    """The block must not yield to another task's code, as the body of a generator would."""
    token = _current.set(context)
    try:
        yield
    finally:
        _current.reset(token)
