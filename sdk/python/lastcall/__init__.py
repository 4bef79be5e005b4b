"""lastcall: lets an LLM engine cooperate in its own clean stop.

    import lastcall

    client = lastcall.connect()

    async with client.request(endpoint="generate") as context:
        async for token in engine.generate(prompt):
            if context.is_stopped():
                break
            context.progress()

It needs only the standard library. Without a supervisor (LASTCALL_SOCKET unset) everything is a
no-op.
"""

from .client import Client
from .context import Context
from .current import current
from .errors import Cancelled, InvalidArgument, LastcallError, Rejected, error_body, sse_error
from .scope import RequestScope
from .shared import connect
from .version import __version__

__all__ = [
    "Cancelled",
    "Client",
    "Context",
    "InvalidArgument",
    "LastcallError",
    "Rejected",
    "RequestScope",
    "__version__",
    "connect",
    "current",
    "error_body",
    "sse_error",
]
