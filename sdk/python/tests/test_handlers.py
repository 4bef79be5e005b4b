"""Decorated handlers: begun, watched and ended for their author."""

import asyncio
import sys

import pytest
from strict_supervisor import eventually

import lastcall


def collect(client, handler, *arguments, during=None, **named):
    """Runs the handler to its end; returns the items and the exception, if any."""

    async def main():
        items = []
        try:
            async for item in handler(*arguments, **named):
                items.append(item)
                if during is not None:
                    during(item)
        except lastcall.Cancelled as error:
            return items, error
        return items, None

    return asyncio.run(asyncio.wait_for(main(), 20))


def test_a_handler_gets_context_only_when_it_asks_for_it(supervisor, client):
    @client.endpoint("generate")
    async def plain(request):
        yield request

    class Engine:
        @client.endpoint("decode", graceful_shutdown=False, model="m")
        async def generate(self, request, context):
            yield context.id()

    eventually(lambda: client.connected)
    assert collect(client, plain, "hi") == (["hi"], None)
    assert collect(client, Engine().generate, "hi", request_id="r7") == (["r7"], None)
    begun = supervisor.wait("request.begin", id="r7")
    assert (begun["endpoint"], begun["stream"]) == ("decode", True)
    assert supervisor.wait("request.end", 2)["outcome"] == "completed"
    flags = {each["endpoint"]: each["graceful_shutdown"]
             for each in supervisor.all("endpoint.register")}  # fmt: skip
    assert flags == {"generate": True, "decode": False}


def test_a_handler_without_context_ends_at_the_next_item_after_a_stop(client):
    closed = []

    @client.endpoint("generate")
    async def count(request):
        try:
            for number in range(100):
                yield number
        finally:
            closed.append(True)

    items, error = collect(
        client, count, None, request_id="r",
        during=lambda item: item == 2 and client.cancel("r", reason="migrate"),
    )  # fmt: skip
    assert items == [0, 1, 2]
    assert (error.reason, error.request_id, error.kind) == ("migrate", "r", "migrated")
    assert closed == [True]
    assert client.in_flight == 0


def test_a_handler_with_context_ends_when_it_likes_but_never_looks_finished(client):
    @client.endpoint("generate")
    async def flush(request, context):
        yield "a"
        await context.stopped()
        yield "last words"

    items, error = collect(
        client, flush, None, request_id="r", during=lambda item: client.cancel("r")
    )
    assert items == ["a", "last words"]
    assert error.reason == "control"


def test_a_kill_cuts_the_await_under_way(supervisor, client):
    undone = []

    @client.endpoint("generate")
    async def stuck(request, context):
        yield "a"
        supervisor.cancel("r", mode="kill", reason="grace_timeout")
        try:
            await asyncio.sleep(3600)
        finally:
            undone.append(True)

    eventually(lambda: client.connected)
    items, error = collect(client, stuck, None, request_id="r")
    assert items == ["a"] and error.reason == "grace_timeout" and undone == [True]
    assert supervisor.wait("request.end")["outcome"] == "migrated"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="a task does not count its cancellations")
def test_a_handler_that_raises_cancelled_error_on_a_stop_is_told_apart(client):
    @client.endpoint("generate")
    async def seedlike(request, context):
        for number in range(100):
            if context.is_stopped():
                raise asyncio.CancelledError
            yield number

    items, error = collect(
        client, seedlike, None, request_id="r", during=lambda item: client.cancel("r")
    )
    assert items == [0] and error.reason == "control"


def test_a_cancellation_from_outside_stays_one_and_reaches_sub_requests(client):
    children = []

    @client.endpoint("generate")
    async def parent(request, context):
        children.append(client.begin(parent=context))
        yield 1
        await asyncio.sleep(3600)

    async def main():
        async def consume():
            async for _ in parent(None):
                pass

        task = asyncio.ensure_future(consume())
        while not children:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert children[0].is_stopped()


def test_a_failing_handler_is_an_error(supervisor, client):
    @client.endpoint("embed")
    async def fail(request):
        raise KeyError(request)

    eventually(lambda: client.connected)
    with pytest.raises(KeyError):
        asyncio.run(fail("x"))
    assert supervisor.wait("request.end")["outcome"] == "error"


def test_a_coroutine_handler_is_cut_by_a_kill(client):
    @client.endpoint("embed")
    async def embed(request, context):
        asyncio.get_running_loop().call_later(0.01, context.kill)
        await asyncio.sleep(3600)

    with pytest.raises(lastcall.Cancelled):
        asyncio.run(embed("x"))


def test_a_consumer_that_leaves_early_ends_the_request(client):
    contexts = []

    @client.endpoint("generate")
    async def endless(request, context):
        contexts.append(context)
        while True:
            yield 1

    async def main():
        stream = endless(None)
        async for _ in stream:
            break
        await stream.aclose()

    asyncio.run(main())
    assert contexts[0].outcome == "cancelled" and client.in_flight == 0


@pytest.mark.parametrize("bad", [7, None, type("Callable", (), {"__call__": lambda self: 1})()])
def test_other_things_cannot_be_endpoints(client, bad):
    with pytest.raises(TypeError, match="expected a function"):
        client.endpoint("x")(bad)


async def _tokens():
    yield "token"


async def _answer():
    return "answer"


async def _returns_tokens():
    return _tokens()


@pytest.mark.parametrize(
    "handler", [lambda: _tokens(), lambda: _answer(), lambda: (each for each in "ab"),
                _returns_tokens]
)  # fmt: skip
def test_a_result_that_is_still_to_come_is_refused(supervisor, client, handler):
    async def main():
        with pytest.raises(TypeError, match="await or yield"):
            await client.endpoint("generate")(handler)(request_id="r")

    eventually(lambda: client.connected)
    asyncio.run(main())
    assert supervisor.wait("request.end", id="r")["outcome"] == "error"


def test_a_generator_of_threads_is_a_handler_too(supervisor, client):
    closed = []

    @client.endpoint("generate")
    def count(request):
        try:
            yield from range(100)
        finally:
            closed.append(lastcall.current())

    eventually(lambda: client.connected)
    seen = []
    with pytest.raises(lastcall.Cancelled, match="migrate"):
        for item in count(None, request_id="r"):
            seen.append(item)
            if item == 2:
                client.cancel("r", reason="migrate")
    assert seen == [0, 1, 2] and len(closed) == 1
    assert supervisor.wait("request.end", id="r")["outcome"] == "migrated"
    assert list(count(None)) == list(range(100))
    for _ in count(None, request_id="left"):
        break
    assert supervisor.wait("request.end", id="left")["outcome"] == "cancelled"


def test_a_function_of_threads_is_a_handler_too(supervisor, client):
    @client.endpoint("embed")
    def embed(request, context):
        assert lastcall.current() is context
        if request == "stop":
            context.stop()
        return context.id()

    eventually(lambda: client.connected)
    assert embed("x", request_id="r1") == "r1"
    with pytest.raises(lastcall.Cancelled):
        embed("stop", request_id="r2")
    assert supervisor.wait("request.end", id="r1")["outcome"] == "completed"
    assert supervisor.wait("request.end", id="r2")["outcome"] == "cancelled"
    assert lastcall.current() is None


def test_a_handler_passes_its_context_on_as_the_seed_does(client):
    inner = []

    @client.endpoint("prefill")
    async def prefill(request, context):
        inner.append(context)
        await context.stopped()
        yield 1

    @client.endpoint("decode")
    async def decode(request, context):
        async for item in prefill(request, context=context):
            yield item

    async def main():
        async def consume():
            return [item async for item in decode(None, request_id="r")]

        task = asyncio.ensure_future(consume())
        while not inner:
            await asyncio.sleep(0)
        client.cancel("r")
        with pytest.raises(lastcall.Cancelled):
            await task

    asyncio.run(asyncio.wait_for(main(), 20))
    assert (inner[0].root, inner[0].reason) == ("r", "parent")


def test_the_current_context_is_the_handlers_and_stays_out_of_its_consumer(client):
    async def helper():
        return lastcall.current().id()

    @client.endpoint("generate")
    async def generate(request):
        yield await helper()
        yield await asyncio.ensure_future(helper())
        yield await asyncio.to_thread(lambda: lastcall.current().id())

    async def main():
        seen = []
        async for item in generate(None, request_id="r"):
            assert lastcall.current() is None
            seen.append(item)
        return seen

    assert asyncio.run(asyncio.wait_for(main(), 20)) == ["r", "r", "r"]


def test_the_error_object_shows_whether_a_client_may_retry():
    body = lastcall.error_body("migrated", "r1", events_sent=3, bytes_sent=99)["error"]
    assert list(body) == [
        "type", "code", "message", "request_id", "events_sent", "bytes_sent", "retryable",
    ]  # fmt: skip
    assert body["retryable"] is True and body["code"] == 503
    assert lastcall.error_body("cancelled", "r1")["error"]["retryable"] is False
    body = lastcall.error_body("cancelled", "r1", reason="operator")["error"]
    assert body["reason"] == "operator"
    assert b'"reason":"migrate"' in lastcall.sse_error("migrated", "r1", reason="migrate")
    event = lastcall.sse_error("engine_dead", "r1")
    assert event.startswith(b"event: error\ndata: {") and event.endswith(b"}\n\n")
    assert b"[DONE]" not in event
