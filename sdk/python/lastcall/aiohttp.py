"""Outgoing calls with aiohttp that end when their request is cancelled, and carry its ids.

    from lastcall.aiohttp import request

    async with request(session, "POST", url, json=body, context=context) as response:
        async for line in response.content:
            ...

`context` is the current request's unless given. A call that was cut raises `lastcall.Cancelled`
and its connection is closed, by which the other side learns of it. Headers of your own win.
"""

from __future__ import annotations

import contextlib
from typing import Any, AsyncIterator, Optional

try:
    import aiohttp
    from multidict import CIMultiDict
except ImportError as error:
    raise ImportError("lastcall.aiohttp needs aiohttp: pip install 'lastcall[aiohttp]'") from error

from . import outgoing
from .context import Context


@contextlib.asynccontextmanager
async def request(
    session: aiohttp.ClientSession,
    method: str,
    url: Any,
    *,
    context: Optional[Context] = None,
    **options: Any,
) -> AsyncIterator[aiohttp.ClientResponse]:
    """As `session.request`, with its options; for streams and for whole answers alike."""
    merged = CIMultiDict(options.pop("headers", None) or ())
    outgoing.add_headers(merged, context)
    async with outgoing.abort_on_stop(context):
        async with session.request(method, url, headers=merged, **options) as response:
            try:
                yield response
            except BaseException:
                response.close()  # a release might keep the connection for another call
                raise
