"""The ASGI middleware by itself: errors of the engine, which may be its end."""

import asyncio
import sys
import time

import pytest
from asgi_server import Server, answer, run, wrap
from strict_supervisor import eventually

DIED = b'data: {"error":{"message":"EngineCore died","code":500}}\n\n'
COMPLETE = b'data: {"error":{"message":"too long","code":400}}\n\n'
DONE = b"data: [DONE]\n\n"
SSE = b"text/event-stream"


@pytest.fixture
def vllm(monkeypatch):
    """The engine in this process has a core beside it."""
    monkeypatch.setitem(sys.modules, "vllm", sys)


@pytest.fixture
def soon(monkeypatch):
    monkeypatch.setattr("lastcall.asgi_messages.HELD_FOR", 0.05)


async def fails_in_stream(scope, receive, send):
    await answer(send, b"data: 1\n\n" + DIED + DONE, kind=SSE)


async def fails_at_once(scope, receive, send):
    await answer(send, b"{}", status=500)


def outcome(supervisor):
    return supervisor.wait("request.end", id="r")["outcome"]


@pytest.mark.parametrize("event", [DIED, COMPLETE])
def test_a_stream_with_an_error_in_it_has_not_completed(supervisor, client, event):
    async def fails(scope, receive, send):
        await answer(send, b"data: 1\n\n", event, DONE, kind=SSE)

    async def main():
        server = Server(wrap(fails, client), x_request_id="r").start()
        assert await server.ends() is None
        assert server.body == b"data: 1\n\n" + event + DONE and server.is_complete

    eventually(lambda: client.connected)
    run(main)
    assert outcome(supervisor) == "error"


@pytest.mark.parametrize("app", [fails_in_stream, fails_at_once])
def test_an_error_of_an_engine_that_died_is_reported_as_its_death(supervisor, client, vllm, app):
    async def main():
        fails = asyncio.Event()

        async def failing(scope, receive, send):
            fails.set()
            await app(scope, receive, send)

        server = Server(wrap(failing, client), x_request_id="r").start()
        await fails.wait()
        if app is fails_in_stream:
            await server.sends(b"data: 1")
        supervisor.cancel("r", mode="kill", reason="engine_dead")
        await server.ends()
        assert b"EngineCore" not in server.body and DONE not in server.body
        error = server.error()
        assert (error["type"], error["retryable"]) == ("engine_dead", True)
        if app is fails_in_stream:
            assert server.body.startswith(b"data: 1\n\n") and error["events_sent"] == 1
        else:
            assert server.status == 503

    eventually(lambda: client.connected)
    run(main)
    assert outcome(supervisor) == "engine_dead"


@pytest.mark.parametrize("app", [fails_in_stream, fails_at_once])
def test_an_error_that_nobody_explains_goes_on_unchanged(supervisor, client, vllm, soon, app):
    async def main():
        server = Server(wrap(app, client), x_request_id="r").start()
        assert await server.ends() is None
        assert server.is_complete
        whole = b"data: 1\n\n" + DIED + DONE
        assert (server.status, server.body) == (
            (200, whole) if app is fails_in_stream else (500, b"{}")
        )  # fmt: skip

    eventually(lambda: client.connected)
    run(main)
    assert outcome(supervisor) == "error"


def now_ms():
    return int(time.monotonic() * 1000)


@pytest.fixture
def for_ever(monkeypatch):
    monkeypatch.setattr("lastcall.asgi_messages.HELD_FOR", 3600)


@pytest.mark.parametrize("app", [fails_in_stream, fails_at_once])
def test_an_error_goes_on_once_the_engine_is_known_to_live(supervisor, client, vllm, for_ever, app):
    async def main():
        server = Server(wrap(app, client), x_request_id="r").start()
        await asyncio.to_thread(supervisor.wait, "health.doubt")
        supervisor.send("health.cleared", at_ms=0)  # it lived then: that was before the error
        supervisor.send("phase", seq=1, phase="serving")
        await asyncio.to_thread(supervisor.wait, "ack", seq=1)
        assert not server.task.done()
        supervisor.send("health.cleared", at_ms=now_ms())
        assert await server.ends() is None
        assert server.is_complete and b"engine_dead" not in server.body

    eventually(lambda: client.connected)
    run(main)
    assert outcome(supervisor) == "error"
    assert len(supervisor.all("health.doubt")) == 1


def test_the_next_supervisor_is_notified_of_the_doubt_too(supervisor, client, vllm, for_ever):
    async def main():
        server = Server(wrap(fails_at_once, client), x_request_id="r").start()
        await asyncio.to_thread(supervisor.wait, "health.doubt")
        await asyncio.to_thread(supervisor.hang_up)
        await asyncio.to_thread(supervisor.wait, "health.doubt", connection=2)
        supervisor.send("health.cleared", at_ms=now_ms())
        assert await server.ends() is None
        assert server.status == 500
        await asyncio.to_thread(supervisor.hang_up)
        await asyncio.to_thread(supervisor.wait, "hello", connection=3)

    eventually(lambda: client.connected)
    run(main)
    eventually(lambda: client.connected)
    assert not supervisor.all("health.doubt", connection=3)


def test_a_supervisor_that_knows_no_doubt_is_no_reason_to_complain(
    supervisor, client, vllm, soon, caplog
):
    async def main():
        server = Server(wrap(fails_at_once, client), x_request_id="r").start()
        await asyncio.to_thread(supervisor.wait, "health.doubt")
        supervisor.send("error", code="unknown_op", message="no such message: 'health.doubt'")
        assert await server.ends() is None
        assert server.status == 500

    eventually(lambda: client.connected)
    run(main)
    assert outcome(supervisor) == "error"
    assert not [each for each in caplog.records if each.levelname == "ERROR"]


@pytest.mark.parametrize("status, headers", [(503, [(b"retry-after", b"1")]), (501, []), (400, [])])
def test_a_refusal_is_not_held(supervisor, client, vllm, for_ever, status, headers):
    async def refuses(scope, receive, send):
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def main():
        server = Server(wrap(refuses, client), x_request_id="r").start()
        assert await server.ends() is None
        assert server.status == status

    eventually(lambda: client.connected)
    run(main)


def test_nothing_is_held_for_a_client_that_left(supervisor, client, vllm, for_ever):
    async def main():
        server = Server(wrap(fails_in_stream, client), x_request_id="r").start()
        await server.sends(b"data: 1")
        server.leave()
        await server.ends()
        assert server.task.done()

    eventually(lambda: client.connected)
    run(main)
    assert outcome(supervisor) == "cancelled"


def test_an_engine_of_one_process_cannot_outlive_its_death(supervisor, client, for_ever):
    async def main():
        server = Server(wrap(fails_at_once, client), x_request_id="r").start()
        assert await server.ends() is None
        assert server.status == 500

    eventually(lambda: client.connected)
    run(main)
