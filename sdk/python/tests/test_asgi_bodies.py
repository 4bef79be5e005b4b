"""The ASGI middleware by itself: what a client sends."""

import asyncio
import json

import pytest
from asgi_server import Server, answer, echo, leaves_while_it_waits, read_all, run, wrap
from strict_supervisor import eventually

import lastcall
from lastcall.asgi_messages import MAX_SPARE


def test_a_request_is_reported_with_its_endpoint_and_model(supervisor, client):
    async def main():
        server = Server(wrap(echo, client), body={"model": "Qwen", "n": 1}, x_request_id="r1")
        assert await server.start().ends() is None
        assert json.loads(server.body) == {"model": "Qwen", "n": 1} and server.is_complete

    eventually(lambda: client.connected)
    run(main)
    begun = supervisor.wait("request.begin", id="r1")
    assert (begun["endpoint"], begun["model"], begun["stream"], begun["admit"]) == (
        "chat_completions", "Qwen", False, True,
    )  # fmt: skip
    assert supervisor.wait("request.end", id="r1")["outcome"] == "completed"
    assert supervisor.all("cancel.done") == []


def test_the_application_receives_what_is_known_of_its_request(client):
    seen = []

    async def look(scope, receive, send):
        seen.append((scope["lastcall"], lastcall.current(), dict(scope["headers"])))
        await echo(scope, receive, send)

    async def main():
        await Server(wrap(look, client)).start().ends()

    run(main)
    known, current, headers = seen[0]
    assert (known["endpoint"], known["model"], known["stream"]) == ("chat_completions", "m", True)
    assert known["context"] is current
    assert headers[b"x-request-id"].decode() == current.id()


@pytest.mark.parametrize(
    "body, kind, model",
    [
        ([b'{"mod', b'el": "m"', b"}"], "application/json", "m"),
        (b'{"model": "m"', "application/json; charset=utf-8", None),
        (b"[1]", "application/json", None),
        (b'{"model": 7}', "application/json", None),
        (b'{"model": "\\ud800"}', "application/json", "?"),
        (b'{"model": "m"}', "text/plain", None),
        (b"[" * 100_000, "application/json", None),
        (b"", "application/json", None),
    ],
)
def test_a_body_reaches_the_application_whatever_it_is(supervisor, client, body, kind, model):
    async def main():
        server = Server(wrap(echo, client), body=body, content_type=kind)
        assert await server.start().ends() is None
        assert server.body == b"".join(server.pieces)

    eventually(lambda: client.connected)
    run(main)
    assert supervisor.wait("request.begin").get("model") == model


def test_a_body_that_comes_slowly_does_not_hold_the_request_up(client):
    started = []

    async def note(scope, receive, send):
        started.append((await receive())["body"])
        await answer(send, await read_all(receive))

    async def main():
        server = Server(wrap(note, client), body=[b"{", b'"model":"m"}'])
        late = [server.incoming.get_nowait() for _ in range(2)][1]
        server.incoming.put_nowait({"type": "http.request", "body": b"{", "more_body": True})
        server.start()
        while not started:
            await asyncio.sleep(0)
        server.incoming.put_nowait(late)
        assert await server.ends() is None
        assert server.body == b'"model":"m"}'

    run(main)


def test_a_long_upload_is_read_ahead_by_little(client):
    taken = []

    async def main():
        app = wrap(hang_before_reading, client, admit=False)
        server = Server(app, body=[b"x" * 65536] * 64, content_type="application/octet-stream")
        server.start()
        while not taken:
            await asyncio.sleep(0)
        for _ in range(50):
            await asyncio.sleep(0)
        assert server.incoming.qsize() >= 62
        go_on.set()
        assert await server.ends() is None
        assert len(server.body) == 64 * 65536

    async def hang_before_reading(scope, receive, send):
        taken.append(True)
        await go_on.wait()
        await echo(scope, receive, send)

    async def with_event():
        nonlocal go_on
        go_on = asyncio.Event()
        await main()

    go_on = None
    run(with_event)


def upload(client, app, request_id, size):
    return Server(wrap(app, client), body=[b"x" * 65536] * (size // 65536 + 1),
                  content_type="application/octet-stream", x_request_id=request_id)  # fmt: skip


@pytest.mark.parametrize("size", [200_000, 4_000_000])
def test_a_client_with_a_long_body_that_leaves_while_it_waits_is_noticed(supervisor, client, size):
    leaves_while_it_waits(supervisor, client, lambda: upload(client, echo, "r", size))


def test_memory_of_waiting_requests_is_bounded_and_given_back(supervisor, client):
    async def passes(count):
        for _ in range(count):
            await asyncio.sleep(0)

    async def main():
        first = upload(client, echo, "first", 2 * MAX_SPARE).start()
        await asyncio.to_thread(supervisor.wait, "request.begin", id="first")
        while first.incoming.qsize() > MAX_SPARE // 65536:
            await asyncio.sleep(0)
        await passes(100)
        left = first.incoming.qsize() * 65536
        assert left >= MAX_SPARE - 4 * 65536

        second = upload(client, echo, "second", 500_000).start()
        await asyncio.to_thread(supervisor.wait, "request.begin", id="second")
        second.leave()
        await passes(100)
        assert client.find("second") is not None, "nothing shows that its client has left"

        supervisor.send("admitted", id="first")
        assert await first.ends() is None
        assert len(first.body) == 2 * MAX_SPARE + 65536
        assert await second.ends() is None
        assert second.sent == []

    eventually(lambda: client.connected)
    supervisor.admit = False
    run(main)
    assert supervisor.wait("request.end", id="second")["outcome"] == "cancelled"
