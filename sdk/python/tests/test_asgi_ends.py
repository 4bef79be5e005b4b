"""The ASGI middleware by itself: whatever goes wrong at its end, a request has one."""

import asyncio

import pytest
from asgi_server import Server, answer, read_all, run, stream_until_left, wrap
from strict_supervisor import eventually


class Broken(Server):
    """Its `send` fails once the client has left, as ASGI 2.4 has it."""

    def leave(self):
        self.left = True
        super().leave()

    async def send(self, message):
        if getattr(self, "left", False):
            raise OSError("the client has left")
        await super().send(message)


class Stuck(Server):
    """Its client reads the first event and no more."""

    async def send(self, message):
        await super().send(message)
        if b"error" in message.get("body", b""):
            await asyncio.Event().wait()


def leaves_behind(supervisor, client, *pieces, kind=b"text/event-stream"):
    """The outcome of a stream whose client leaves when it has got all of the pieces."""

    async def with_a_long_end(scope, receive, send):
        await read_all(receive)
        await answer(send, *pieces, kind=kind, end=False)
        assert (await receive())["type"] == "http.disconnect"
        raise RuntimeError("the client has left")

    async def main():
        server = Broken(wrap(with_a_long_end, client), x_request_id="r").start()
        await server.sends(b"".join(pieces))
        server.leave()
        assert await server.ends() is None
        assert client.live() == []

    eventually(lambda: client.connected)
    run(main)
    return supervisor.wait("request.end", id="r")["outcome"]


@pytest.mark.parametrize("last", [
    [b"data: 1\n\ndata: [DONE]\n\n"], [b"data: 1\n\n", b"data: [DO", b"NE]\r\n\r\n"],
    [b"data: [DONE]\n\n", b"\n\n"],
])  # fmt: skip
def test_a_client_that_leaves_at_its_done_has_its_answer(supervisor, client, last):
    """Many do, and the end of the body comes a moment later."""
    assert leaves_behind(supervisor, client, *last) == "completed"
    assert supervisor.all("cancel") == []


@pytest.mark.parametrize("more", [b": ping\n\n", b"data: 2\n\n"])
def test_a_client_that_leaves_between_done_and_more_has_left(supervisor, client, more):
    assert leaves_behind(supervisor, client, b"data: [DONE]\n\n", more) == "cancelled"
    assert supervisor.wait("cancel", ids=["r"])["reason"] == "client_disconnect"


def test_an_error_before_done_stays_one_when_its_client_leaves(supervisor, client):
    error = b'data: {"error": {"message": "bad", "code": 400}}\n\n'
    assert leaves_behind(supervisor, client, error, b"data: [DONE]\n\n") == "error"


def test_work_that_goes_on_after_done_is_killed_when_its_client_leaves(supervisor, client):
    """Its request has completed, and is in flight no longer; nobody wants the rest."""

    async def goes_on(scope, receive, send):
        with client.begin("below"):
            await answer(send, b"data: [DONE]\n\n", kind=b"text/event-stream", end=False)
            await client.find("below").killed()

    async def main():
        server = Server(wrap(goes_on, client), x_request_id="r").start()
        await server.sends(b"[DONE]")
        server.leave()
        assert await server.ends() is None
        assert client.live() == []

    eventually(lambda: client.connected)
    run(main)
    assert supervisor.wait("request.end", id="r")["outcome"] == "completed"
    assert supervisor.wait("cancel", ids=["below"])["mode"] == "kill"
    assert [cancel["ids"] for cancel in supervisor.all("cancel")] == [["below"]]


def test_the_head_of_a_stream_is_no_progress(supervisor, client):
    async def main():
        goes_on, moved = asyncio.Event(), asyncio.Event()

        async def stream(scope, receive, send):
            await read_all(receive)
            head = [(b"content-type", b"text/event-stream")]
            await send({"type": "http.response.start", "status": 200, "headers": head})
            await goes_on.wait()
            await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
            await moved.wait()
            await send({"type": "http.response.body"})

        server = Server(wrap(stream, client), x_request_id="r").start()
        await server.starts()
        with client.begin("mark"):  # reported after whatever the head has caused
            pass
        await asyncio.to_thread(supervisor.wait, "request.begin", id="mark")
        assert supervisor.all("request.progress") == []
        goes_on.set()
        assert (await asyncio.to_thread(supervisor.wait, "request.progress"))["ids"] == ["r"]
        moved.set()
        assert await server.ends() is None

    eventually(lambda: client.connected)
    run(main)


def test_a_task_cancelled_while_it_reports_a_cancel_ends_the_request(supervisor, client):
    async def main():
        server = Stuck(wrap(stream_until_left, client), x_request_id="r").start()
        await server.sends(b"one")
        supervisor.cancel("r", reason="migrate")
        await server.sends(b"event: error")
        server.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await server.task
        assert client.live() == []

    eventually(lambda: client.connected)
    run(main)
    assert supervisor.wait("request.end", id="r")["outcome"] == "migrated"
