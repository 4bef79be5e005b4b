"""Outgoing calls with aiohttp that end when their request is cancelled, and that carry its ids.

    from lastcall.aiohttp import request

    async with request(session, "POST", url, json=body, context=context) as response:
        async for line in response.content:
            ...

`context` is the current request's unless given. A kill cuts the call and closes its connection,
which notifies the other side. A stop is sent as a stop, by another request of the same session; if
the other side supports that, everything that it still sends is delivered, otherwise the call is
cut. In all these cases the call ends in `lastcall.Cancelled`. Your own headers take precedence.
"""

from __future__ import annotations

import contextlib
from typing import Any, AsyncIterator, Awaitable, Callable, Optional

try:
    import aiohttp
    from multidict import CIMultiDict
    from yarl import URL
except ImportError as error:
    raise ImportError("lastcall.aiohttp needs aiohttp: pip install 'lastcall[aiohttp]'") from error

from . import outgoing
from .context import Context
from .current import current


@contextlib.asynccontextmanager
async def request(
    session: aiohttp.ClientSession,
    method: str,
    url: Any,
    *,
    context: Optional[Context] = None,
    **options: Any,
) -> AsyncIterator[aiohttp.ClientResponse]:
    """Like `session.request`, with its options; for streams and for whole answers."""
    merged = CIMultiDict(options.pop("headers", None) or ())
    channel = outgoing.Channel(_reporter(session, url), (aiohttp.ClientError, OSError))
    if context is not None or current() is not None:
        outgoing.add_headers(merged, context)
        channel.add_header(merged)
    abort = outgoing.abort_on_stop(context, channel)
    async with abort:
        async with session.request(method, url, headers=merged, **options) as response:
            abort.close_with(response.close)
            try:
                yield response
            except BaseException:
                response.close()  # a release might keep the connection for another call
                raise


def _reporter(session: aiohttp.ClientSession, url: Any) -> Callable[[str], Awaitable[int]]:
    async def report(path: str) -> int:
        # Does what the session would do: its `base_url` completes a relative address.
        base = getattr(session, "_base_url", None)
        whole = URL(url) if base is None or URL(url).is_absolute() else base.join(URL(url))
        async with session.delete(whole.with_path(path).with_query(None)) as answer:
            return answer.status

    return report
