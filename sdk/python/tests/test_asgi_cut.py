"""The ASGI middleware by itself: answers that are cut."""

import asyncio
import gc

import pytest
from asgi_server import (
    PATIENCE,
    Server,
    UntilDisconnect,
    answer,
    hang,
    read_all,
    run,
    stream_until_left,
    wrap,
)
from strict_supervisor import eventually

import lastcall


@pytest.mark.parametrize("mode", ["stop", "kill"])
def test_a_cut_stream_ends_in_an_error_event_and_breaks(supervisor, client, mode):
    async def main():
        server = Server(wrap(stream_until_left, client), x_request_id="r").start()
        await server.sends(b"one")
        supervisor.cancel("r", mode=mode, reason="migrate")
        failure = await server.ends()
        assert isinstance(failure, lastcall.Cancelled)
        assert server.body.startswith(b"data: one\n\nevent: error\ndata: {")
        error = server.error()
        assert (error["type"], error["retryable"], error["request_id"]) == ("migrated", True, "r")
        assert (error["events_sent"], error["bytes_sent"]) == (1, 11)
        assert error["reason"] == "migrate"
        assert not server.is_complete and b"[DONE]" not in server.body

    eventually(lambda: client.connected)
    run(main)
    supervisor.wait("cancel.done", id="r")
    assert supervisor.wait("request.end", id="r")["outcome"] == "migrated"


@pytest.mark.parametrize("reason, status, kind", [
    ("grace_timeout", 503, "migrated"), ("engine_dead", 503, "engine_dead"),
    ("operator", 499, "cancelled"),
])  # fmt: skip
def test_a_request_that_is_cut_before_its_first_byte_gets_the_error_object(
    supervisor, client, reason, status, kind
):
    async def main():
        server = Server(wrap(hang, client), x_request_id="r").start()
        await asyncio.to_thread(supervisor.wait, "request.begin")
        supervisor.cancel("r", reason=reason)
        assert await server.ends() is None
        assert (server.status, server.error()["type"], server.is_complete) == (status, kind, True)
        assert server.header("x-lastcall-reason") == reason.encode()
        assert server.error()["reason"] == reason
        assert (server.header("retry-after") is not None) == (status == 503)
        assert server.header("x-should-retry") == (b"true" if status == 503 else b"false")

    eventually(lambda: client.connected)
    run(main)
    supervisor.wait("request.end", id="r")


def test_an_answer_that_is_the_reaction_to_the_cut_reaches_nobody(supervisor, client):
    async def reacts(scope, receive, send):
        await hang(scope, receive, send)
        await answer(send, b"null")

    async def main():
        server = Server(wrap(reacts, client), x_request_id="r").start()
        await asyncio.to_thread(supervisor.wait, "request.begin")
        while client.find("r") is None or server.incoming.qsize():
            await asyncio.sleep(0)
        supervisor.cancel("r", reason="migrate")
        assert await server.ends() is None
        assert (server.status, server.error()["type"]) == (503, "migrated")

    eventually(lambda: client.connected)
    run(main)


def test_an_application_that_sees_the_stop_first_cannot_send_half_an_answer(
    supervisor, client, monkeypatch
):
    """A context is stopped a moment before its callbacks run on the thread that stops it."""
    monkeypatch.setattr("lastcall.context.Context.on_stop", lambda self, callback: lambda: None)

    async def gives_up(scope, receive, send):
        await read_all(receive)
        lastcall.current().stop("operator")
        await answer(send, b"half of it")

    async def main():
        server = Server(wrap(gives_up, client), x_request_id="r").start()
        assert await server.ends() is None
        assert (server.status, server.error()["reason"]) == (499, "operator")
        assert b"half" not in server.body and server.is_complete

    run(main)


def test_an_application_that_ignores_the_stop_sends_nothing_more(supervisor, client):
    failures = []

    async def deaf(scope, receive, send):
        await answer(send, b"data: one\n\n", kind=b"text/event-stream", end=False)
        while not failures:
            await asyncio.sleep(0)
            try:
                await send({"type": "http.response.body", "body": b": \n\n", "more_body": True})
            except OSError as error:
                failures.append(error)
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})

    async def main():
        server = Server(wrap(deaf, client), x_request_id="r").start()
        await server.sends(b"one")
        supervisor.cancel("r", reason="migrate")
        assert isinstance(await server.ends(), lastcall.Cancelled)
        assert failures and b"[DONE]" not in server.body and server.error()["type"] == "migrated"

    eventually(lambda: client.connected)
    run(main)


def test_a_kill_cuts_an_application_that_ignores_the_stop(supervisor, client):
    started = []

    async def deaf(scope, receive, send):
        started.append(True)
        await asyncio.sleep(3600)

    async def main():
        server = Server(wrap(deaf, client), x_request_id="r").start()
        while not started:
            await asyncio.sleep(0)
        supervisor.cancel("r", reason="grace_timeout")
        while not server.sent:  # the client is notified at once
            await asyncio.sleep(0)
        assert not server.task.done() and supervisor.all("request.end") == []
        supervisor.cancel("r", mode="kill", reason="grace_timeout")
        assert await server.ends() is None
        assert server.status == 503

    eventually(lambda: client.connected)
    run(main)
    supervisor.wait("request.end", id="r")


@pytest.mark.parametrize("how", ["kill", "leave"])
def test_a_kill_reaches_work_that_only_a_disconnect_ends(supervisor, client, how):
    async def main():
        engine = UntilDisconnect()
        server = Server(wrap(engine, client), x_request_id="r").start()
        await engine.working.wait()
        context = client.find("r")
        if how == "kill":
            supervisor.cancel("r", mode="kill", reason="operator")
        else:
            server.leave()
        assert await server.ends() is None
        await asyncio.wait({engine.work}, timeout=PATIENCE)
        assert engine.work.cancelled() and context.is_killed()
        assert how == "leave" or server.status == 499

    eventually(lambda: client.connected)
    run(main)
    assert supervisor.wait("request.end", id="r")["outcome"] == "cancelled"


def test_an_application_that_received_a_disconnect_and_goes_on_is_cut(supervisor, client):
    """Sooner than one that has not asked for it."""
    cut_after, started = [], asyncio.Event()

    async def deaf(scope, receive, send):
        await read_all(receive)
        started.set()
        assert (await receive())["type"] == "http.disconnect"
        began = asyncio.get_running_loop().time()
        try:
            await asyncio.sleep(3600)
        finally:
            cut_after.append(asyncio.get_running_loop().time() - began)

    async def main():
        server = Server(wrap(deaf, client), x_request_id="r").start()
        await started.wait()
        server.leave()
        assert await server.ends() is None
        assert cut_after[0] >= 0.9

    eventually(lambda: client.connected)
    run(main)


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_events_are_sent_whole_however_they_are_cut_up(supervisor, client, end):
    async def pieces(scope, receive, send):
        stream = b"data: 1" + end + b": ping" + end + b"data: 2" + end + b"data: half"
        await answer(send, *[stream[n : n + 1] for n in range(len(stream))],
                     kind=b"text/event-stream", end=False)  # fmt: skip
        await hang(scope, receive, send)

    async def main():
        server = Server(wrap(pieces, client), x_request_id="r").start()
        await server.sends(b"2" + end)
        assert [each["body"] for each in server.sent[1:]] == [
            b"data: 1" + end, b": ping" + end, b"data: 2" + end,
        ]  # fmt: skip
        supervisor.cancel("r", reason="migrate")
        await server.ends()
        assert b"half" not in server.body and server.error()["events_sent"] == 2

    eventually(lambda: client.connected)
    run(main)


def test_the_rest_of_a_stream_that_ends_without_a_blank_line_is_not_lost(client):
    async def ends_badly(scope, receive, send):
        await answer(send, b"data: 1\n\nda", b"ta: 2", b"", kind=b"text/event-stream")

    async def main():
        server = Server(wrap(ends_badly, client))
        assert await server.start().ends() is None
        assert server.body == b"data: 1\n\ndata: 2" and server.is_complete

    run(main)


def test_a_stream_whose_client_has_its_done_is_finished_and_not_cut(supervisor, client):
    async def done(scope, receive, send):
        await answer(send, b"data: 1\n\n", b"data: [DONE]\n\n", kind=b"text/event-stream",
                     end=False)  # fmt: skip
        await hang(scope, receive, send)

    async def main():
        server = Server(wrap(done, client), x_request_id="r").start()
        await server.sends(b"[DONE]")
        supervisor.cancel("r", reason="migrate")
        assert await server.ends() is None
        assert server.is_complete and b"error" not in server.body

    eventually(lambda: client.connected)
    run(main)


def test_a_compressed_stream_is_cut_without_an_event(supervisor, client):
    async def packed(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [
            (b"content-type", b"text/event-stream"), (b"content-encoding", b"gzip")]})
        await send({"type": "http.response.body", "body": b"\x1f\x8b", "more_body": True})
        await hang(scope, receive, send)

    async def main():
        server = Server(wrap(packed, client), x_request_id="r").start()
        await server.sends(b"\x1f\x8b")
        supervisor.cancel("r", reason="migrate")
        assert isinstance(await server.ends(), lastcall.Cancelled)
        assert server.body == b"\x1f\x8b" and not server.is_complete

    eventually(lambda: client.connected)
    run(main)


def test_the_context_of_the_application_cancels_like_the_supervisor(supervisor, client):
    async def stops_itself(scope, receive, send):
        child = client.begin("child", parent=lastcall.current())
        lastcall.current().stop("operator")
        assert child.is_stopped()
        child.end()
        await hang(scope, receive, send)

    async def main():
        server = Server(wrap(stops_itself, client), x_request_id="r").start()
        assert await server.ends() is None
        assert server.status == 499

    eventually(lambda: client.connected)
    run(main)
    assert supervisor.wait("request.end", id="r")["outcome"] == "cancelled"


def test_a_client_that_does_not_read_holds_nothing_up(supervisor, client):
    async def main():
        server = Server(wrap(stream_until_left, client), x_request_id="r")
        blocked = asyncio.Event()

        async def send(message):
            if b"error" in message.get("body", b""):
                await blocked.wait()  # for ever
            await Server.send(server, message)

        server.send = send
        server.start()
        await server.sends(b"one")
        supervisor.cancel("r", reason="migrate")
        await asyncio.to_thread(supervisor.wait, "cancel.done", id="r")
        assert isinstance(await server.ends(), lastcall.Cancelled)

    eventually(lambda: client.connected)
    run(main)
    assert supervisor.wait("request.end", id="r")["outcome"] == "migrated"


@pytest.mark.parametrize("outside", [True, False])
def test_another_middleware_does_not_make_a_cut_stream_look_finished(supervisor, client, outside):
    pytest.importorskip("starlette")
    from starlette.middleware.base import BaseHTTPMiddleware

    class Passes(BaseHTTPMiddleware):
        async def dispatch(self, request, call_next):
            return await call_next(request)

    async def main():
        app = Passes(wrap(stream_until_left, client)) if outside else wrap(
            Passes(stream_until_left), client)  # fmt: skip
        server = Server(app, x_request_id="r").start()
        await server.sends(b"one")
        supervisor.cancel("r", reason="migrate")
        assert await server.ends() is not None
        assert server.error()["type"] == "migrated" and b"[DONE]" not in server.body
        # Some versions of it end every answer properly when it is outside.
        assert outside or not server.is_complete

    eventually(lambda: client.connected)
    run(main)


@pytest.mark.parametrize("mode", ["stop", "kill"])
@pytest.mark.parametrize("holder", ["frame", "task"])
def test_what_a_cut_application_held_is_released_at_once(supervisor, client, mode, holder):
    """A generator closes when nobody holds it any more; what it does then must not wait until the
    interpreter looks for cycles."""
    closed = asyncio.Event()

    async def tokens():
        try:
            while True:
                yield b"data: one\n\n"
        finally:
            closed.set()

    async def stream(receive, send):
        pieces = tokens()
        own = asyncio.current_task() if holder == "task" else None  # a cycle through its traceback
        await answer(send, await pieces.__anext__(), kind=b"text/event-stream", end=False)
        await read_all(receive)
        await receive()
        await send({"type": "http.response.body", "body": b"late", "more_body": True})
        return own

    async def app(scope, receive, send):
        work = asyncio.ensure_future(stream(receive, send))
        await asyncio.wait({work})
        kept = [work.exception()]  # a cycle with the frame, as anyio's task groups make it
        if holder == "frame":
            work = None
        raise kept[0]

    async def main():
        server = Server(wrap(app, client), x_request_id="r").start()
        await server.sends(b"one")
        supervisor.cancel("r", mode=mode, reason="migrate")
        assert isinstance(await server.ends(), lastcall.Cancelled)
        await asyncio.wait_for(closed.wait(), PATIENCE)

    eventually(lambda: client.connected)
    gc.disable()
    try:
        run(main)
    finally:
        gc.enable()


def test_the_error_that_an_outer_application_handles_keeps_its_traceback(supervisor, client):
    kept = []

    async def app(scope, receive, send):
        await read_all(receive)
        await answer(send, b"data: one\n\n", kind=b"text/event-stream", end=False)
        await receive()
        await send({"type": "http.response.body", "body": b"late", "more_body": True})

    async def outer(scope, receive, send):
        tracked = wrap(app, client)
        try:
            raise ValueError("the first attempt")
        except ValueError as error:
            kept.append(error)
            await tracked(scope, receive, send)

    async def main():
        server = Server(outer, x_request_id="r").start()
        await server.sends(b"one")
        supervisor.cancel("r", mode="stop", reason="migrate")
        assert isinstance(await server.ends(), lastcall.Cancelled)
        assert kept[0].__traceback__ is not None

    eventually(lambda: client.connected)
    run(main)
