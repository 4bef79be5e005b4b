"""`@client.endpoint(...)`: begins, watches and ends the request of each call of a handler.

Rules
  1. The handler is a generator or a function, for asyncio or for threads; it gets `context` only if
     its signature has it.
  2. On a stop, a handler with `context` decides itself when to end; one without it ends at its next
     item. On a kill, its current await is cancelled in either case; a handler for threads, which
     cannot be cut, ends at its next item.
  3. A handler whose context was stopped never looks finished: the caller gets `Cancelled`.
  4. If a caller leaves before the end, by closing the generator or because its task is cancelled,
     that is a kill with the reason `client_disconnect`; closing the generator after its end is not.
  5. A group of exceptions that contains only cancels is a cancel if the context was stopped.
  6. An item costs no extra task and no switch to another thread.
  7. The request ends when the function returns. So a result whose work is still to be done, such as
     a generator or a coroutine, is refused: no drain would wait for it, and no cancel reach it.

Threads: handlers run in the caller's task or thread; a kill from elsewhere is carried over to the
task's loop.
"""

from __future__ import annotations

import asyncio
import collections.abc
import functools
import inspect
from typing import (
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
    Optional,
    Protocol,
    TypeVar,
    cast,
)

from . import loops
from .context import Context
from .current import working_on
from .cut import Cut
from .errors import is_only_cancels
from .scope import RequestScope

Handler = TypeVar("Handler", bound=Callable[..., Any])
Result = TypeVar("Result")
T = TypeVar("T")
Enter = Callable[[dict[str, Any]], RequestScope]
Hand = Callable[[dict[str, Any], Context], dict[str, Any]]
Later = Callable[[Callable[[], object]], None]

LEFT = "client_disconnect"  # the reason if the caller has left


class Begin(Protocol):
    def __call__(self, id: Optional[str], parent: Optional[Context]) -> RequestScope: ...


def is_stream(handler: Callable[..., Any]) -> bool:
    """Whether its answer comes in parts."""
    return inspect.isasyncgenfunction(handler) or inspect.isgeneratorfunction(handler)


def wrap_handler(handler: Handler, begin: Begin) -> Handler:
    """The handler with additional keyword arguments: `request_id`, and `parent` or `context`.

    The last two mean the same, the caller's own context: a handler that passes its `context` to
    another handler passes on its cancels.
    """
    if not callable(handler):
        raise TypeError(f"cannot make {handler!r} an endpoint: expected a function or generator")
    wants_context = "context" in inspect.signature(handler).parameters

    def enter(named: dict[str, Any]) -> RequestScope:
        given = named.pop("context", None)
        return begin(named.pop("request_id", None), named.pop("parent", None) or given)

    def hand(named: dict[str, Any], context: Context) -> dict[str, Any]:
        return {**named, "context": context} if wants_context else named

    if inspect.isasyncgenfunction(handler):
        wrap = _wrap_async_generator
    elif inspect.iscoroutinefunction(handler):
        wrap = _wrap_coroutine
    elif inspect.isgeneratorfunction(handler):
        wrap = _wrap_generator
    elif inspect.isroutine(handler):
        wrap = _wrap_function
    else:
        raise TypeError(f"cannot make {handler!r} an endpoint: expected a function or generator")
    wrapped = functools.update_wrapper(wrap(handler, enter, hand, wants_context), handler)
    return cast(Handler, wrapped)


def _wrap_async_generator(handler: Any, enter: Enter, hand: Hand, wants_context: bool) -> Any:
    async def stream(*arguments: Any, **named: Any) -> AsyncIterator[Any]:
        loops.running()  # before a request begins
        async with enter(named) as context:
            guard = KillGuard(context)
            items = handler(*arguments, **hand(named, context))
            try:
                while not _is_over(context, wants_context):
                    try:
                        item = await guard.run(items.__anext__())
                    except StopAsyncIteration:
                        break
                    context.progress()
                    yield item
                context.raise_if_stopped()
            except (GeneratorExit, asyncio.CancelledError):
                context.kill(LEFT)  # also notifies the sub-requests
                raise
            finally:
                guard.close()
                try:
                    await items.aclose()
                except BaseException as error:  # what ends the stream is being raised already
                    if not (context.is_stopped() and is_only_cancels(error)):
                        raise

    return stream


def _wrap_coroutine(handler: Any, enter: Enter, hand: Hand, wants_context: bool) -> Any:
    async def call(*arguments: Any, **named: Any) -> Any:
        loops.running()  # before a request begins
        async with enter(named) as context:
            guard = KillGuard(context)
            try:
                result = await guard.run(handler(*arguments, **hand(named, context)))
                context.raise_if_stopped()
                return _checked(result, handler)
            except asyncio.CancelledError:
                context.kill(LEFT)
                raise
            finally:
                guard.close()

    return call


def _wrap_generator(handler: Any, enter: Enter, hand: Hand, wants_context: bool) -> Any:
    def stream(*arguments: Any, **named: Any) -> Iterator[Any]:
        with enter(named) as context:
            items = handler(*arguments, **hand(named, context))
            try:
                while not _is_over(context, wants_context):
                    try:
                        with working_on(context):
                            item = next(items)
                    except StopIteration:
                        break
                    context.progress()
                    yield item
                context.raise_if_stopped()
            except GeneratorExit:
                context.kill(LEFT)
                raise
            except BaseException as error:
                _raise_as_cancelled(error, context)
                raise
            finally:
                items.close()

    return stream


def _wrap_function(handler: Any, enter: Enter, hand: Hand, wants_context: bool) -> Any:
    def call(*arguments: Any, **named: Any) -> Any:
        with enter(named) as context:
            try:
                with working_on(context):
                    result = handler(*arguments, **hand(named, context))
            except BaseException as error:
                _raise_as_cancelled(error, context)
                raise
            context.raise_if_stopped()
            return _checked(result, handler)

    return call


def _checked(result: Any, handler: Any) -> Any:
    is_to_come = (
        inspect.isawaitable(result)
        or inspect.isgenerator(result)
        or isinstance(result, collections.abc.AsyncIterator)
    )
    if not is_to_come:
        return result
    if inspect.iscoroutine(result):
        result.close()  # otherwise Python warns that nothing has awaited it
    raise TypeError(
        f"{getattr(handler, '__qualname__', handler)} returned an object of type "
        f"{type(result).__name__}, whose work would begin after its request has ended; an endpoint "
        "has to await or yield it itself"
    )


def _raise_as_cancelled(error: BaseException, context: Context) -> None:
    if is_only_cancels(error):
        context.raise_if_stopped()


def _is_over(context: Context, wants_context: bool) -> bool:
    return context.is_killed() if wants_context else context.is_stopped()


class KillGuard:
    """Cancels the await under way when the context is killed.

    If `later` is given, it is called on the loop with the function that cancels, which then does
    not happen at once.
    """

    def __init__(self, context: Context, later: Optional[Later] = None) -> None:
        self._context = context
        self._loop = loops.running()
        self._later = later
        self._cut = Cut()
        self._forget = context.on_kill(loops.OnLoop(self._loop, self._fire))

    def close(self) -> None:
        self._forget()

    async def run(self, step: Awaitable[T]) -> T:
        """Awaits the step; raises `Cancelled` if it was cut, or gave up because of a stop."""
        self._cut.arm()
        if self._context.is_killed():
            self._loop.call_soon(self._fire)  # killed before there was a task to cancel
        try:
            with working_on(self._context):
                return await step
        except asyncio.CancelledError as error:
            if self._gave_up() or (self._cut.fired and self._cut.settle(error)):
                self._context.raise_if_stopped()
            raise
        except BaseException as error:
            _raise_as_cancelled(error, self._context)
            raise
        finally:
            self._cut.disarm()

    def _fire(self) -> None:
        if self._later is None:
            self._cut.fire()
        else:
            self._later(self._cut.fire)

    def _gave_up(self) -> bool:
        """Whether the handler itself raised CancelledError after it noticed the stop.

        Before Python 3.11 that looks like a cancellation from outside.
        """
        return self._context.is_stopped() and self._cut.was_cancelled() is False
