"""Calls the endpoint of another tier on any of its instances.

    from lastcall.remote import Endpoint

    prefill = Endpoint("dynamo.prefill.generate", etcd="http://etcd-0:2379")

    async def generate(self, request, context):
        stream = await prefill.generate(request, context=context)
        async for response in stream:
            yield response

Rules
  1. The request is sent as JSON by POST to the address in the instance's registry; the answer comes
     back as server-sent events, or whole.
  2. The call is a child of `context`, the current request's unless given. A stop of the parent is
     sent as a stop, and everything that the other tier still sends is delivered. A kill, or a
     caller that leaves, closes the connection, which is a kill there.
  3. An answer that was cut never looks finished: it ends in `Cancelled`, `Rejected` or
     `CallFailed`.
  4. If an instance does not answer, or refuses because of a drain, the next one is tried, each of
     them once. After the head of an answer nothing is sent again.

Threads: an `Endpoint` belongs to one event loop; contexts may be cancelled from any thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import random
from typing import (
    Any,
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
    Optional,
    Sequence,
    TypeVar,
    Union,
)

from . import http1, loops, outgoing
from .context import Context
from .current import current
from .errors import Cancelled, InvalidArgument, LastcallError, Rejected
from .handlers import LEFT
from .instances import Directory, Etcd, Instance, Name, Source, Static

__all__ = ["CallFailed", "Endpoint", "Instance", "NoInstance", "Stream"]

T = TypeVar("T")

CONNECT_WITHIN = 5.0  # seconds
STOP_WITHIN = 1.0  # seconds for the other tier to accept a stop; then the connection is closed

_log = logging.getLogger("lastcall")


class NoInstance(LastcallError):
    """No instance serves the endpoint, or none could be reached."""


class CallFailed(LastcallError):
    """The other tier answered with an error, or its answer broke off.

    `status` is the HTTP status, 200 for an answer that broke off; `error` is the error object if
    the other tier sent one.
    """

    def __init__(self, message: str, status: int, error: Optional[dict[str, Any]] = None) -> None:
        super().__init__(message)
        self.status = status
        self.error = error or {}


class Endpoint:
    """An endpoint of another tier, `NAMESPACE.COMPONENT.ENDPOINT`.

    Its instances come from one of

    etcd    URLs of etcd, where supervisors with the registry `etcd` register themselves
    files   the directory of the registry `file`
    urls    known URLs

    path    the path to call there, `/ENDPOINT` unless given
    headers are sent with each call
    """

    def __init__(
        self,
        name: str,
        *,
        etcd: Union[str, Sequence[str], None] = None,
        files: Union[str, os.PathLike[str], None] = None,
        urls: Optional[Sequence[str]] = None,
        path: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> None:
        if sum(each is not None for each in (etcd, files, urls)) != 1:
            raise InvalidArgument(f"cannot find {name!r}: expected one of etcd, files and urls")
        self._name = Name.parse(name)
        self._path = f"/{self._name.endpoint}" if path is None else path
        self._headers = dict(headers or {})
        self._next = 0
        self._source: Source = (
            Etcd(etcd, self._name) if etcd is not None
            else Directory(files, self._name) if files is not None
            else Static(urls or ())
        )  # fmt: skip

    async def instances(self) -> tuple[Instance, ...]:
        return await self._source.instances()

    async def generate(self, request: Any, *, context: Optional[Context] = None) -> Stream:
        """The same as `round_robin`."""
        return await self.round_robin(request, context=context)

    async def round_robin(self, request: Any, *, context: Optional[Context] = None) -> Stream:
        """Each call goes to the next instance."""

        def in_turn(instances: tuple[Instance, ...]) -> list[Instance]:
            first = self._next % len(instances)
            self._next += 1
            return [*instances[first:], *instances[:first]]

        return await self._call(request, context, in_turn)

    async def random(self, request: Any, *, context: Optional[Context] = None) -> Stream:
        """Each call goes to a random instance."""
        return await self._call(request, context, lambda all: random.sample(all, len(all)))

    async def direct(
        self, request: Any, instance_id: int, *, context: Optional[Context] = None
    ) -> Stream:
        """The call goes only to that instance."""
        return await self._call(
            request, context, lambda all: [each for each in all if each.id == instance_id]
        )

    async def _call(
        self,
        request: Any,
        parent: Optional[Context],
        order: Callable[[tuple[Instance, ...]], list[Instance]],
    ) -> Stream:
        parent = parent or current()
        body = json.dumps(request).encode()
        call = _Call(parent)
        try:
            instances = await call.cut_by_stop(self._source.instances)
            failure: LastcallError = NoInstance(f"nobody serves {_text(self._name)}")
            for instance in order(instances) if instances else ():
                try:
                    return await call.start(instance, self._path, self._headers, body)
                except NoInstance as error:
                    self._source.changed()
                    failure = error
                except Rejected as error:
                    if error.reason != "draining":
                        raise
                    self._source.changed()
                    failure = error
            raise failure
        except asyncio.CancelledError:
            call.leave()
            raise
        except BaseException as error:
            call.end(error)
            raise


class Stream:
    """The answer: `async for` yields its items; `aclose()` leaves before its end.

    An item is the JSON value of an event, or its text if that is not JSON.
    """

    def __init__(self, call: _Call, instance: Instance) -> None:
        self._call = call
        self._items = call.items()
        self.instance = instance

    @property
    def context(self) -> Context:
        """The context of the call itself, with which it can be cancelled alone."""
        return self._call.context

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> Any:
        return await self._items.__anext__()

    async def aclose(self) -> None:
        self._call.leave()
        await self._items.aclose()

    async def __aenter__(self) -> Stream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        self._call.dropped()


class _Call:
    """One call, its context, and its connection once it has one."""

    def __init__(self, parent: Optional[Context]) -> None:
        given = outgoing.headers(parent)
        own = given.get(outgoing.REQUEST_ID)
        self.context = Context(
            None if own is None else outgoing.from_header(own),
            root=None if parent is None else parent.root,
        )
        given.setdefault(outgoing.REQUEST_ID, outgoing.to_header(self.context.id()))
        self._channel = os.urandom(16).hex()
        self._headers = {**given, outgoing.CHANNEL: self._channel,
                         "Content-Type": "application/json",
                         "Accept": "text/event-stream, application/json"}  # fmt: skip
        self._loop = loops.running()
        self._exchange: Optional[http1.Exchange] = None
        self._url = ""
        self._stopping: Optional[asyncio.Task[None]] = None
        self._waits: Optional[asyncio.Future[Any]] = None
        self._forget_stop = self.context.on_stop(loops.OnLoop(self._loop, self._on_stop))
        self._forget_kill = self.context.on_kill(loops.OnLoop(self._loop, self._on_kill))
        if parent is not None:
            parent.link_child(self.context)

    async def cut_by_stop(self, begin: Callable[[], Awaitable[T]]) -> T:
        """Awaits a step before the request is sent: a stop there need not be sent to the other
        side."""
        self.context.raise_if_stopped()
        self._waits = step = asyncio.ensure_future(begin())
        try:
            return await step
        except asyncio.CancelledError:
            # The cancellation is ours if the stop has cancelled only the step.
            if step.cancelled() and not self._is_cancelled():
                self.context.raise_if_stopped()
            raise
        finally:
            step.cancel()
            self._waits = None

    async def start(
        self, instance: Instance, path: str, headers: Mapping[str, str], body: bytes
    ) -> Stream:
        url = instance.url.rstrip("/")

        def connect() -> Awaitable[http1.Exchange]:
            opening = http1.Exchange.open("POST", url + path, {**headers, **self._headers}, body)
            return asyncio.wait_for(opening, CONNECT_WITHIN)

        try:
            exchange = await self.cut_by_stop(connect)
        except (OSError, asyncio.TimeoutError) as error:
            raise NoInstance(f"cannot reach {url}: {error or type(error).__name__}") from error
        self._exchange, self._url = exchange, url
        if self.context.is_killed():
            exchange.close()
        elif self.context.is_stopped():
            self._on_stop()
        try:
            await exchange.head()
            if exchange.status != 200:
                await self._refused(exchange)
        except OSError as error:
            self.context.raise_if_stopped()
            raise CallFailed(f"{url}: {error}", exchange.status or 200) from error
        return Stream(self, instance)

    async def items(self) -> AsyncGenerator[Any, None]:
        assert self._exchange is not None
        try:
            kind = self._exchange.headers.get("content-type", "").partition(";")[0]
            if kind.strip().lower() == "text/event-stream":
                events = self._exchange.events()
                needs_done = False
                async for name, data in events:
                    if name == "error":
                        raise self._failure(_error_in(data), 200)
                    if data == http1.DONE:
                        await _read_out(events)
                        needs_done = False
                        break
                    item = _value_of(data)
                    needs_done = self._exchange.ends_with_connection and _is_chunk(item)
                    yield item
                if needs_done:
                    raise ConnectionError("the connection ended before [DONE]")
            else:
                text = (await self._exchange.whole()).decode("utf-8", "replace")
                yield _json_of(text) if kind.strip().lower().endswith("json") else _value_of(text)
            self.context.raise_if_stopped()
        except (GeneratorExit, asyncio.CancelledError):
            self.leave()
            raise
        except OSError as error:
            failure: LastcallError = CallFailed(f"{self._url}: {error}", 200)
            if self.context.is_stopped():
                failure = Cancelled(self.context.id(), self.context.cause or "control")
            self.end(failure)
            raise failure from error
        except BaseException as error:
            self.end(error)
            raise
        self.end(None)

    def leave(self) -> None:
        """Called when the caller that waited for the answer is gone."""
        if self.context.outcome is None:
            self.context.kill(LEFT)
            self.end(None)

    def end(self, error: Optional[BaseException]) -> None:
        is_cut = error is None or self.context.is_stopped()
        self.context.end(None if is_cut else "error")
        self.forget()

    def dropped(self) -> None:
        """Called on any thread when the answer is not read any more."""
        if self.context.outcome is None:
            self._soon(self.leave)

    def forget(self) -> None:
        self._forget_stop()
        self._forget_kill()
        if self._exchange is not None:
            self._exchange.close()

    # --- cancels, on the loop

    def _soon(self, call: Callable[[], None]) -> None:
        loops.soon(self._loop, call)

    def _on_stop(self) -> None:
        if self._waits is not None:
            self._waits.cancel()
        elif self._exchange is not None and not self.context.is_killed():
            if self._stopping is None and self.context.outcome is None:
                self._stopping = asyncio.ensure_future(self._report_stop())

    def _on_kill(self) -> None:
        if self._waits is not None:
            self._waits.cancel()
        if self._exchange is not None:
            self._exchange.close()

    async def _report_stop(self) -> None:
        """Sends the stop; if the other tier does not accept it, the connection is closed, which
        every server understands."""
        url = f"{self._url}{outgoing.CALLS}{self._channel}"
        try:
            await asyncio.wait_for(http1.ask("DELETE", url), STOP_WITHIN)
        except (OSError, ValueError, asyncio.TimeoutError) as error:
            _log.debug("cannot send a stop to %s: %s; closing the call", self._url, error)
            if self._exchange is not None:
                self._exchange.close()

    # --- what went wrong

    async def _refused(self, exchange: http1.Exchange) -> None:
        error = _error_in((await exchange.whole()).decode("utf-8", "replace"))
        exchange.close()
        if error.get("type") in ("draining", "overloaded"):
            wait = exchange.headers.get("retry-after", "")
            reason = exchange.headers.get("x-lastcall-reason") or str(error["type"])
            raise Rejected(self.context.id(), reason, float(wait) if wait.isdigit() else None)
        raise self._failure(error, exchange.status)

    def _failure(self, error: dict[str, Any], status: int) -> LastcallError:
        if self.context.is_stopped():
            return Cancelled(self.context.id(), self.context.cause or "control")
        message = error.get("message") or f"status {status}"
        return CallFailed(f"{self._url}: {message}", status, error)

    @staticmethod
    def _is_cancelled() -> bool:
        task = asyncio.current_task()
        return bool(getattr(task, "cancelling", int)())


async def _read_out(events: AsyncIterator[Any]) -> None:
    """Reads to the end of the body, because a caller that leaves before counts as a client that
    left."""

    async def read() -> None:
        async for _ in events:
            pass

    with contextlib.suppress(OSError, asyncio.TimeoutError):
        await asyncio.wait_for(read(), STOP_WITHIN)


def _text(name: Name) -> str:
    return f"{name.namespace}.{name.component}.{name.endpoint}"


def _json_of(text: str) -> Any:
    """Only the end of a connection may be the end of a body, so JSON shows whether it is whole."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConnectionError(f"the answer is not JSON, or was cut: {error}") from None


def _value_of(data: str) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data


def _is_chunk(item: Any) -> bool:
    """Whether it is a part of one of OpenAI's streams, each of which ends in [DONE]."""
    return isinstance(item, dict) and "choices" in item


def _error_in(data: str) -> dict[str, Any]:
    value = _value_of(data)
    error = value.get("error") if isinstance(value, dict) else None
    return error if isinstance(error, dict) else {}
