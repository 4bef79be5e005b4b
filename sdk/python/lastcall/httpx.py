"""Outgoing calls with httpx that end when their request is cancelled, and that carry its ids.

    from lastcall.httpx import stream

    async with stream(client, "POST", url, json=body, context=context) as response:
        async for line in response.aiter_lines():
            ...

In threads, with an `httpx.Client`:

    from lastcall.httpx import stream_sync

    with stream_sync(client, "POST", url, json=body, context=context) as response:
        for line in response.iter_lines():
            ...

`context` is the current request's unless given. A kill cuts the call and closes its connection,
which notifies the other side. A stop is sent as a stop, by another request of the same client; if
the other side supports that, everything that it still sends is delivered, otherwise the call is
cut. In all these cases the call ends in `lastcall.Cancelled`. Your own headers take precedence.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
import sys
from typing import Any, AsyncIterator, Awaitable, Iterator, Optional, TypeVar

try:
    import httpx
except ImportError as error:
    raise ImportError("lastcall.httpx needs httpx: pip install 'lastcall[httpx]'") from error

from . import loops, outgoing
from .context import Context
from .current import current


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
    """Like `client.stream`, with its options."""
    loops.running()
    channel = _channel(client, url)
    options["headers"] = _with_ids(options.get("headers"), context, channel)
    abort = outgoing.abort_on_stop(context, channel)
    async with abort:
        call = client.stream(method, url, **options)
        response = await _apart(call.__aenter__())
        abort.close_with(functools.partial(_break, response))
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
    """Like `client.request`, with its options."""
    loops.running()
    channel = _channel(client, url)
    options["headers"] = _with_ids(options.get("headers"), context, channel)
    async with outgoing.abort_on_stop(context, channel):
        return await _apart(client.request(method, url, **options))


@contextlib.contextmanager
def stream_sync(
    client: httpx.Client,
    method: str,
    url: Any,
    *,
    context: Optional[Context] = None,
    **options: Any,
) -> Iterator[httpx.Response]:
    """Like `client.stream`, with its options; a kill from any thread ends it at once.

    A name lookup and a connect cannot be interrupted: the call then ends when they have ended. A
    stream of HTTP/2 ends at its next bytes, because other streams share its connection.
    """
    wire = _Wire(options.pop("extensions", None))
    channel = _channel_sync(client, url)
    options["headers"] = _with_ids(options.get("headers"), context, channel)
    with outgoing.aborting(wire.break_, context, channel):
        with client.stream(method, url, extensions=wire.extensions, **options) as response:
            wire.found(response.extensions.get("network_stream"), response.http_version)
            yield response


def request_sync(
    client: httpx.Client,
    method: str,
    url: Any,
    *,
    context: Optional[Context] = None,
    **options: Any,
) -> httpx.Response:
    """Like `client.request`, with its options; otherwise like `stream_sync`."""
    wire = _Wire(options.pop("extensions", None))
    channel = _channel_sync(client, url)
    options["headers"] = _with_ids(options.get("headers"), context, channel)
    with outgoing.aborting(wire.break_, context, channel):
        return client.request(method, url, extensions=wire.extensions, **options)


class _Wire:
    """The connection that a blocking call currently uses, according to httpcore's trace.

    The trace reports each connection that is made, but not one that is used again: that one is read
    from the frame of httpcore that calls the trace. If it is not found there, the call ends with
    the first bytes of its answer.
    """

    def __init__(self, given: Any) -> None:
        self._also = (given or {}).get("trace")
        self._stream: Any = None
        self._is_broken = False
        self.extensions = {**(given or {}), "trace": self._trace}

    def break_(self) -> None:
        """Breaks the connection; called from another thread."""
        self._is_broken = True
        _shut(self._stream)

    def found(self, stream: Any, http_version: str = "HTTP/1.1") -> None:
        self._stream = None if http_version == "HTTP/2" else stream
        if self._is_broken:  # a stop came before there was a connection to break
            _shut(self._stream)

    def _trace(self, event: str, info: Any) -> None:
        kind, _, step = event.partition(".")
        if self._is_broken and not step.endswith(".failed") and "closed" not in step:
            raise httpx.RequestError("the request was cancelled")
        if kind == "connection" and step.endswith(".complete"):
            self.found(info.get("return_value"))
        elif event == "http11.send_request_headers.started":
            self.found(_stream_in_frames() or self._stream)
        elif kind == "http2":
            self._stream = None
        if self._also is not None:
            self._also(event, info)


def _stream_in_frames() -> Any:
    frame = sys._getframe(2)
    for _ in range(4):
        stream = getattr(frame.f_locals.get("self"), "_network_stream", None)
        if stream is not None or frame.f_back is None:
            return stream
        frame = frame.f_back
    return None


async def _apart(step: Awaitable[T], *, to_its_end: bool = False) -> T:
    """Runs the step in a task of its own, which a cancel of this one cancels once or lets end.

    A web framework that uses anyio cancels a request's task at each of its awaits, so code that
    closes a connection there would never complete.
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
    """Ends the connection at once, even if the orderly close does not work."""
    stream = response.extensions.get("network_stream")
    if stream is None or response.http_version == "HTTP/2":  # other streams share the connection
        return
    _shut(stream)


def _shut(stream: Any) -> None:
    with contextlib.suppress(OSError, AttributeError):
        connection = stream.get_extra_info("socket")
        # Not SSLSocket's own shutdown, which removes the state that a reading thread uses.
        kind: Any = socket.socket if isinstance(connection, socket.socket) else type(connection)
        kind.shutdown(connection, socket.SHUT_RDWR)


def _with_ids(
    given: Any, context: Optional[Context], channel: outgoing.Channel[Any]
) -> httpx.Headers:
    merged = httpx.Headers(given)
    if context is not None or current() is not None:
        outgoing.add_headers(merged, context)
        channel.add_header(merged)
    return merged


def _channel(client: httpx.AsyncClient, url: Any) -> outgoing.Channel[Awaitable[int]]:
    async def report(path: str) -> int:
        asked = client.stream("DELETE", _beside(client, url, path), timeout=outgoing.STOP_WITHIN)
        async with asked as answer:
            return answer.status_code

    return outgoing.Channel(report, (httpx.TransportError,))


def _channel_sync(client: httpx.Client, url: Any) -> outgoing.Channel[int]:
    def report(path: str) -> int:
        asked = client.stream("DELETE", _beside(client, url, path), timeout=outgoing.STOP_WITHIN)
        with asked as answer:
            return answer.status_code

    return outgoing.Channel(report, (httpx.TransportError,))


def _beside(client: Any, url: Any, path: str) -> httpx.URL:
    """The URL of `path` on the call's server."""
    whole = httpx.URL(url)
    base: httpx.URL = client.base_url if whole.is_relative_url else whole
    return base.copy_with(path=path, query=None, fragment=None)
