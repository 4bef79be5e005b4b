"""What the proxy answers itself: bad requests, limits, timeouts, an engine that is not there."""

import json
import threading
import time

import pytest
from ports import free_port
from raw_engine import SSE_HEAD, asked, chunk, client, fill, get, metric, ok, post
from serve_peer import PATIENCE, wait_until

HOST = b"Host: h\r\n"


@pytest.mark.parametrize(
    ("status", "sent"),
    [
        (400, b"GET / HTTP/1.1\r\n\r\n"),
        (400, b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
        (400, b"GET / HTTP/1.1\n"),
        (400, b"\x16\x03\x01\x02\x00"),
        (400, b"GET / HTTP/1.1\r\n" + HOST + b"A : b\r\n\r\n"),
        (400, b"GET / HTTP/1.1\r\n" + HOST + b"A: b\r\n c\r\n\r\n"),
        (400, b"GET / HTTP/1.1\r\n" + HOST + b"A: b\0c\r\n\r\n"),
        (400, b"GET / HTTP/1.1\r\n" + HOST + b"A: b\rc\r\n\r\n"),
        (400, b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
        (400, b"POST / HTTP/1.1\r\n" + HOST
         + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        (400, b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: +3\r\n\r\nabc"),
        (400, b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0x1\r\n"),
        (501, b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip, chunked\r\n\r\n"),
        (505, b"GET / HTTP/2.0\r\n" + HOST + b"\r\n"),
        (405, b"CONNECT h:1 HTTP/1.1\r\n" + HOST + b"\r\n"),
        (417, b"POST / HTTP/1.1\r\n" + HOST + b"Expect: more\r\nContent-Length: 1\r\n\r\n"),
        (417, b"POST / HTTP/1.1\r\n" + HOST + b"Expect: 100-continue\r\nExpect: more\r\n"
              b"Content-Length: 1\r\n\r\n"),
        (431, b"GET / HTTP/1.1\r\n" + HOST + b"A: " + b"x" * 3000 + b"\r\n\r\n"),
        (414, b"GET /" + b"x" * 3000),
        (413, b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 1001\r\n\r\n"),
        (413, b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n3e9\r\n"
         + b"x" * 1001),
    ],
)  # fmt: skip
def test_untrusted_requests_are_refused_and_their_connections_closed(proxy, engine, status, sent):
    one = proxy(ingress={"max_header_size": 2048, "max_body_size": 1000})
    user = client(one)
    user.send(sent)
    answer = user.until(b"}}\n")
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer
    assert b"\r\nConnection: close\r\n" in answer
    body = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
    assert (body["type"], body["code"], body["retryable"]) == ("bad_request", status, False)
    user.socket.shutdown(1)
    assert user.ended()
    assert engine.connections() == 0
    wait_until(lambda: metric(one, "lastcall_ingress_refusals_total", type="bad_request") == 1,
               "counted")  # fmt: skip


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "Host is missing: expected it once in HTTP/1.1"),
        (b"GET / HTTP/1.1\r\n" + HOST + b"A : b\r\n\r\n",
         "a header name is not a token: expected a name directly before the colon"),
        (b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
         "the Transfer-Encoding is not supported: expected chunked"),
        (b"GET /a/../b HTTP/1.1\r\n" + HOST + b"\r\n",
         "the path has a dot segment or a control character: expected neither"),
    ],
)  # fmt: skip
def test_a_bad_request_is_told_what_was_expected(proxy, sent, message):
    user = client(proxy())
    user.send(sent)
    body = user.until(b"}}\n").partition(b"\r\n\r\n")[2]
    assert json.loads(body)["error"]["message"] == message


def test_nothing_after_a_bad_request_is_served(proxy, engine):
    one = proxy()
    user = client(one)
    user.send(b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"
              + get("/smuggled"))  # fmt: skip
    user.until(b"}}\n")
    user.socket.shutdown(1)
    assert user.ended()
    assert engine.connections() == 0


def test_a_client_refused_in_a_slow_upload_receives_it_after_its_last_byte(proxy, engine):
    one = proxy(ingress={"max_body_size": 1000})
    user, pace = client(one), threading.Event()
    user.send(b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 5000\r\n\r\n")
    for _ in range(10):
        pace.wait(0.35)
        user.send(b"x" * 500)
    assert user.until(b"}}\n").startswith(b"HTTP/1.1 413 ")
    assert engine.connections() == 0


def test_an_engine_that_is_not_there_is_a_retryable_refusal(proxy):
    one = proxy(ingress={"upstream": f"127.0.0.1:{free_port()}"})
    user = client(one)
    for _ in range(2):  # on the same connection
        user.send(post())
        answer = user.until(b"}}\n")
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b'"type":"engine_unavailable"' in answer and b'"retryable":true' in answer


def test_a_refusal_ends_the_connection_of_an_http_1_0_client_that_would_keep_it(proxy):
    """Without a word that the connection stays it reads on to its end."""
    user = client(proxy(ingress={"upstream": f"127.0.0.1:{free_port()}"}))
    user.send(b"POST /v1/completions HTTP/1.0\r\nConnection: keep-alive\r\n"
              b"Content-Length: 2\r\n\r\n{}")  # fmt: skip
    answer = user.rest()
    assert answer.startswith(b"HTTP/1.1 503 ") and b"\r\nConnection: close\r\n" in answer


def test_an_engine_that_speaks_no_http_is_a_bad_gateway(proxy, engine):
    one = proxy()
    for nonsense in (b"SSH-2.0-x\r\n\r\n", b"\x00\x01", b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"):
        user = client(one)
        user.send(get())
        wire, _ = engine.request()
        wire.send(nonsense)
        answer = user.until(b"}}\n")
        assert answer.startswith(b"HTTP/1.1 502 ") and b"is not valid HTTP/1.1" in answer


def test_each_timeout_is_a_knob_of_its_own(proxy, engine):
    one = proxy(ingress={"timeouts": {"first_byte": "300ms", "idle": "400ms"}})
    user = client(one)
    user.send(get())
    wire, _ = engine.request()
    refusal = user.until(b"}}\n")
    assert refusal.startswith(b"HTTP/1.1 504 ") and b"\r\nRetry-After: 1\r\n" in refusal
    assert b'"type":"timeout"' in refusal and b'"retryable":true' in refusal
    assert wire.ended()
    stream, wire = asked(one, engine)
    wire.send(SSE_HEAD + chunk(b"data: 1\n\n"))
    last = stream.rest()
    assert b'"type":"timeout"' in last and not last.endswith(b"0\r\n\r\n")
    assert b'"retryable":false' in last  # a part of the answer is with its client
    assert wire.ended()


def test_a_stream_of_which_only_the_head_has_come_has_not_begun(proxy, engine):
    one = proxy(ingress={"timeouts": {"first_byte": "2s", "idle": "300ms"}})
    stream, wire = asked(one, engine)
    wire.send(SSE_HEAD)
    stream.until(b"\r\n\r\n")
    began = time.monotonic()
    last = stream.rest()
    assert time.monotonic() - began > 1
    assert b'"type":"timeout"' in last and b"did not answer in time" in last
    assert b'"retryable":true' in last
    assert wire.ended()


def test_a_request_has_a_limit_in_total(proxy, engine):
    one = proxy(ingress={"timeouts": {"total": "500ms", "idle": "60s"}})
    stream, wire = asked(one, engine)
    wire.send(SSE_HEAD)
    try:
        while True:
            wire.send(chunk(b"data: 1\n\n"))
            wire.socket.settimeout(0.05)
            try:
                assert wire.socket.recv(1) == b""
                break
            except TimeoutError:
                continue
    except OSError:
        pass
    assert b'"type":"timeout"' in stream.rest()


def test_slow_clients_are_not_waited_for(proxy, engine):
    one = proxy(ingress={"timeouts": {"client": "300ms", "keep_alive": "300ms"}})
    half = client(one)
    half.send(b"GET / HT")
    assert half.until(b"\r\n").startswith(b"HTTP/1.1 408 ")
    silent = client(one)
    assert silent.ended()
    idle = client(one)
    idle.send(get())
    wire, _ = engine.request()
    wire.send(ok())
    idle.until(b"hello")
    assert idle.ended()
    assert engine.connections() == 1


def test_one_client_too_many_is_refused_with_the_reason(proxy, engine):
    one = proxy(ingress={"max_connections": 2})
    first, second = client(one), client(one)
    first.send(get())
    engine.request()
    second.send(get())
    wire, _ = engine.request()
    third = client(one)
    answer = third.until(b"}}\n")
    assert answer.startswith(b"HTTP/1.1 503 ") and b'"type":"too_many_connections"' in answer
    third.close()
    first.close()
    wire.send(ok())
    second.until(b"hello")

    def another():
        user = client(one)
        user.send(get())
        user.socket.settimeout(PATIENCE)
        return not user.until(b"\r\n").startswith(b"HTTP/1.1 503")

    def serve():
        wire.until(b"\r\n\r\n")
        wire.send(ok())

    threading.Thread(target=serve, daemon=True).start()
    wait_until(another, "a place is free again")


def test_a_slow_client_slows_its_own_stream_and_nobody_elses(proxy, engine):
    one = proxy()
    slow, wire = asked(one, engine)
    wire.send(SSE_HEAD)
    pending, count = fill(wire)
    quick, other = asked(one, engine)
    other.send(ok())
    quick.until(b"hello")
    threading.Thread(
        target=lambda: wire.send(pending + b"0\r\n\r\n"), daemon=True
    ).start()
    got = slow.until(b"\r\n0\r\n\r\n")
    assert got.count(b"x" * 60_000) == count


def test_a_head_that_is_refused_gets_no_body(proxy):
    user = client(proxy())
    user.send(b"HEAD / HTTP/1.1\r\nHost: h\r\nExpect: more\r\n\r\n")
    answer = user.rest()
    assert answer.startswith(b"HTTP/1.1 417 ") and answer.endswith(b"\r\n\r\n")
    assert b"X-Lastcall-Reason: bad_request" in answer
