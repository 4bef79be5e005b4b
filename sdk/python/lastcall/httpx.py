"""Outgoing calls with httpx that end when their request is cancelled, and carry its ids.

    from lastcall.httpx import stream

    async with stream(client, "POST", url, json=body, context=context) as response:
        async for line in response.aiter_lines():
            ...

`context` is the current request's unless given. A call that was cut raises `lastcall.Cancelled`
and its connection is closed, by which the other side learns of it. Headers of your own win.
"""

from __future__ import annotations

import contextlib
from typing import Any, AsyncIterator, Optional

try:
    import httpx
except ImportError as error:
    raise ImportError("lastcall.httpx needs httpx: pip install 'lastcall[httpx]'") from error

from . import outgoing
from .context import Context


@contextlib.asynccontextmanager
async def stream(
    client: httpx.AsyncClient,
    method: str,
    url: Any,
    *,
    context: Optional[Context] = None,
    **options: Any,
) -> AsyncIterator[httpx.Response]:
    """As `client.stream`, with its options."""
    options["headers"] = _with_ids(options.get("headers"), context)
    async with outgoing.abort_on_stop(context):
        async with client.stream(method, url, **options) as response:
            yield response


async def request(
    client: httpx.AsyncClient,
    method: str,
    url: Any,
    *,
    context: Optional[Context] = None,
    **options: Any,
) -> httpx.Response:
    """As `client.request`, with its options."""
    options["headers"] = _with_ids(options.get("headers"), context)
    async with outgoing.abort_on_stop(context):
        return await client.request(method, url, **options)


def _with_ids(given: Any, context: Optional[Context]) -> httpx.Headers:
    merged = httpx.Headers(given)
    for name, value in outgoing.headers(context).items():
        merged.setdefault(name, value)
    return merged
