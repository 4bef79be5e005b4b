"""Decorated handlers whose caller leaves: by closing the generator, or with its task."""

import asyncio
import sys

import pytest
from strict_supervisor import eventually

import lastcall


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
    cancel = supervisor.wait("cancel", reason="client_disconnect")
    assert (cancel["ids"], cancel["mode"]) == (["r"], "kill")
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


groups = pytest.mark.skipif(sys.version_info < (3, 11), reason="there are no groups of tasks yet")


@groups
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_group_of_tasks_that_gave_up_is_a_cancel(supervisor, client, how):
    inside = []

    @client.endpoint("work")
    async def work(request, context):
        inside.append(context)
        await (context.stopped() if how == "stop" else asyncio.sleep(3600))

    @client.endpoint("embed")
    async def embed(request, context):
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(work(request, parent=context))
            tasks.create_task(work(request, parent=context))
            await asyncio.sleep(3600)

    @client.endpoint("generate")
    async def generate(request, context):
        yield "a"
        await embed(request, request_id="e", parent=context)

    async def consume():
        with pytest.raises(lastcall.Cancelled) as caught:
            async for _ in generate(None, request_id="r"):
                pass
        await asyncio.sleep(0)  # nothing is left of the cancellation
        return caught.value

    async def main():
        task = asyncio.ensure_future(consume())
        while len(inside) < 2:
            await asyncio.sleep(0)
        getattr(client.find("r"), how)(reason="migrate")
        return await task

    eventually(lambda: client.connected)
    error = asyncio.run(asyncio.wait_for(main(), 20))
    assert (error.request_id, error.reason) == ("e", "migrate")
    assert supervisor.wait("request.end", id="r")["outcome"] == "migrated"


@groups
def test_a_generator_that_is_left_inside_a_group_of_tasks_ends_as_any(supervisor, client):
    @client.endpoint("generate")
    async def generate(request):
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(asyncio.sleep(3600))
            while True:
                yield 1

    async def leave():
        stream = generate(None, request_id="left")
        await stream.__anext__()
        await stream.aclose()

    async def stop():
        async for _ in generate(None, request_id="stopped"):
            client.cancel("stopped", reason="operator")

    eventually(lambda: client.connected)
    asyncio.run(asyncio.wait_for(leave(), 20))
    assert supervisor.wait("cancel", reason="client_disconnect")["ids"] == ["left"]
    with pytest.raises(lastcall.Cancelled, match="operator"):
        asyncio.run(asyncio.wait_for(stop(), 20))
    for each in ("left", "stopped"):
        assert supervisor.wait("request.end", id=each)["outcome"] == "cancelled"


@groups
@pytest.mark.parametrize("stopped", [True, False])
def test_a_group_with_a_failure_or_without_a_stop_stays_one(client, stopped):
    @client.endpoint("embed")
    async def embed(request, context):
        if stopped:
            context.stop()
        other = KeyError("x") if stopped else lastcall.Cancelled("another", "control")
        inner = BaseExceptionGroup("inner", [asyncio.CancelledError(), other])  # noqa: F821
        raise BaseExceptionGroup("outer", [inner, lastcall.Cancelled("r", "control")])  # noqa: F821

    with pytest.raises(BaseException) as caught:
        asyncio.run(embed(None))
    assert str(caught.value).startswith("outer")


@groups
@pytest.mark.parametrize("streams", [True, False])
def test_a_group_in_a_thread_that_gave_up_is_a_cancel(client, streams):
    def give_up(context):
        context.kill(reason="operator")
        errors = [lastcall.Cancelled("child", "parent")]
        raise BaseExceptionGroup("all of them", errors)  # noqa: F821

    @client.endpoint("embed")
    def embed(request, context):
        give_up(context)

    @client.endpoint("generate")
    def generate(request, context):
        yield 1
        give_up(context)

    with pytest.raises(lastcall.Cancelled, match="'r' was cancelled: operator"):
        list((generate if streams else embed)(None, request_id="r"))
