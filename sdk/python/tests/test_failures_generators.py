"""`@client.guard(...)` on generators: it reports what leaves them and changes nothing else."""

import asyncio
import inspect

import pytest
from strict_supervisor import eventually

import lastcall


class Thrown(Exception):
    pass


def of_threads(item, seen):
    try:
        while item != "enough":
            if item == "fail":
                raise OSError("gone")
            try:
                item = yield item
            except Thrown:
                item = "thrown"
        return "the end"
    except GeneratorExit:
        seen.append("exit")
        raise
    finally:
        seen.append("closed")


async def of_asyncio(item, seen):
    try:
        while item != "enough":
            await asyncio.sleep(0)
            if item == "fail":
                raise OSError("gone")
            try:
                item = yield item
            except Thrown:
                item = "thrown"
    except GeneratorExit:
        seen.append("exit")
        raise
    finally:
        await asyncio.sleep(0)
        seen.append("closed")


def nothing_was_reported(supervisor, client):
    eventually(lambda: client.connected)
    client.begin("last").end()
    supervisor.wait("request.end", id="last")
    return supervisor.all("fatal") == []


def test_a_guarded_generator_reports_what_leaves_it(supervisor, client):
    function = client.guard("loop")(of_threads)
    with pytest.raises(OSError, match="gone"):
        list(function("fail", []))
    assert "in of_threads" in supervisor.wait("fatal", reason="loop failed: OSError")["detail"]
    assert inspect.isgeneratorfunction(function)


def test_a_guarded_asynchronous_generator_reports_what_leaves_it(supervisor, client):
    function = client.guard("loop")(of_asyncio)
    seen = []

    async def main():
        items = function("first", seen)
        assert await items.__anext__() == "first"
        with pytest.raises(OSError, match="gone"):
            await items.asend("fail")
        with pytest.raises(StopAsyncIteration):
            await items.__anext__()

    asyncio.run(main())
    assert seen == ["closed"]
    assert "in of_asyncio" in supervisor.wait("fatal", reason="loop failed: OSError")["detail"]
    assert inspect.isasyncgenfunction(function)


@pytest.mark.parametrize("function", [of_threads, of_asyncio])
def test_an_exception_thrown_into_a_guarded_generator_is_reported(supervisor, client, function):
    error = ValueError("thrown in")

    async def main():
        items = client.guard("loop")(function)("first", [])
        if function is of_threads:
            next(items)
            items.throw(error)
        await items.__anext__()
        await items.athrow(error)

    with pytest.raises(ValueError, match="thrown in") as raised:
        asyncio.run(main())
    assert raised.value is error and error.__context__ is None
    supervisor.wait("fatal", reason="loop failed: ValueError")


def test_a_guarded_generator_takes_what_is_sent_and_thrown(supervisor, client):
    seen = []
    items = client.guard("loop")(of_threads)(1, seen)
    assert [next(items), items.send(2), items.throw(Thrown), next(items)] == [1, 2, "thrown", None]
    with pytest.raises(StopIteration) as end:
        items.send("enough")
    assert end.value.value == "the end" and seen == ["closed"]
    assert nothing_was_reported(supervisor, client)


def test_a_guarded_asynchronous_generator_takes_what_is_sent_and_thrown(supervisor, client):
    seen = []

    async def main():
        items = client.guard("loop")(of_asyncio)(1, seen)
        assert await items.__anext__() == 1 and await items.asend(2) == 2
        assert await items.athrow(Thrown()) == "thrown" and await items.__anext__() is None
        with pytest.raises(StopAsyncIteration):
            await items.asend("enough")

    asyncio.run(main())
    assert seen == ["closed"]
    assert nothing_was_reported(supervisor, client)


def test_a_guarded_generator_that_is_closed_is_closed_at_once(supervisor, client):
    seen = []
    items = client.guard("loop")(of_threads)(1, seen)
    next(items)
    items.close()
    assert seen == ["exit", "closed"]
    assert nothing_was_reported(supervisor, client)


@pytest.mark.parametrize("how", ["aclose", "cancel"])
def test_a_guarded_asynchronous_generator_is_closed_as_its_caller_leaves(supervisor, client, how):
    seen = []

    @client.guard("loop")
    async def waits():
        try:
            yield 1
            await asyncio.Event().wait()
        except BaseException as error:
            seen.append(type(error))
            raise
        finally:
            await asyncio.sleep(0)

    async def main():
        items = waits()
        await items.__anext__()
        if how == "aclose":
            return await items.aclose()
        task = asyncio.ensure_future(items.__anext__())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert seen == [GeneratorExit if how == "aclose" else asyncio.CancelledError]
    assert nothing_was_reported(supervisor, client)


def test_a_guarded_generator_may_be_an_endpoint(supervisor, client):
    eventually(lambda: client.connected)  # a request that is over by then is not reported
    seen = []
    handler = client.endpoint("generate")(client.guard("loop")(of_asyncio))

    async def main():
        items = handler(1, seen, request_id="r")
        async for item in items:
            assert item == 1
            client.cancel("r")
        await items.aclose()

    with pytest.raises(lastcall.Cancelled):
        asyncio.run(main())
    supervisor.wait("request.end", id="r", outcome="cancelled")
    assert seen == ["exit", "closed"]
    assert nothing_was_reported(supervisor, client)
