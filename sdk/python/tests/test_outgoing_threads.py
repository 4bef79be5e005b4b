"""Calls to other tiers from threads: their end when the request is cancelled from another one."""

import asyncio
import contextlib
import socket
import threading

import pytest
from asgi_server import wrap
from http_tier import Lower, Tier
from strict_supervisor import eventually

import lastcall
from lastcall import outgoing

PATIENCE = 20
STREAM = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\ntoken 1\r\n"
WHOLE = STREAM + b"0\r\n\r\n"


class OtherTier:
    """Answers each call with the next of `answers`, and sees its callers leave.

    It takes no stop: a caller that gets 404 closes the call.
    """

    def __init__(self, *answers):
        self.answers = list(answers)
        self.heads = []
        self.connections = 0
        self.asked = threading.Condition()
        self.left = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d/v1/completions" % self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self.listener.accept()
                threading.Thread(target=self.serve_one, args=(peer,), daemon=True).start()

    def serve_one(self, peer):
        calls = 0
        with peer, peer.makefile("rb") as lines, contextlib.suppress(ConnectionError):
            while self.answer(peer, lines):
                calls += 1
                self.connections += calls == 1
        if calls > 0:
            self.left.set()

    def answer(self, peer, lines):
        head = []
        while not head or head[-1]:
            line = lines.readline()
            if not line:
                return False
            head.append(line.decode().strip())
        if head[0].startswith("DELETE "):
            peer.sendall(b"HTTP/1.1 404 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return False
        with self.asked:
            self.heads.append({
                name.lower(): value.strip()
                for name, value in (line.split(":", 1) for line in head[1:-1])
            })  # fmt: skip
            self.asked.notify_all()
        peer.sendall(self.answers.pop(0))
        return True

    def wait_for_calls(self, count):
        with self.asked:
            assert self.asked.wait_for(lambda: len(self.heads) >= count, PATIENCE)

    def close(self):
        self.listener.close()


@pytest.fixture
def tier():
    made = []

    def make(*answers):
        made.append(OtherTier(*answers))
        return made[-1]

    yield make
    for each in made:
        each.close()


def in_thread(act):
    thread = threading.Thread(target=act)
    thread.start()
    return thread


@pytest.fixture
def http():
    httpx = pytest.importorskip("httpx")
    with httpx.Client(timeout=PATIENCE, trust_env=False) as client:
        yield client


def stream(http, url, **options):
    from lastcall.httpx import stream_sync

    with stream_sync(http, "POST", url, **options) as response:
        yield from response.iter_bytes()


def request(http, url, **options):
    from lastcall.httpx import request_sync

    yield request_sync(http, "POST", url, **options).content


every_call = pytest.mark.parametrize("call", [stream, request])


@pytest.mark.parametrize("method", ["stop", "kill"])
def test_a_stop_in_the_stream_closes_the_connection(http, tier, method):
    other, context = tier(STREAM), lastcall.Context("r")
    with pytest.raises(lastcall.Cancelled) as caught:
        for chunk in stream(http, other.url, context=context):
            assert chunk == b"token 1"
            in_thread(lambda: getattr(context, method)("migrate"))
    assert (caught.value.request_id, caught.value.reason) == ("r", "migrate")
    assert other.left.wait(PATIENCE)


@every_call
@pytest.mark.parametrize("is_used_again", [False, True])
def test_a_stop_before_the_answer_closes_the_connection(http, tier, call, is_used_again):
    other, context = tier(*([WHOLE] if is_used_again else []), b""), lastcall.Context("r")
    if is_used_again:
        assert list(call(http, other.url, context=context)) == [b"token 1"]

    def stop():
        other.wait_for_calls(2 if is_used_again else 1)
        context.stop("operator")

    stops = in_thread(stop)
    with pytest.raises(lastcall.Cancelled, match="operator"):
        list(call(http, other.url, context=context))
    stops.join()
    assert other.left.wait(PATIENCE)
    assert other.connections == 1


@every_call
def test_a_call_of_a_stopped_request_is_not_made(http, tier, call):
    other, context = tier(), lastcall.Context("r")
    context.stop()
    with pytest.raises(lastcall.Cancelled):
        list(call(http, other.url, context=context))
    assert other.connections == 0


@every_call
def test_a_call_that_fails_by_itself_fails_as_always(http, tier, call):
    import httpx

    other = tier(STREAM[:-20])
    other.answer = lambda peer, lines: lines.readline() and False
    with pytest.raises(httpx.TransportError):
        list(call(http, other.url, context=lastcall.Context()))


@every_call
def test_the_ids_go_along_and_a_trace_of_the_callers_own_is_called(http, tier, call):
    other, context, seen = tier(WHOLE, WHOLE, WHOLE), lastcall.Context("r/1", root="r"), []
    assert list(call(http, other.url, context=context)) == [b"token 1"]
    trace = {"trace": lambda event, info: seen.append(event)}
    list(call(http, other.url, context=context, headers={"X-Request-Id": "mine"}, extensions=trace))
    list(call(http, other.url))
    first, second, third = other.heads
    assert first["x-request-id"].startswith("r/1/")
    assert (first["x-lastcall-root"], first["x-lastcall-parent"]) == ("r", "r/1")
    assert second["x-request-id"] == "mine" and "http11.send_request_headers.started" in seen
    assert not {name for name in third if "request-id" in name or "lastcall" in name}


def test_the_current_request_is_taken_when_none_is_named(http, tier, client):
    other = tier(STREAM)

    @client.endpoint("decode")
    def decode(request):
        for _ in stream(http, other.url):
            in_thread(lambda: client.cancel("r", reason="client_disconnect"))
            yield "item"

    with pytest.raises(lastcall.Cancelled):
        for _ in decode(None, request_id="r"):
            pass
    assert other.heads[0]["x-lastcall-parent"] == "r"
    assert other.left.wait(PATIENCE)


def test_any_blocking_call_can_be_aborted():
    """A socket here; another client's call has a method of its own to end it from outside."""
    near, far = socket.socketpair()
    context = lastcall.Context("r")
    with near, far:
        with pytest.raises(lastcall.Cancelled, match="operator"):
            with outgoing.aborting(lambda: near.shutdown(socket.SHUT_RDWR), context):
                in_thread(lambda: context.stop("operator"))
                assert near.recv(1) == b""  # which a reader takes for the end
        assert far.recv(1) == b""


def test_nothing_is_aborted_after_the_block_and_errors_of_others_stay():
    context, calls = lastcall.Context("r"), []
    with outgoing.aborting(lambda: calls.append(1), context):
        pass
    with pytest.raises(KeyError):
        with outgoing.aborting(lambda: calls.append(1), context):
            raise KeyError
    with pytest.raises(KeyboardInterrupt):
        with outgoing.aborting(lambda: None, lastcall.Context()) as other:
            other.stop()
            raise KeyboardInterrupt
    with pytest.raises(lastcall.Cancelled) as caught:
        with outgoing.aborting(lambda: None, lastcall.Context()) as other:
            other.stop()
            raise KeyError("what the cut led to")
    assert isinstance(caught.value.__cause__, KeyError)
    context.stop()
    assert calls == []
    with outgoing.aborting(lambda: calls.append(1)):
        pass
    with pytest.raises(lastcall.Cancelled):
        with outgoing.aborting(lambda: calls.append(1), context):
            raise AssertionError("a stopped request makes no call")


@every_call
def test_a_stop_is_a_stop_in_a_tier_that_takes_part(http, call, supervisor, client):
    lower, context = Lower(), lastcall.Context("caller")
    at, over = [], threading.Event()

    async def serve():
        async with Tier(wrap(lower, client)) as one:
            at.append(one)
            await asyncio.wait_for(asyncio.to_thread(over.wait), PATIENCE)

    eventually(lambda: client.connected)
    serving = in_thread(lambda: asyncio.run(serve()))
    eventually(lambda: at)
    stopping = in_thread(lambda: (eventually(lambda: lower.contexts), context.stop("migrate")))
    with pytest.raises(lastcall.Cancelled, match="migrate"):
        for _ in call(http, at[0].url + "/v1/completions", context=context):
            pass
    stopping.join()
    eventually(lower.ended.is_set)
    assert [each[0] for each in at[0].requests] == ["POST", "DELETE"]
    assert lower.contexts[0].is_stopped() and not lower.contexts[0].is_killed()
    over.set()
    serving.join()
