"""Outgoing calls with httpx that end when their request is cancelled, and carry its ids.

    from lastcall.httpx import stream

    async with stream(client, "POST", url, json=body, context=context) as response:
        async for line in response.aiter_lines():
            ...

`context` is the current request's unless given. A call that was cut raises `lastcall.Cancelled`
and its connection is closed, by which the other side learns of it. Headers of your own win.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Any, AsyncIterator, Awaitable, Optional, TypeVar

try:
    import httpx
except ImportError as error:
    raise ImportError("lastcall.httpx needs httpx: pip install 'lastcall[httpx]'") from error

from . import outgoing
from .context import Context


T = TypeVar("T")


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
        call = client.stream(method, url, **options)
        response = await _apart(call.__aenter__())
        try:
            yield response
        except BaseException:
            _break(response)
            raise
        finally:
            await _apart(call.__aexit__(None, None, None), to_its_end=True)


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
        return await _apart(client.request(method, url, **options))


async def _apart(step: Awaitable[T], *, to_its_end: bool = False) -> T:
    """Runs the step in a task of its own, cancelled once, or left to end, if this one is.

    A web framework built on anyio cancels a request's task at each of its awaits, so that what
    closes a connection there never gets through.
    """
    task = asyncio.ensure_future(step)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not to_its_end:
            task.cancel()
        raise


def _break(response: httpx.Response) -> None:
    """Ends the connection at once, whatever becomes of the orderly close."""
    stream = response.extensions.get("network_stream")
    if stream is None or response.http_version == "HTTP/2":  # which others share
        return
    with contextlib.suppress(OSError, AttributeError):
        stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


def _with_ids(given: Any, context: Optional[Context]) -> httpx.Headers:
    merged = httpx.Headers(given)
    outgoing.add_headers(merged, context)
    return merged
