"""Decorated handlers whose caller leaves: by closing the generator, or with its task."""

import asyncio

import pytest
from strict_supervisor import eventually

def of_asyncio(client, log):
    @client.endpoint("generate")
    async def endless(request, context):
        log.append(context)
        log.append(client.begin(parent=context))
        while True:
            yield 1
            await asyncio.sleep(0)

    return endless


@pytest.mark.parametrize("how", ["closes", "is cancelled"])
def test_a_caller_that_leaves_is_a_client_that_left(supervisor, client, how):
    log = []

    async def main():
        stream = of_asyncio(client, log)(None, request_id="r")

        async def consume():
            async for _ in stream:
                if how == "closes":
                    break

        task = asyncio.ensure_future(consume())
        while not log:
            await asyncio.sleep(0)
        if how == "is cancelled":
            task.cancel()
        await asyncio.wait({task})
        await stream.aclose()

    eventually(lambda: client.connected)
    asyncio.run(asyncio.wait_for(main(), 20))
    context, child = log
    assert (context.reason, context.outcome) == ("client_disconnect", "cancelled")
    assert (child.reason, child.cause) == ("parent", "client_disconnect")
    told = supervisor.wait("cancel", reason="client_disconnect")
    assert (told["ids"], told["mode"]) == (["r"], "stop")
    assert supervisor.wait("request.end", id="r")["outcome"] == "cancelled"


def test_a_call_whose_task_is_cancelled_is_a_client_that_left(supervisor, client):
    contexts = []

    @client.endpoint("embed")
    async def embed(request, context):
        contexts.append(context)
        await asyncio.sleep(3600)

    async def main():
        task = asyncio.ensure_future(embed(None, request_id="r"))
        while not contexts:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    eventually(lambda: client.connected)
    asyncio.run(asyncio.wait_for(main(), 20))
    assert contexts[0].reason == "client_disconnect"
    assert supervisor.wait("cancel")["reason"] == "client_disconnect"


def test_a_caller_in_a_thread_that_leaves_is_a_client_that_left(supervisor, client):
    @client.endpoint("generate")
    def count(request):
        yield from range(100)

    eventually(lambda: client.connected)
    for _ in count(None, request_id="r"):
        break
    assert supervisor.wait("cancel", reason="client_disconnect")["ids"] == ["r"]


def test_closing_a_generator_after_its_end_cancels_nothing(supervisor, client):
    contexts = []

    @client.endpoint("generate")
    async def one(request, context):
        contexts.append(context)
        yield 1

    async def main():
        stream = one(None, request_id="r")
        assert [item async for item in stream] == [1]
        await stream.aclose()

    eventually(lambda: client.connected)
    asyncio.run(asyncio.wait_for(main(), 20))
    assert (contexts[0].reason, contexts[0].outcome) == (None, "completed")
    assert supervisor.wait("request.end", id="r")["outcome"] == "completed"
    assert supervisor.all("cancel") == []
