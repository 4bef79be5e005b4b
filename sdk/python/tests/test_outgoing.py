"""Calls to other tiers: their ids, and their end when the request is cancelled."""

import asyncio
import contextlib
import sys

import pytest
from asgi_server import wrap
from http_tier import Lower, Tier, until
from strict_supervisor import eventually

import lastcall
from lastcall import outgoing

PATIENCE = 20


class OtherTier:
    """An HTTP server that begins a stream and then waits until its caller leaves."""

    def __init__(self):
        self.heads = []
        self.left = asyncio.Event()
        self.answers = True  # False: does not even begin

    @contextlib.asynccontextmanager
    async def running(self):
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.url = "http://127.0.0.1:%d/v1/completions" % server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def serve(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append({
            name.lower(): value.strip()
            for name, value in (line.split(":", 1) for line in head.decode().splitlines()[1:-1])
        })  # fmt: skip
        if self.answers:
            writer.write(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\ntoken 1\r\n"
            )
            if not reader.at_eof() and self.answers == "whole":
                writer.write(b"0\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while await reader.read(1):
                pass
        if head.startswith(b"POST"):
            self.left.set()
        writer.close()


def run(main):
    async def bounded():
        async with OtherTier().running() as tier:
            await asyncio.wait_for(main(tier), PATIENCE)

    asyncio.run(bounded())


@contextlib.asynccontextmanager
async def httpx_stream(url, **options):
    httpx = pytest.importorskip("httpx")
    from lastcall.httpx import stream

    async with httpx.AsyncClient() as client:
        async with stream(client, "POST", url, **options) as response:
            yield response.aiter_bytes()


@contextlib.asynccontextmanager
async def httpx_request(url, **options):
    httpx = pytest.importorskip("httpx")
    from lastcall.httpx import request

    async with httpx.AsyncClient() as client:
        response = await request(client, "POST", url, **options)
        yield response.aiter_bytes()


@contextlib.asynccontextmanager
async def aiohttp_request(url, **options):
    aiohttp = pytest.importorskip("aiohttp")
    from lastcall.aiohttp import request

    async with aiohttp.ClientSession() as session:
        async with request(session, "POST", url, **options) as response:
            yield response.content.iter_any()


every_call = pytest.mark.parametrize("call", [httpx_stream, httpx_request, aiohttp_request])
every_stream = pytest.mark.parametrize("call", [httpx_stream, aiohttp_request])


@every_stream
@pytest.mark.parametrize("method", ["stop", "kill"])
def test_a_stop_in_the_stream_closes_the_connection(call, method):
    async def main(tier):
        context = lastcall.Context("r")
        with pytest.raises(lastcall.Cancelled) as caught:
            async with call(tier.url, context=context) as chunks:
                async for chunk in chunks:
                    assert chunk == b"token 1"
                    # The supervisor's cancels come from another thread, too.
                    await asyncio.to_thread(getattr(context, method), "migrate")
        assert (caught.value.request_id, caught.value.reason) == ("r", "migrate")
        await tier.left.wait()

    run(main)


@every_stream
@pytest.mark.parametrize("method", ["stop", "kill"])
def test_a_stop_closes_the_connection_of_a_call_that_no_task_waits_for(call, method):
    """As in a generator that its server has left because the client could not be sent to."""

    async def main(tier):
        context = lastcall.Context("r")

        async def blocks():
            async with call(tier.url, context=context) as chunks:
                async for chunk in chunks:
                    yield chunk

        left = blocks()

        async def serve():
            assert await left.__anext__() == b"token 1"

        await asyncio.ensure_future(serve())
        getattr(context, method)("migrate")
        await tier.left.wait()
        with pytest.raises(lastcall.Cancelled):
            await left.__anext__()

    run(main)


@every_call
def test_a_stop_before_the_answer_closes_the_connection(call):
    async def main(tier):
        tier.answers = False
        context = lastcall.Context("r")

        async def use():
            async with call(tier.url, context=context):
                raise AssertionError("there was no answer")

        task = asyncio.ensure_future(use())
        while not tier.heads:
            await asyncio.sleep(0)
        context.stop("operator")
        with pytest.raises(lastcall.Cancelled, match="operator"):
            await task
        await tier.left.wait()

    run(main)


@every_call
def test_a_stop_is_a_stop_in_a_tier_that_takes_part(call, supervisor, client):
    async def main():
        lower, context = Lower(), lastcall.Context("caller")
        async with Tier(wrap(lower, client)) as one:

            async def use():
                async with call(one.url + "/v1/completions", context=context) as chunks:
                    return b"".join([chunk async for chunk in chunks])

            task = asyncio.ensure_future(use())
            await until(lambda: lower.contexts)
            await asyncio.to_thread(context.stop, "migrate")
            with pytest.raises(lastcall.Cancelled, match="migrate"):
                await task
            await lower.ended.wait()
            assert [each[0] for each in one.requests] == ["POST", "DELETE"]
            [below] = lower.contexts
            assert below.is_stopped() and not below.is_killed() and below.reason == "parent"

    eventually(lambda: client.connected)
    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    assert supervisor.wait("cancel", mode="stop")["reason"] == "parent"


@every_call
def test_a_kill_is_a_kill_in_a_tier_that_takes_part(call, supervisor, client):
    async def main():
        lower, context = Lower(), lastcall.Context("caller")
        async with Tier(wrap(lower, client)) as one:

            async def use():
                async with call(one.url + "/v1/completions", context=context) as chunks:
                    return [chunk async for chunk in chunks]

            task = asyncio.ensure_future(use())
            await until(lambda: lower.contexts)
            context.kill("migrate")
            with pytest.raises(lastcall.Cancelled, match="migrate"):
                await task
            await lower.ended.wait()
            await until(lower.contexts[0].is_killed)
            assert [each[0] for each in one.requests] == ["POST"]

    eventually(lambda: client.connected)
    asyncio.run(asyncio.wait_for(main(), PATIENCE))


@every_call
@pytest.mark.parametrize("answers", [True, False])
def test_a_call_in_a_scope_of_anyio_that_is_cancelled_closes_its_connection(call, answers):
    """As Starlette ends the answer to a client that left: at each await, until it is over."""
    anyio = pytest.importorskip("anyio")

    async def main(tier):
        tier.answers = answers
        context = lastcall.Context("r")

        async def use():
            async with call(tier.url, context=context) as chunks:
                async for _ in chunks:
                    pass

        async with anyio.create_task_group() as group:
            group.start_soon(use)
            while not tier.heads:
                await asyncio.sleep(0)
            for _ in range(20):
                await asyncio.sleep(0)
            group.cancel_scope.cancel()
        await tier.left.wait()

    run(main)


@every_call
def test_a_call_of_a_stopped_request_is_not_made(call):
    async def main(tier):
        context = lastcall.Context("r")
        context.stop()
        with pytest.raises(lastcall.Cancelled):
            async with call(tier.url, context=context):
                pass
        assert tier.heads == []

    run(main)


@every_call
def test_a_call_that_is_not_cancelled_ends_as_always(call):
    async def main(tier):
        tier.answers = "whole"
        async with call(tier.url, context=lastcall.Context()) as chunks:
            assert [chunk async for chunk in chunks] == [b"token 1"]

    run(main)


@every_stream
def test_the_ids_go_along_and_headers_of_ones_own_win(call):
    async def main(tier):
        tier.answers = "whole"
        context = lastcall.Context("r/decode 1", root="r%")
        async with call(tier.url, context=context):
            pass
        async with call(tier.url, context=context, headers={"x-request-id": "mine", "a": "b"}):
            pass
        async with call(tier.url):
            pass
        first, second, third = tier.heads
        assert first["x-request-id"].startswith("r/decode%201/")
        assert first["x-lastcall-root"] == "r%25"
        assert first["x-lastcall-parent"] == "r/decode%201"
        assert (second["x-request-id"], second["a"]) == ("mine", "b")
        assert not {name for name in third if "request-id" in name or "lastcall" in name}

    run(main)


@every_stream
def test_the_current_request_is_taken_when_none_is_named(call, client):
    async def main(tier):
        @client.endpoint("decode")
        async def decode(request):
            async with call(tier.url) as chunks:
                async for _ in chunks:
                    client.cancel("r", reason="client_disconnect")
                    yield "item"

        with pytest.raises(lastcall.Cancelled):
            async for _ in decode(None, request_id="r"):
                pass
        assert tier.heads[0]["x-lastcall-parent"] == "r"
        await tier.left.wait()

    run(main)


@every_stream
def test_a_cancellation_from_outside_stays_one(call):
    async def main(tier):
        async def use():
            async with call(tier.url, context=lastcall.Context()) as chunks:
                async for _ in chunks:
                    pass

        task = asyncio.ensure_future(use())
        while not tier.heads:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await tier.left.wait()

    run(main)


def test_each_call_has_an_id_of_its_own_that_fits_on_the_wire():
    context = lastcall.Context("x" * 256)
    seen = {outgoing.headers(context)["X-Request-Id"] for _ in range(3)}
    assert len(seen) == 3 and all(len(each) <= 256 for each in seen)
    assert outgoing.headers() == {}


@pytest.mark.parametrize("text", ["plain-1/2", "a b", "100%", "é", "a\nb: c", "x" * 256])
def test_an_id_survives_the_way_through_a_header(text):
    sent = outgoing.to_header(text)
    assert sent.isascii() and sent.isprintable() and " " not in sent
    assert outgoing.from_header(sent) == text


def test_a_block_that_ends_before_the_cut_leaves_the_task_alone():
    async def main():
        context = lastcall.Context()
        async with outgoing.abort_on_stop(context):
            context.stop()  # the cut is due, but the block stands at no await
        for _ in range(3):
            await asyncio.sleep(0)
        assert getattr(asyncio.current_task(), "cancelling", int)() == 0

    asyncio.run(main())


@pytest.mark.skipif(sys.version_info < (3, 11), reason="a task does not count its cancellations")
def test_a_block_that_swallows_the_cut_leaves_no_count_behind():
    async def main():
        context = lastcall.Context()
        async with outgoing.abort_on_stop(context):
            asyncio.get_running_loop().call_soon(context.stop)
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(3600)
        assert asyncio.current_task().cancelling() == 0

    asyncio.run(main())


@pytest.mark.skipif(sys.version_info < (3, 11), reason="a task does not count its cancellations")
def test_a_cut_and_a_cancellation_from_outside_are_told_apart():
    async def main():
        context = lastcall.Context()

        async def use():
            async with outgoing.abort_on_stop(context):
                await asyncio.sleep(3600)

        task = asyncio.ensure_future(use())
        await asyncio.sleep(0)
        context.stop()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
