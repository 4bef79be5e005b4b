"""Calls of another tier: which instance, what comes back, and how a cancel reaches it."""

import asyncio
import base64
import json
import re
import socket

import pytest
from asgi_server import answer, read_all, run, wrap
from http_tier import Lower, Tier, until
from strict_supervisor import eventually

import lastcall
from lastcall import http1
from lastcall.remote import CallFailed, Endpoint, NoInstance

NAME = "dynamo.prefill.generate"
SSE = b"text/event-stream"


async def doubles(scope, receive, send):
    number = json.loads(await read_all(receive))
    await answer(send, b"data: %d\n\n" % number, b"data: %d\n\ndata: [DONE]\n\n" % (2 * number),
                 kind=SSE)  # fmt: skip


def refused_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def entry(number, url, **other):
    return {"type": "Endpoint", "instance_id": number, "namespace": "dynamo",
            "component": "prefill", "endpoint": "generate", "advertise": url,
            "transport": {"http": url}, **other}  # fmt: skip


async def items_of(stream):
    return [item async for item in stream]


def test_the_items_of_a_stream_and_a_whole_answer_come_back():
    async def whole(scope, receive, send):
        await answer(send, b'{"echo": ', await read_all(receive), b"}")

    async def main():
        async with Tier(doubles) as one, Tier(whole) as two:
            assert await items_of(await Endpoint(NAME, urls=[one.url]).generate(21)) == [21, 42]
            stream = await Endpoint(NAME, urls=[two.url]).generate([1])
            assert await items_of(stream) == [{"echo": [1]}]
            assert stream.context.outcome == "completed"
            assert one.requests[0][:2] == ("POST", "/generate")

    run(main)


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("size", [1, 4, 1000])
def test_the_events_of_any_server_are_read(end, size):
    events = b": hello\nevent: message\ndata: 1\n\ndata: two\ndata: lines\n\n".replace(b"\n", end)
    pieces = [events[at : at + size] for at in range(0, len(events), size)]

    async def tier(scope, receive, send):
        await answer(send, *pieces, kind=b"Text/Event-Stream; charset=utf-8")

    async def main():
        async with Tier(tier) as one:
            stream = await Endpoint(NAME, urls=[one.url]).generate(None)
            assert await items_of(stream) == [1, "two\nlines"]

    run(main)


def test_a_long_line_is_searched_once_and_not_with_each_of_its_pieces(monkeypatch):
    class Counting:
        searched = 0

        def split(self, piece):
            Counting.searched += len(piece)
            return re.split(rb"\r\n|\r|\n", piece)

    monkeypatch.setattr(http1, "_LINE_END", Counting())
    pieces = [b'data: "', *([b"x" * 64_000] * 30), b'"\n\n']

    async def tier(scope, receive, send):
        await answer(send, *pieces, kind=b"text/event-stream")

    async def main():
        async with Tier(tier) as one:
            stream = await Endpoint(NAME, urls=[one.url]).generate(None)
            assert await items_of(stream) == ["x" * 64_000 * 30]

    run(main)
    assert Counting.searched == sum(map(len, pieces))


def test_the_ids_of_the_caller_go_along():
    async def main():
        async with Tier(doubles) as one:
            context = lastcall.Context("caller", root="user")
            stream = await Endpoint(NAME, urls=[one.url]).generate(1, context=context)
            await items_of(stream)
            headers = one.requests[0][2]
            assert headers["x-request-id"].startswith("caller/")
            assert (headers["x-lastcall-root"], headers["x-lastcall-parent"]) == ("user", "caller")
            assert (stream.context.root, stream.context.outcome) == ("user", "completed")

    run(main)


def test_the_modes_choose_among_the_instances_of_a_directory(tmp_path):
    async def main():
        async with Tier(doubles) as one, Tier(doubles) as two:
            for number, tier in ((1, one), (2, two)):
                (tmp_path / f"{number}.json").write_text(json.dumps(entry(number, tier.url)))
            (tmp_path / "3.json").write_text(json.dumps(entry(3, "x", component="decode")))
            (tmp_path / "4.json").write_text("half of")
            remote = Endpoint(NAME, files=tmp_path)
            assert [each.id for each in await remote.instances()] == [1, 2]
            for _ in range(4):
                await items_of(await remote.round_robin(1))
            assert (len(one.requests), len(two.requests)) == (2, 2)
            for _ in range(3):
                stream = await remote.direct(1, 2)
                assert stream.instance.id == 2 and await items_of(stream) == [1, 2]
            assert (len(one.requests), len(two.requests)) == (2, 5)
            assert await items_of(await remote.random(1)) == [1, 2]
            with pytest.raises(NoInstance):
                await remote.direct(1, 77)

    run(main)


def test_the_instances_of_etcd_are_those_under_the_endpoints_key():
    asked = []

    async def main():
        async with Tier(doubles) as one:

            async def etcd(scope, receive, send):
                asked.append((scope["path"], json.loads(await read_all(receive))))
                value = json.dumps(entry(9, one.url)).encode()
                kvs = [{"key": "", "value": base64.b64encode(value).decode()}]
                await answer(send, json.dumps({"kvs": kvs}).encode())

            async with Tier(etcd) as server:
                down = f"http://127.0.0.1:{refused_port()}"
                remote = Endpoint(NAME, etcd=[down, server.url])
                assert [each.id for each in await remote.instances()] == [9]
                assert await items_of(await remote.generate(2)) == [2, 4]
        path, question = asked[0]
        assert path == "/v3/kv/range"
        assert base64.b64decode(question["key"]) == b"v1/instances/dynamo/prefill/generate/"
        assert base64.b64decode(question["range_end"]) == b"v1/instances/dynamo/prefill/generate0"

    run(main)


def test_a_registry_that_cannot_be_read_keeps_its_last_instances(tmp_path):
    async def main():
        folder = tmp_path / "instances"
        folder.mkdir()
        async with Tier(doubles) as one:
            (folder / "1.json").write_text(json.dumps(entry(1, one.url)))
            remote = Endpoint(NAME, files=folder)
            await remote.instances()
            (folder / "1.json").unlink()
            folder.rmdir()
            remote._source.changed()
            assert await items_of(await remote.generate(1)) == [1, 2]

    run(main)


def test_an_instance_that_is_gone_or_drains_is_passed_over():
    async def drains(scope, receive, send):
        await read_all(receive)
        await answer(send, json.dumps({"error": {"type": "draining"}}).encode(), status=503)

    async def main():
        async with Tier(drains) as one, Tier(doubles) as two:
            gone = f"http://127.0.0.1:{refused_port()}"
            remote = Endpoint(NAME, urls=[gone, one.url, two.url])
            for _ in range(3):
                assert await items_of(await remote.generate(1)) == [1, 2]
            with pytest.raises(NoInstance):
                await Endpoint(NAME, urls=[gone]).generate(1)
            with pytest.raises(lastcall.Rejected) as refused:
                await Endpoint(NAME, urls=[one.url]).generate(1)
            assert refused.value.reason == "draining"

    run(main)


@pytest.mark.parametrize("how", ["error event", "break", "status"])
def test_an_answer_that_fails_never_looks_finished(how):
    async def fails(scope, receive, send):
        await read_all(receive)
        if how == "status":
            return await answer(send, b'{"error": {"type": "bad", "message": "no"}}', status=400)
        await answer(send, b"data: 1\n\n", kind=SSE, end=False)
        if how == "break":
            raise RuntimeError("the engine died")
        await send({"type": "http.response.body", "more_body": False, "body":
                    b'event: error\ndata: {"error": {"type": "engine_dead"}}\n\n'})  # fmt: skip

    async def main():
        async with Tier(fails) as one:
            with pytest.raises(CallFailed) as failed:
                await items_of(await Endpoint(NAME, urls=[one.url]).generate(1))
            assert failed.value.status == (400 if how == "status" else 200)

    run(main)


CHUNK = {"choices": []}  # of OpenAI's streams, which end in [DONE]


async def answer_to_its_end(kind, body):
    """What a call of an HTTP/1.0 server gives, whose body ends with the connection."""

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\nContent-Type: " + kind + b"\r\n\r\n" + body)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        stream = await Endpoint(NAME, urls=[f"http://127.0.0.1:{port}"]).generate(1)
        items = []
        try:
            async for item in stream:
                items.append(item)
        except CallFailed as failed:
            assert (failed.status, stream.context.outcome) == (200, "error")
            items.append(CallFailed)
        return items


@pytest.mark.parametrize(
    "kind, body, items",
    [
        (SSE, b"data: 1\n\n", [1]),
        (SSE, b"data: 1\n\ndata: [DONE]\n\n", [1]),
        (SSE, b"data: 1\n\ndata: [DONE]", [1]),
        (SSE, b'data: {"choices": []}\n\n', [CHUNK, CallFailed]),
        (SSE, b'data: {"choices": []}\n\ndata: [DONE]\n\n', [CHUNK]),
        (SSE, b"data: 1\n\n: a comment", [1]),
        (SSE, b"data: 1\n\ndata: 2\n", [1, CallFailed]),
        (SSE, b"data: 1\n\ndata: [DO", [1, CallFailed]),
        (SSE, b"data: 1\n\neve", [1, CallFailed]),
        (SSE, b"data: 1\n\nevent: error", [1, CallFailed]),
        (b"application/json", b'{"a": 1}', [{"a": 1}]),
        (b"application/json", b'{"a": 1', [CallFailed]),
        (b"text/plain", b"words", ["words"]),
    ],
)
def test_an_answer_that_its_connection_ends_is_whole_only_between_events(kind, body, items):
    assert asyncio.run(asyncio.wait_for(answer_to_its_end(kind, body), 10)) == items


def test_a_stop_of_the_parent_is_a_stop_in_the_tier_below(supervisor, client):
    async def main():
        lower = Lower()
        async with Tier(wrap(lower, client)) as one:
            parent = lastcall.Context("caller")
            stream = await Endpoint(NAME, urls=[one.url]).generate({}, context=parent)
            assert await stream.__anext__() == {"n": 1}
            parent.stop_generating()
            with pytest.raises(lastcall.Cancelled):
                await items_of(stream)
            await lower.ended.wait()
            assert [each[0] for each in one.requests] == ["POST", "DELETE"]
            [below] = lower.contexts
            assert below.is_stopped() and not below.is_killed() and below.reason == "parent"
            assert stream.context.outcome == "cancelled"

    eventually(lambda: client.connected)
    run(main)
    assert supervisor.wait("cancel", mode="stop")["reason"] == "parent"
    assert supervisor.wait("request.end")["outcome"] == "cancelled"


@pytest.mark.parametrize("how", ["kill", "aclose", "task"])
def test_a_kill_and_a_caller_that_leaves_are_a_kill_in_the_tier_below(supervisor, client, how):
    async def main():
        lower = Lower()
        async with Tier(wrap(lower, client)) as one:
            parent = lastcall.Context("caller")
            stream = await Endpoint(NAME, urls=[one.url]).generate({}, context=parent)
            assert await stream.__anext__() == {"n": 1}
            if how == "kill":
                parent.kill()
                with pytest.raises(lastcall.Cancelled):
                    await items_of(stream)
            elif how == "aclose":
                await stream.aclose()
            else:
                task = asyncio.ensure_future(items_of(stream))
                await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            await asyncio.wait_for(lower.ended.wait(), 20)
            [below] = lower.contexts
            await until(below.is_killed)
            assert below.reason == "client_disconnect"
            assert [each[0] for each in one.requests] == ["POST"]
            assert stream.context.outcome == "cancelled"

    eventually(lambda: client.connected)
    run(main)


def test_a_stop_closes_the_call_of_a_tier_that_cannot_be_notified():
    left = []

    async def knows_nothing(scope, receive, send):
        if scope["method"] == "DELETE":
            return await answer(send, b"{}", status=404)
        await read_all(receive)
        await answer(send, b"data: 1\n\n", kind=SSE, end=False)
        left.append((await receive())["type"])

    async def main():
        async with Tier(knows_nothing) as one:
            parent = lastcall.Context()
            stream = await Endpoint(NAME, urls=[one.url]).generate({}, context=parent)
            await stream.__anext__()
            parent.stop()
            with pytest.raises(lastcall.Cancelled):
                await items_of(stream)
            await until(lambda: left == ["http.disconnect"])

    run(main)


def test_a_secret_that_nobody_has_stops_nothing(client):
    seen = []

    async def app(scope, receive, send):
        seen.append(scope["path"])
        await answer(send, b"{}", status=404)

    async def main():
        async with Tier(wrap(app, client)) as one:
            from lastcall import http1

            with pytest.raises(OSError):
                await http1.ask("DELETE", one.url + "/lastcall/calls/" + "0" * 32)
        assert seen == ["/lastcall/calls/" + "0" * 32]

    run(main)


def test_a_parent_that_was_stopped_before_calls_nobody():
    async def main():
        async with Tier(doubles) as one:
            parent = lastcall.Context()
            parent.stop()
            with pytest.raises(lastcall.Cancelled):
                await Endpoint(NAME, urls=[one.url]).generate(1, context=parent)
            assert one.requests == []

    run(main)


@pytest.mark.parametrize("name, given", [
    ("generate", {"urls": []}), (NAME, {}), (NAME, {"urls": [], "files": "/x"}),
])  # fmt: skip
def test_an_invalid_endpoint_is_refused(name, given):
    with pytest.raises(ValueError):
        Endpoint(name, **given)
