"""A request that begins while another one is worked on is a sub-request of it, and counts once."""

import asyncio
import os
import threading

import pytest
from asgi_server import Server, answer, read_all, run, wrap
from strict_supervisor import eventually

import lastcall


def begun_below(supervisor, parent, count=1):
    begun = supervisor.wait("request.begin", count, parent=parent)
    assert begun["root"] == "r"
    return begun


def test_an_endpoint_below_the_middleware_is_a_sub_request(supervisor, client):
    @client.endpoint("generate", admit=True)
    async def generate():
        yield b"data: 1\n\n"

    async def app(scope, receive, send):
        await read_all(receive)
        await answer(send, *[item async for item in generate()], kind=b"text/event-stream")

    eventually(lambda: client.connected)
    run(lambda: Server(wrap(app, client), x_request_id="r").start().ends())
    begun = begun_below(supervisor, "r")
    assert (begun["endpoint"], begun["admit"]) == ("generate", True)
    assert supervisor.wait("request.end", id=begun["id"])["outcome"] == "completed"


def test_starlette_streams_an_endpoint_as_a_sub_request_which_a_cancel_reaches(supervisor, client):
    responses = pytest.importorskip("starlette.responses")
    closed = []

    @client.endpoint("generate")
    async def generate():
        try:
            while True:
                yield "data: 1\n\n"
                await asyncio.sleep(0)
        finally:
            closed.append(True)

    async def app(scope, receive, send):
        response = responses.StreamingResponse(generate(), media_type="text/event-stream")
        await response(scope, receive, send)

    async def main():
        server = Server(wrap(app, client), x_request_id="r").start()
        await server.sends(b"1")
        supervisor.cancel("r", reason="migrate")
        assert isinstance(await server.ends(), lastcall.Cancelled)
        assert server.error()["type"] == "migrated"

    eventually(lambda: client.connected)
    run(main)
    assert closed == [True]
    begun = begun_below(supervisor, "r")
    assert supervisor.wait("cancel", ids=[begun["id"]])["reason"] == "parent"
    assert supervisor.wait("request.end", id=begun["id"])["outcome"] == "migrated"


def test_a_thread_of_a_request_begins_sub_requests(supervisor, client):
    @client.endpoint("embed")
    def embed():
        with client.request("inner"):
            return b"{}"

    async def app(scope, receive, send):
        await read_all(receive)
        await answer(send, await asyncio.to_thread(embed))

    eventually(lambda: client.connected)
    run(lambda: Server(wrap(app, client), x_request_id="r").start().ends())
    outer = begun_below(supervisor, "r")
    assert begun_below(supervisor, outer["id"])["id"] == "inner"


def test_a_parent_that_is_given_counts_more_than_the_one_around(supervisor, client):
    @client.endpoint("generate")
    async def generate():
        with client.begin("named", parent="elsewhere", root="u"):
            yield
        with client.begin("linked", parent=other):
            yield

    async def drive():
        async for _ in generate(request_id="r"):
            pass

    eventually(lambda: client.connected)
    other = client.begin("other")
    run(drive)
    assert supervisor.wait("request.begin", id="named")["parent"] == "elsewhere"
    assert supervisor.wait("request.begin", id="linked")["parent"] == "other"


def test_work_that_outlives_its_request_begins_requests_of_its_own(supervisor, client):
    tasks = []

    async def later(may_begin):
        await may_begin.wait()
        client.begin("later").end()

    async def main():
        may_begin = asyncio.Event()

        async def app(scope, receive, send):
            tasks.append(asyncio.ensure_future(later(may_begin)))
            await answer(send, b"{}")

        assert await Server(wrap(app, client), x_request_id="r").start().ends() is None
        may_begin.set()
        await tasks[0]

    eventually(lambda: client.connected)
    run(main)
    begun = supervisor.wait("request.begin", id="later")
    assert "parent" not in begun and "root" not in begun


def test_a_forked_child_inherits_no_parent(supervisor, client, make_client):
    seen = []

    @client.endpoint("generate")
    def generate():
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            inherited = lastcall.current() is not None and lastcall.current().id() == "r"
            own = lastcall.Client("child", socket="")
            os.write(writing, b"%d %s" % (inherited, own.begin("c").root.encode()))
            os._exit(0)
        os.waitpid(child, 0)
        seen.append(os.read(reading, 100))
        os.close(reading)
        os.close(writing)

    eventually(lambda: client.connected)
    caller = threading.Thread(target=generate, kwargs={"request_id": "r"})
    caller.start()
    caller.join()
    assert seen == [b"1 c"]
