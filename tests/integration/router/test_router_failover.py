"""A worker that fails before the client has a byte is replaced, where that is right."""

import contextlib
import json
import socket
import struct
import time

import pytest
from ports import free_port
from raw_engine import SSE_HEAD, RawEngine, chunk, ok, post
from serve_peer import wait_until

BODY = b'{"model":"m","stream":true}'


def refusal(status=503, *lines):
    head = [f"HTTP/1.1 {status} No", "Content-Length: 2", *lines]
    return "\r\n".join(head).encode() + b"\r\n\r\nno"


DRAINING = refusal(503, "X-Lastcall-Reason: draining", "x-should-retry: true", "Retry-After: 7")
BEGUN = refusal(503, "X-Lastcall-Reason: engine_dead", "x-should-retry: true")
BROKE = refusal(502, "X-Lastcall-Reason: engine_error", "x-should-retry: false")


def first(engines):
    """(the worker that was asked, its connection, the other one)."""
    wait_until(lambda: any(each.has_arrived() for each in engines), "a worker is asked")
    number = 0 if engines[0].has_arrived() else 1
    wire, _ = engines[number].request()
    return engines[number], wire, engines[1 - number]


def reset(wire):
    wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wire.close()


def answered_by(other, user):
    wire, _ = other.request()
    wire.send(ok(b"from the other", "Connection: close"))
    assert user.until(b"from the other").startswith(b"HTTP/1.1 200 ")


def test_a_worker_that_nobody_listens_at_is_passed_over(router, engines):
    one = router(f"127.0.0.1:{free_port()}", engines[0].address)
    user = one.client()
    for _ in range(20):
        user.send(post(body=BODY))
        wire = engines[0].connection()
        wire.until(BODY)
        wire.send(ok(b"hello", "Connection: close"))
        user.until(b"hello")
    # Asked once, it is skipped for a second.
    assert one.metric("lastcall_router_failovers_total", reason="unreachable") <= 2


def test_the_second_worker_receives_the_same_facts_about_the_client(router, engines):
    one = router(*(each.address for each in engines))
    user = one.client()
    user.send(post(body=BODY))
    wait_until(lambda: any(each.has_arrived() for each in engines), "a worker is asked")
    number = 0 if engines[0].has_arrived() else 1
    wire, before = engines[number].request()
    wire.close()
    _, after = engines[1 - number].request()
    assert after == before
    assert b"\r\nX-Forwarded-For: 127.0.0.1\r\n" in after
    assert b"\r\nX-Forwarded-Proto: http\r\n" in after
    assert after.count(b"\r\nForwarded: for=127.0.0.1;host=") == 1


@pytest.mark.parametrize("how", ["reset", "end", "half_a_head", "no_http"])
def test_a_worker_that_breaks_before_its_head_is_replaced(router, engines, how):
    one = router(*(each.address for each in engines))
    user = one.client()
    user.send(post(body=BODY))
    _, wire, other = first(engines)
    wire.until(BODY)
    if how == "reset":
        reset(wire)
    else:
        wire.send({"end": b"", "half_a_head": b"HTTP/1.1 200 OK\r\nX", "no_http": b"hi\r\n"}[how])
        wire.close()
    answered_by(other, user)
    assert one.metric("lastcall_router_failovers_total", reason="broken") == 1
    again = "dynamo_frontend_model_migration_total"
    assert one.metric(again, model="m", migration_type="new_request") == 1


@pytest.mark.parametrize(
    "answer",
    [DRAINING, BEGUN, BROKE, refusal(503), refusal(502), refusal(500)],
    ids=["draining", "engine_dead", "engine_error", "503", "502", "500"],
)
def test_a_worker_that_refuses_is_replaced(router, engines, answer):
    one = router(*(each.address for each in engines))
    user = one.client()
    user.send(post(body=BODY))
    _, wire, other = first(engines)
    wire.until(BODY)
    wire.send(answer)
    answered_by(other, user)
    assert one.metric("lastcall_router_failovers_total", reason="refused") == 1
    assert one.counts("dynamo_frontend_requests_total", 1)


def test_a_worker_that_is_silent_is_replaced(router, engines):
    one = router(*(each.address for each in engines), timeouts={"first_byte": "200ms"})
    user = one.client()
    user.send(post(body=BODY))
    _, wire, other = first(engines)
    answered_by(other, user)
    assert wire.rest().endswith(BODY)  # and then its end
    assert one.metric("lastcall_router_failovers_total", reason="timed_out") == 1


def test_the_deadline_of_a_request_is_one_for_all_of_its_workers(router, engines):
    one = router(*(each.address for each in engines),
                 timeouts={"first_byte": "400ms", "total": "700ms"})  # fmt: skip
    user = one.client()
    user.send(post(body=BODY))
    _, wire, other = first(engines)
    second, _ = other.request()  # by first_byte
    assert user.until(b"\r\n\r\n").startswith(b"HTTP/1.1 504 ")
    assert b"the request took too long" in user.until(b"}}")
    assert wire.rest().endswith(BODY) and second.rest().endswith(BODY)  # and then their end
    assert one.counts("dynamo_frontend_requests_total", 1, status="error")


def test_an_answer_in_the_middle_of_a_move_has_a_deadline_too(router, engines):
    one = router(*(each.address for each in engines), timeouts={"total": "1s"})
    user = one.client()
    user.send(post(body=b'{"model":"m","stream":true,"messages":[{"content":"x"}]}'))
    _, wire, other = first(engines)
    usage = b'"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}'
    wire.send(SSE_HEAD + chunk(b'data: {"id":"a","created":1,"model":"m","choices":[{"index":0,'
                               b'"delta":{"content":"t0"}}],' + usage + b"}\n\n"))  # fmt: skip
    user.until(b"t0")
    reset(wire)
    asked, head = other.request()
    assert b"-m1\r\n" in head
    end = user.rest()
    assert b"event: error\n" in end and b"the request took too long" in end
    asked.rest()  # and the worker is notified


def test_a_large_body_is_sent_whole_to_the_second_worker_too(router, engines):
    one = router(*(each.address for each in engines))
    user = one.client()
    body = json.dumps({"model": "m", "prompt": "x" * 3_000_000}).encode()
    user.send(post(body=body))
    _, wire, other = first(engines)
    wire.exactly(100_000)
    reset(wire)
    wire, _ = other.request()
    assert wire.exactly(len(body)) == body
    wire.send(ok(b"hello"))
    user.until(b"hello")


@pytest.mark.parametrize("answer", [DRAINING, refusal(503), refusal(500), refusal(400)],
                         ids=["draining", "503", "500", "400"])  # fmt: skip
def test_the_last_answer_is_passed_on_as_it_is(router, engines, answer):
    one = router(engines[0].address)
    user = one.client()
    user.send(post(body=BODY))
    wire, _ = engines[0].request()
    wire.until(BODY)
    wire.send(answer)
    head = user.until(b"\r\n\r\nno")
    assert head.startswith(answer.partition(b"\r\n")[0])
    assert (b"Retry-After: 7" in head) == (answer == DRAINING)


def test_no_more_workers_are_asked_than_attempts_allow(router, engines):
    one = router(*(each.address for each in engines), choosing={"attempts": 1})
    user = one.client()
    user.send(post(body=BODY))
    _, wire, other = first(engines)
    reset(wire)
    assert user.until(b"\r\n\r\n").startswith(b"HTTP/1.1 503 ")
    assert not other.has_arrived()


@pytest.mark.parametrize(
    ("path", "status", "reason", "repeats"),
    [("/v1/chat/completions", 503, "engine_dead", "true"),
     ("/v1/images/generations", 502, "engine_error", "false")],
)  # fmt: skip
def test_a_client_may_repeat_what_the_router_would_when_its_only_worker_dies(
    router, engines, path, status, reason, repeats
):
    one = router(engines[0].address)
    user = one.client()
    user.send(post(path, BODY))
    wire, _ = engines[0].request()
    reset(wire)
    head = user.until(b"\r\n\r\n").decode()
    assert head.startswith(f"HTTP/1.1 {status} ")
    assert f"X-Lastcall-Reason: {reason}\r\n" in head
    assert f"x-should-retry: {repeats}\r\n" in head
    assert ("Retry-After: " in head) == (repeats == "true")


MEDIA = "/v1/images/generations"
KEPT = "/v1/responses"


@pytest.mark.parametrize(
    ("path", "how", "is_repeated"),
    [
        (MEDIA, DRAINING, True),
        (MEDIA, BEGUN, False),
        (MEDIA, refusal(503), False),
        (MEDIA, refusal(500), False),
        (MEDIA, b"", False),
        (KEPT, DRAINING, False),
        (KEPT, b"", False),
    ],
    ids=["media_draining", "media_begun", "media_503", "media_500", "media_broken", "kept_draining",
         "kept_broken"],
)  # fmt: skip
def test_requests_with_an_effect_are_not_sent_twice(router, engines, path, how, is_repeated):
    one = router(*(each.address for each in engines))
    user = one.client()
    body = b'{"model":"m","input":"x"}'
    user.send(post(path, body))
    _, wire, other = first(engines)
    wire.until(body)
    wire.send(how)
    wire.close()
    if is_repeated:
        answered_by(other, user)
    else:
        assert user.until(b"\r\n\r\n").startswith(b"HTTP/1.1 50")
        assert not other.has_arrived()


def test_a_response_that_nobody_keeps_is_sent_twice(router, engines):
    one = router(*(each.address for each in engines))
    user = one.client()
    user.send(post(KEPT, b'{"model":"m","input":"x","store":false}'))
    _, wire, other = first(engines)
    reset(wire)
    answered_by(other, user)


def test_a_worker_is_skipped_for_longer_with_each_failure(router, engines):
    one = router(
        *(each.address for each in engines), choosing={"skip_first": "300ms", "skip_most": "10s"}
    )
    user = one.client()
    user.send(post(body=BODY))
    bad, wire, good = first(engines)
    reset(wire)
    answered_by(good, user)
    # The bad one alone breaks; the good one announces that it keeps nothing, so that each is seen.
    began, failures = time.monotonic(), [time.monotonic()]
    while len(failures) < 3:
        user.send(post(body=BODY))
        asked, wire, other = first(engines)
        wire.until(BODY)
        if asked is bad:
            failures.append(time.monotonic())
            reset(wire)
            wire, _ = other.request()
            wire.until(BODY)
        wire.send(ok(b"hello", "Connection: close"))
        user.until(b"hello")
        assert time.monotonic() - began < 20
    gaps = [b - a for a, b in zip(failures, failures[1:], strict=False)]
    assert gaps[0] >= 0.29
    assert gaps[1] >= 0.59


@pytest.mark.parametrize(
    ("path", "text", "kind", "repeats"),
    [("/v1/messages", BODY, b"engine_dead", b"true"),
     ("/v1/chat/completions", b'{"model":"m","stream":true,"n":2,"messages":[{"content":"x"}]}',
      b"engine_dead", b"true"),
     (KEPT, BODY, b"engine_error", b"false")],
    ids=["messages", "chat", "kept"],
)  # fmt: skip
def test_a_stream_that_breaks_ends_with_a_word(router, engines, path, text, kind, repeats):
    """It may be repeated where its client could, had it got no byte."""
    one = router(engines[0].address)
    user = one.client()
    user.send(post(path, text))
    wire, _ = engines[0].request()
    wire.send(SSE_HEAD + chunk(b"data: 1\n\n"))
    user.until(b"data: 1\n\n")
    reset(wire)
    error = user.rest()
    assert b"event: error\n" in error
    assert b'"type":"%b"' % kind in error and b'"retryable":%b' % repeats in error


def test_a_kept_connection_that_its_worker_has_closed_is_no_failure(router, engines):
    one = router(engines[0].address)
    user = one.client()
    for _ in range(3):
        user.send(post(body=BODY))
        wire, _ = engines[0].request()
        wire.exactly(len(BODY))
        wire.send(ok(b"hello"))
        user.until(b"hello")
        wire.close()
    assert one.metric("lastcall_router_failovers_total") == 0


DONE = chunk(b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\ndata: [DONE]\n\n')


def test_the_connection_of_a_stream_is_kept_though_the_end_of_its_body_comes_later(router, engines):
    one = router(engines[0].address)
    user = one.client()
    wire = None
    for _ in range(3):
        user.send(post(body=BODY))
        wire = wire or engines[0].connection()
        wire.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as engines do
        wire.until(BODY)
        wire.send(SSE_HEAD + DONE)
        user.until(b"[DONE]\n\n\r\n0\r\n\r\n")  # nothing holds the client's end up
        wire.send(b"0\r\n\r\n")
        one.ask("GET", "/v1/models")  # the router has read what came before
    assert engines[0].connections() == 1


@pytest.mark.parametrize(
    "more", [chunk(b": more\n\n"), b"0\r\n\r\nHTTP/1.1 200 OK\r\n", b"nonsense"]
)
def test_a_worker_that_sends_more_behind_its_end_is_asked_on_a_new_connection(
    router, engines, more
):
    one = router(engines[0].address)
    user = one.client()
    user.send(post(body=BODY))
    wire, _ = engines[0].request()
    wire.until(BODY)
    wire.send(SSE_HEAD + DONE)
    user.until(b"0\r\n\r\n")
    wire.send(more)
    assert wire.ended()
    user.send(post(body=BODY))
    again, _ = engines[0].request()
    again.until(BODY)
    again.send(ok(b"hello"))
    user.until(b"hello")


def test_a_second_worker_that_breaks_is_believed(router, engines):
    third = RawEngine()
    with contextlib.closing(third):
        fleet = [*engines, third]
        one = router(*(each.address for each in fleet))
        user = one.client()
        user.send(post(body=BODY))
        for _ in range(2):
            wait_until(lambda: any(each.has_arrived() for each in fleet), "a worker is asked")
            asked = next(each for each in fleet if each.has_arrived())
            fleet.remove(asked)
            wire, _ = asked.request()
            wire.until(BODY)
            wire.send(refusal(500))
        assert user.until(b"\r\n\r\nno").startswith(b"HTTP/1.1 500 ")
        assert not fleet[0].has_arrived()
    assert one.metric("lastcall_router_failovers_total") == 1
