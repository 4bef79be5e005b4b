"""lastcall: lets an LLM engine take part in its own clean stop.

    import lastcall

    client = lastcall.connect()

    async with client.request(endpoint="generate") as context:
        async for token in engine.generate(prompt):
            if context.is_stopped():
                break
            context.progress()

Standard library only. Without a supervisor (LASTCALL_SOCKET unset) all of it is a no-op.
"""

from .client import Client
from .context import Context
from .current import current
from .errors import Cancelled, LastcallError, Rejected, error_body, sse_error
from .scope import RequestScope
from .shared import connect
from .version import __version__

__all__ = [
    "Cancelled",
    "Client",
    "Context",
    "LastcallError",
    "Rejected",
    "RequestScope",
    "__version__",
    "connect",
    "current",
    "error_body",
    "sse_error",
]
