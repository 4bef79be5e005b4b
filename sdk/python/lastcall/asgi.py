"""lastcall.asgi.Middleware: tracks and cancels the requests of any ASGI server without extra code.

    vllm serve MODEL --middleware lastcall.asgi.Middleware
    app.add_middleware(lastcall.asgi.Middleware)

Rules
  1. A request is in flight from its first byte until the last byte of its answer was written, or
     until the application has finished with it.
  2. To the application a cancel looks like a client that leaves: it gets `http.disconnect`, and its
     sends fail. On a kill its current await is cancelled, too, but later: vLLM and others end the
     work only when they receive `http.disconnect`, and cancelling the code that waits for the work
     would leave the work running.
  3. A cut answer never looks finished: before its first byte it is a 503 with the error object;
     after it a stream of events gets `event: error`, and then the connection breaks.
  4. An event that is an error makes the outcome `error`. If the engine in this process has other
     processes, an error that may mean their death is held for up to 2 s, as in lastcall's own
     proxy: the supervisor checks the engine at once, and the client gets `engine_dead` or, as soon
     as the checks have passed, what the application sent.
  5. A client that leaves is a kill, as in lastcall's own proxy: nobody can use the rest of the
     answer. A client that leaves at `[DONE]` has its answer: the request has completed, and only
     the work that the application still does for it is killed.
  6. A tier above that stops its call announces it (`DELETE /lastcall/calls/SECRET`, with the secret
     of the call's X-Lastcall-Channel): that is a stop here, while the end of its connection is a
     kill.
  7. Without a supervisor (LASTCALL_SOCKET unset), and for requests that are not tracked, the
     application gets exactly what the server sends. Websockets and lifespan always pass unchanged.

Threads: any number of event loops may share one middleware.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import sys
import traceback
from typing import Any, Awaitable, Callable, Iterator, Optional

from . import loops, outgoing
from .asgi_log import log_cuts_in_one_line
from .asgi_messages import Doubt, Inbox, Outbox, Receive, Send, refuse
from .asgi_options import Options, is_multi_process_engine
from .asgi_priority import priority_of
from .asgi_request import (
    Scope,
    channel_of,
    free_id,
    headers_of,
    is_own_probe,
    id_of,
    is_short_json,
    new_id,
    parent_of,
    path_of,
    read_body,
    way_of,
    with_id,
)
from .client import Client
from .context import Context
from .dial import check_path
from .errors import Cancelled, InvalidArgument, LastcallError, Rejected
from .handlers import LEFT, KillGuard
from .shared import connect

__all__ = ["Middleware", "Options"]

Application = Callable[[Scope, Receive, Send], Awaitable[None]]

TAIL_WITHIN = 1.0  # seconds for a client that does not read to take the last event
# How long a killed application may take to end by itself after it has received the disconnect, and
# if it has not asked for it. SGLang asks every 4 s while a request waits in its queue.
RECEIVED_WITHIN, UNHEARD_WITHIN = 1.0, 5.0

_ORDERS = (KeyboardInterrupt, SystemExit, GeneratorExit)
_log = logging.getLogger("lastcall")


def _check_socket(path: str) -> None:
    try:
        check_path(path)
    except InvalidArgument as error:
        raise InvalidArgument(f"lastcall.asgi: LASTCALL_SOCKET: {error}") from None


# This runs at import, because Starlette makes its middleware too late: at that time a failure would
# not end the server, which would answer every request with 500.
Options.from_environment()
_check_socket(os.environ.get("LASTCALL_SOCKET", ""))


class Middleware:
    """Wraps an ASGI application. The client is `lastcall.connect()`'s unless one is given.

    `scope["lastcall"]` is a dict with the request's `context`, `endpoint`, `model` and `stream`;
    `lastcall.current()` is the context.
    """

    def __init__(
        self,
        app: Application,
        *,
        client: Optional[Client] = None,
        options: Optional[Options] = None,
    ) -> None:
        self._app = app
        self._given = client
        self._options = options or Options.from_environment()
        self._known_to: Optional[Client] = None
        self._calls: dict[str, Context] = {}  # by the secret that a tier above has sent
        log_cuts_in_one_line()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            try:
                # Made now, so that the supervisor has the endpoints before the first request.
                if self._client().enabled:
                    _check_loop()
            except LastcallError as error:
                return await _fail_to_start(receive, send, f"lastcall.asgi: {error}")
        elif scope["type"] == "http":
            if scope["method"] == "DELETE" and path_of(scope).startswith(outgoing.CALLS):
                if await self._stop_call(path_of(scope)[len(outgoing.CALLS) :], send):
                    return
            endpoint = self._options.endpoint_of(scope["method"], path_of(scope))
            client = self._client()
            is_own = is_own_probe(scope, client.probe_mark)
            if endpoint is not None and client.enabled and not is_own:
                return await self._serve(client, endpoint, dict(scope), receive, send)
        await self._app(scope, receive, send)

    async def _stop_call(self, channel: str, send: Send) -> bool:
        """False if no call of this process has this secret, or none can have it."""
        context = self._calls.get(channel)
        if context is None:
            return False
        context.stop("parent")
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return True

    def _client(self) -> Client:
        # Made at its first use, because a server may fork its workers after loading the
        # application.
        client = self._given or self._connect()
        if self._known_to is not client:
            self._known_to = client
            for name in self._options.names():
                client.register_endpoint(name, name not in self._options.hand_off)
        return client

    def _connect(self) -> Client:
        critical = self._options.critical
        if critical is None and is_multi_process_engine():
            try:
                return connect(critical=True)
            except LastcallError:  # other code has connected this process and chosen its options
                return connect()
        return connect(critical=True) if critical else connect()

    async def _serve(
        self, client: Client, endpoint: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        headers = headers_of(scope)
        limit = self._options.peek_bytes if is_short_json(headers, self._options.peek_bytes) else 0
        inbox = Inbox(receive, limit)
        try:
            model, stream = read_body(await inbox.peek()) if limit else (None, None)
            priority = priority_of(scope.get("headers", ()))
            context = await self._begin(
                client, inbox, headers, endpoint=endpoint, model=model, stream=stream,
                priority=priority,
            )  # fmt: skip
            if context is not None:
                scope["headers"] = with_id(scope, context.id())
                scope["lastcall"] = {
                    "context": context, "endpoint": endpoint, "model": model, "stream": stream,
                }  # fmt: skip
                with self._stoppable(channel_of(headers), context):
                    exchange = _Exchange(context, inbox, send, functools.partial(_doubt, client))
                    await exchange.run(self._app, scope)
        except (Rejected, Cancelled) as refusal:
            if inbox.started:  # the request ran: this error breaks its connection
                raise
            if inbox.gone:
                return
            await refuse(send, refusal, self._options.overload_status)
        finally:
            inbox.close()

    @contextlib.contextmanager
    def _stoppable(self, channel: Optional[str], context: Context) -> Iterator[None]:
        if channel is None or self._calls.setdefault(channel, context) is not context:
            yield
            return
        try:
            yield
        finally:
            del self._calls[channel]

    async def _begin(
        self,
        client: Client,
        inbox: Inbox,
        headers: dict[bytes, bytes],
        **given: Any,
    ) -> Optional[Context]:
        """Returns the context once the request may run; None if its client left while it waited."""

        async def begin(request_id: str) -> Optional[Context]:
            ask = client.request(
                request_id,
                root=id_of(headers, outgoing.ROOT),
                parent=parent_of(headers, request_id),
                admit=self._options.admit,
                way=way_of(headers),
                **given,
            )
            inbox.on_leave = lambda: _kill(client.find(request_id))
            with inbox.waiting():
                return await ask.__aenter__()

        try:
            return None if inbox.gone else await begin(free_id(client, headers))
        except InvalidArgument:  # another request took the same id a moment ago
            return await begin(new_id())


class _Exchange:
    """One request that runs."""

    def __init__(self, context: Context, inbox: Inbox, send: Send, doubt: Doubt) -> None:
        self._context = context
        self._inbox = inbox
        self._outbox = Outbox(send, context.id(), context.progress, doubt)
        self._loop = asyncio.get_running_loop()
        self._reporting: Optional[asyncio.Future[None]] = None
        self._timers: list[asyncio.TimerHandle] = []
        inbox.on_leave = self._on_leave
        inbox.started = True

    async def run(self, app: Application, scope: Scope) -> None:
        context = self._context
        forget = context.on_stop(loops.OnLoop(self._loop, self._report))
        guard = KillGuard(context, self._cut_later)
        handled_outside = sys.exc_info()[1]
        try:
            if self._inbox.gone:
                self._on_leave()
            await guard.run(app(scope, self._inbox.receive, self._send))
        except asyncio.CancelledError:  # by the server, which has given up the connection
            context.kill(LEFT)
            context.end()
            raise
        except BaseException as error:  # some task groups raise a cancel among other things
            if not context.is_stopped() or isinstance(error, _ORDERS):
                context.end(None if context.is_stopped() else "error")
                raise
            _log.debug("request %r ended after its cancel: %r", context.id(), error)
            _drop_tracebacks(error, handled_outside)
        finally:
            forget()
            guard.close()
            for timer in self._timers:
                timer.cancel()
        await self._finish()

    async def _send(self, message: Any) -> None:
        if self._context.is_stopped():
            self._report()  # at once: the application may have noticed before our callback ran
        await self._outbox.send(message)
        if self._outbox.complete:
            self._end()

    async def _finish(self) -> None:
        context = self._context
        try:
            if context.outcome is None and context.is_stopped():
                context.confirm()
                self._report()
                if self._reporting is not None:
                    await asyncio.wait({self._reporting}, timeout=TAIL_WITHIN)
                await self._outbox.finish()
        except Exception as error:  # the client has left, and the server reports it
            _log.debug("cannot end the answer of request %r: %r", context.id(), error)
        finally:
            if self._reporting is not None:
                self._reporting.cancel()
            self._end()
        if context.is_stopped() and not (self._outbox.complete or self._inbox.gone):
            # A server breaks the connection if the application fails in the middle of its answer.
            # Returning would work, too, but an outer middleware may take that for the end.
            raise Cancelled(context.id(), context.cause or "control") from None

    def _end(self) -> None:
        if self._outbox.complete and not self._context.is_stopped():
            self._context.end(self._outcome())
        else:
            self._context.end(None if self._context.is_stopped() else "error")

    def _outcome(self) -> str:
        return "error" if self._outbox.has_failed else "completed"

    def _on_leave(self) -> None:
        self._outbox.left()
        if self._outbox.has_answered and not self._context.is_stopped():
            self._context.end(self._outcome())
        if not self._outbox.complete:
            self._context.kill(LEFT)

    def _cut_later(self, fire: Callable[[], object]) -> None:
        """Gives a killed application time to react to the disconnect before its await is
        cancelled."""

        def at(instant: float) -> None:
            self._timers.append(self._loop.call_at(instant, fire))

        at(self._inbox.left_at(self._loop.time()) + UNHEARD_WITHIN)
        self._inbox.when_notified(lambda notified_at: at(notified_at + RECEIVED_WITHIN))

    def _report(self) -> None:
        """Notifies both sides of the cancel, each as if the other had left."""
        if self._reporting is not None or self._inbox.gone or self._context.outcome is not None:
            return
        cancelled = Cancelled(self._context.id(), self._context.cause or "control")
        self._outbox.cut()  # first: the application may react with an answer
        self._inbox.cut()
        self._reporting = asyncio.ensure_future(
            self._outbox.report(cancelled.kind, cancelled.reason)
        )
        self._reporting.add_done_callback(_retrieve)


def _doubt(client: Client, cleared: Callable[[], object]) -> Optional[Callable[[], None]]:
    """None if no error can mean the engine's end, because this process cannot outlive the engine or
    no supervisor would report its end."""
    if not (client.connected and is_multi_process_engine()):
        return None
    return client.doubt(loops.OnLoop(asyncio.get_running_loop(), cleared))


def _retrieve(reporting: asyncio.Future[None]) -> None:
    """Retrieves the exception, so that asyncio does not log it: a client that left meanwhile cannot
    be notified any more."""
    if not reporting.cancelled() and reporting.exception() is not None:
        _log.debug("cannot notify the client of a cancel: %r", reporting.exception())


def _drop_tracebacks(error: Optional[BaseException], until: Optional[BaseException]) -> None:
    """Releases what the application's frames hold. The frames of task groups hold the error, too:
    a generator in such a cycle is not closed before the interpreter next looks for cycles, and
    until then it goes on computing and keeps its calls to other tiers.

    The frames are cleared besides, because a task that ended with the error keeps a reference to
    its traceback that in Python 3.11 not even the search for cycles sees. `until` is the error that
    the application's caller is handling, which is the context of every error below."""
    while error is not None and error is not until and error.__traceback__ is not None:
        traceback.clear_frames(error.__traceback__)
        error.__traceback__ = None
        for each in (error.__cause__, *getattr(error, "exceptions", ())):
            _drop_tracebacks(each, until)
        error = error.__context__


def _kill(context: Optional[Context]) -> None:
    if context is not None:
        context.kill(LEFT)


def _check_loop() -> None:
    """Otherwise each request that is tracked would fail."""
    if asyncio._get_running_loop() is None:
        raise LastcallError("this server does not run asyncio's event loop, which is needed")


async def _fail_to_start(receive: Receive, send: Send, message: str) -> None:
    """Reports the failure as a message: an exception would only mean that the application does not
    support lifespan."""
    await receive()
    await send({"type": "lifespan.startup.failed", "message": message})
