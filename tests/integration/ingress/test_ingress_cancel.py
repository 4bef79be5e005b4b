"""Clients that go away, and requests that the core cancels."""

import json
import os
import signal
import socket
import struct

import pytest
from kernel_sockets import socket_of
from raw_engine import SSE_HEAD, asked, chunk, client, get, metric, ok, post, stream
from serve_peer import PATIENCE, wait_until

BODY = b'{"messages":[],"model":"m/x","stream":true}'
UNARY = b'{"messages":[],"model":"m/x"}'
THREADS = (1, 3)


def reset(wire):
    """Goes away with a reset, as a killed process does."""
    wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wire.close()


def counted(one, kind):
    return metric(one, "dynamo_frontend_model_cancellation_total", model="m/x",
                  endpoint="chat_completions", request_type=kind)  # fmt: skip


@pytest.mark.parametrize("leave", [lambda wire: wire.close(), reset], ids=["close", "reset"])
@pytest.mark.parametrize("body", [BODY, UNARY], ids=["stream", "unary"])
def test_a_client_that_leaves_before_the_answer_is_seen_while_the_engine_is_silent(
    proxy, engine, leave, body
):
    one = proxy()
    user, wire = asked(one, engine, body=body)
    in_flight = one.status()["in_flight"]
    assert (in_flight["requests"], in_flight["source"]) == (1, "ingress")
    leave(user)
    assert wire.ended()
    kind = "stream" if body == BODY else "unary"
    wait_until(lambda: counted(one, kind) == 1, "counted once")
    assert metric(one, "lastcall_cancels_total", reason="client_disconnect") == 1
    assert metric(one, "lastcall_requests_total", endpoint="chat_completions",
                  outcome="cancelled") == 1  # fmt: skip
    assert one.status()["in_flight"]["requests"] == 0


def test_requests_that_a_tier_above_relays_are_not_in_the_frontends_cancels(proxy, engine):
    one = proxy()
    for line, is_users in (("X-Lastcall-Parent: user-1", 0), ("X-Other: user-1", 1)):
        user, wire = asked(one, engine, "/v1/chat/completions", BODY, line)
        user.close()
        assert wire.ended()
        wait_until(lambda: one.status()["in_flight"]["requests"] == 0, "it has ended")
        assert counted(one, "stream") == is_users
    assert metric(one, "lastcall_cancels_total", reason="client_disconnect") == 2


def test_a_client_that_leaves_in_the_stream_is_counted_as_a_stream(proxy, engine):
    one = proxy()
    user, wire = stream(one, engine, body=BODY)
    user.close()
    assert wire.ended()
    wait_until(lambda: counted(one, "stream") == 1, "counted")


def test_a_model_in_a_path_is_counted_by_the_name_that_it_means(proxy, engine):
    one = proxy()
    user = client(one)
    user.send(post("/v2/models/Qwen%2FQwen3%2d0.6B/infer", body=UNARY))
    wire, head = engine.request()
    assert b" /v2/models/Qwen%2FQwen3%2d0.6B/infer " in head  # and goes on as it came
    wire.exactly(len(UNARY))
    user.close()
    assert wire.ended()
    labels = {"model": "Qwen/Qwen3-0.6B", "endpoint": "tensor", "request_type": "unary"}
    family = "dynamo_frontend_model_cancellation_total"
    wait_until(lambda: metric(one, family, **labels) == 1, "counted")


@pytest.mark.parametrize("last", [[b"data: [DONE]\n\n"], [b"data: [DO", b"NE]\r\n\r\n"]])
def test_a_client_that_closes_at_done_has_its_answer(proxy, engine, last):
    """Many do, and the end of the body comes a moment later."""
    one = proxy()
    user, wire = stream(one, engine, body=BODY)
    for part in last:
        wire.send(chunk(part))
    user.until(b"[DONE]" + last[-1].partition(b"]")[2])
    user.close()
    assert wire.ended()
    labels = {"endpoint": "chat_completions", "outcome": "completed"}
    wait_until(lambda: metric(one, "lastcall_requests_total", **labels) == 1, "completed")
    assert counted(one, "stream") == 0 and metric(one, "lastcall_cancels_total") == 0


def closes(one, wire):
    wire.close()


def resets(one, wire):
    reset(wire)


def is_malformed(one, wire):
    wire.send(b"xyz\r\n")


def is_cancelled(one, wire):
    one.operator().ask("cancel", ids=["r1"], mode="stop", reason="operator")


def is_handed_off(one, wire):
    one.operator().ask("cancel", ids=["r1"], mode="stop", reason="migrate")


@pytest.mark.parametrize("ends", [closes, resets, is_malformed, is_cancelled, is_handed_off])
def test_a_stream_that_ends_after_done_without_its_last_chunk_is_whole(proxy, engine, ends):
    one = proxy()
    user, wire = asked(one, engine, "/v1/chat/completions", BODY, "X-Request-Id: r1")
    wire.send(SSE_HEAD + chunk(b"data: 1\n\n") + chunk(b"data: [DONE]\n\n"))
    user.until(b"[DONE]\n\n\r\n")
    ends(one, wire)
    user.send(get())  # its connection is kept
    assert user.until(b"\r\n\r\n") == b"0\r\n\r\n"
    other, _ = engine.request()
    other.send(ok())
    assert user.until(b"hello").startswith(b"HTTP/1.1 200 ")
    labels = {"endpoint": "chat_completions", "outcome": "completed"}
    wait_until(lambda: metric(one, "lastcall_requests_total", **labels) == 1, "completed")
    assert "request handed off" not in one.log()


def test_a_client_that_leaves_between_done_and_more_has_left(proxy, engine):
    one = proxy()
    user, wire = asked(one, engine, body=BODY)
    wire.send(SSE_HEAD + chunk(b"data: [DONE]\n\n"))
    user.until(b"data: [DONE]\n\n")
    wire.send(chunk(b"data: 2\n\n"))
    user.until(b"data: 2\n\n")
    user.close()
    assert wire.ended()
    wait_until(lambda: counted(one, "stream") == 1, "counted")


def test_a_client_that_ends_its_output_has_left_unless_it_only_looks(proxy, engine):
    one = proxy()
    looks = client(one)
    looks.send(get("/v1/models"))
    looks.socket.shutdown(socket.SHUT_WR)
    wire, _ = engine.request()
    wire.send(ok())
    assert looks.rest().endswith(b"hello")
    works = client(one)
    works.send(post(body=UNARY))
    works.socket.shutdown(socket.SHUT_WR)
    wait_until(lambda: counted(one, "unary") == 1, "counted")
    assert works.ended()


def test_probes_and_scrapes_never_count(proxy, engine):
    one = proxy(ingress={"exclusive": False})
    users = []
    for path in ("/health", "/metrics", "/v1/models"):
        users.append(client(one))
        users[-1].send(get(path))
        engine.request()
    assert one.status()["in_flight"]["requests"] == 0
    assert one.status()["in_flight"]["source"] != "ingress"


def test_an_operators_cancel_ends_a_stream_between_two_events(proxy, engine):
    one = proxy()
    user, wire = asked(one, engine, "/v1/completions", BODY, "X-Request-Id: r1")
    wire.send(SSE_HEAD + chunk(b"data: 1\n\n") + chunk(b"data: 2\n\ndata: part"))
    user.until(b"data: 2\n\n\r\n")
    operator = one.operator()
    [row] = operator.ask("requests")["requests"]
    assert (row["id"], row["peer"], row["endpoint"], row["model"]) == (
        "r1", "ingress", "completions", "m/x",
    )  # fmt: skip
    operator.ask("cancel", ids=["r1"], mode="stop", reason="operator")
    assert wire.ended()
    last = user.rest()
    event = last.partition(b"\r\n")[2].removesuffix(b"\r\n")
    assert event.startswith(b"event: error\ndata: ") and event.endswith(b"\n\n")
    assert b"part" not in last and b"[DONE]" not in last and not last.endswith(b"0\r\n\r\n")
    error = json.loads(event.split(b"data: ")[1])["error"]
    assert error == {**error, "type": "cancelled", "request_id": "r1", "events_sent": 2,
                     "bytes_sent": 18, "retryable": False, "reason": "operator"}  # fmt: skip


def test_an_operators_cancel_before_the_first_byte_is_an_answer(proxy, engine):
    one = proxy()
    user, wire = asked(one, engine, "/v1/completions", BODY, "X-Request-Id: r1")
    one.operator().ask("cancel", ids=["r1"], mode="kill", reason="operator")
    assert wire.ended()
    answer = user.until(b"}}\n")
    assert answer.startswith(b"HTTP/1.1 499 ")
    assert b"\r\nX-Lastcall-Reason: operator\r\n" in answer
    user.send(get())  # the connection itself is as good as before
    engine.request()


def test_an_sdk_request_of_the_same_id_is_a_child_and_is_cancelled_with_the_client(proxy, engine):
    one = proxy()
    user, wire = asked(one, engine, "/v1/completions", BODY, "X-Request-Id: r1")
    sdk = one.peer()
    sdk.ask("request.begin", id="r1", endpoint="generate")
    sdk.ask("request.begin", id="sub", root="r1", endpoint="generate")
    assert one.status()["in_flight"]["requests"] == 1
    user.close()
    received = set()
    while received != {"r1", "sub"}:
        line = sdk.expect("cancel", mode="kill")
        assert line["reason"] == "parent"
        received |= set(line["ids"])
    sdk.ask("request.end", id="r1", outcome="cancelled")
    sdk.ask("request.end", id="sub", outcome="cancelled")
    wait_until(lambda: one.status()["in_flight"]["requests"] == 0, "all have ended")
    assert metric(one, "lastcall_cancels_total", reason="client_disconnect") == 1
    assert metric(one, "lastcall_cancels_total", reason="parent") == 0


def test_a_request_that_is_announced_after_its_client_left_is_cancelled_and_holds_nothing(
    proxy, engine
):
    one = proxy(shutdown={"grace_period": "60s"})
    sdk = one.peer()
    for number in range(30):
        name = f"r{number}"
        user, wire = asked(one, engine, "/v1/completions", BODY, f"X-Request-Id: {name}")
        user.close()
        wait_until(lambda n=number: one.status()["in_flight"]["requests"] == n, "it has left")
        parent = {"root": name} if number % 2 else {}
        sdk.ask("request.begin", id=f"part-{number}" if parent else name, **parent,
                endpoint="generate", admit=number % 3 == 0)  # fmt: skip
        line = sdk.expect("cancel", mode="kill")
        assert line["reason"] == "parent"
        wire.close()
    assert one.status()["in_flight"]["requests"] == 30
    for number in range(30):
        sdk.ask("request.end", id=f"part-{number}" if number % 2 else f"r{number}",
                outcome="cancelled")  # fmt: skip
    assert metric(one, "lastcall_cancels_total", reason="client_disconnect") == 30
    one.process.send_signal(signal.SIGTERM)
    assert one.process.wait(timeout=PATIENCE) == 0
    assert one.report()["phases"]["draining"]["outcome"] == "completed"


def test_an_engine_that_breaks_off_never_looks_finished(proxy, engine):
    one = proxy()
    user, wire = stream(one, engine, body=BODY)
    wire.close()
    last = user.rest()
    assert b'event: error\ndata: {"error":{"type":"engine_error","code":502,' in last
    assert not last.endswith(b"0\r\n\r\n")
    unary = client(one)
    unary.send(post(body=UNARY))
    wire, _ = engine.request()
    wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
    unary.until(b"half")
    wire.close()
    assert unary.rest() == b""
    early = client(one)
    early.send(post(body=UNARY))
    wire, _ = engine.request()
    wire.close()
    assert early.until(b"\r\n\r\n").startswith(b"HTTP/1.1 502 Bad Gateway\r\n")


def deferring(proxy, **timeouts):
    endpoint = {"name": "chat_completions", "cancel": {"defer_until_first_byte": True}}
    return proxy(endpoints=[endpoint], ingress={"timeouts": timeouts} if timeouts else {})


def left_early(one, engine):
    """A request whose client has gone before the first byte, as the engine sees it."""
    user, wire = asked(one, engine, "/v1/chat/completions", BODY, "X-Request-Id: r1")
    user.close()
    wait_until(lambda: counted(one, "stream") == 1, "counted at once")
    return wire


def test_an_engine_that_may_not_be_broken_off_keeps_its_request_until_its_first_byte(proxy, engine):
    one = deferring(proxy)
    wire = left_early(one, engine)
    assert one.status()["in_flight"]["requests"] == 1
    wire.socket.setblocking(False)
    with pytest.raises(BlockingIOError):
        wire.socket.recv(1)
    wire.socket.settimeout(20)
    again = client(one)
    again.send(post("/v1/chat/completions", BODY, "X-Request-Id: r1"))
    other, head = engine.request()
    assert b"X-Request-Id: r1-2" in head, "the id is taken while the engine has the request"
    other.exactly(len(BODY))
    wire.send(b"HTTP/1.1 103 Early Hints\r\n\r\n" + SSE_HEAD[:20])
    wire.send(SSE_HEAD[20:])
    with pytest.raises(TimeoutError):
        wire.socket.settimeout(0.3)
        wire.socket.recv(1)
    wire.socket.settimeout(20)
    wire.send(chunk(b"data: 1\n\n"))
    assert wire.ended()
    wait_until(lambda: one.status()["in_flight"]["requests"] == 1, "it has ended")
    assert counted(one, "stream") == 1
    again.close()


@pytest.mark.parametrize("timeout", ["first_byte", "total"])
def test_an_engine_that_stays_silent_is_broken_off_by_its_limit(proxy, engine, timeout):
    one = deferring(proxy, **{timeout: "1s"})
    assert left_early(one, engine).ended()
    wait_until(lambda: one.status()["in_flight"]["requests"] == 0, "it has ended")


def test_a_stream_whose_head_alone_has_come_is_kept_too(proxy, engine):
    one = deferring(proxy)
    user, wire = asked(one, engine, body=BODY)
    wire.send(SSE_HEAD)
    user.until(b"\r\n\r\n")
    user.close()
    wait_until(lambda: counted(one, "stream") == 1, "counted at once")
    assert one.status()["in_flight"]["requests"] == 1
    wire.send(chunk(b"data: 1\n\n"))
    assert wire.ended()
    wait_until(lambda: one.status()["in_flight"]["requests"] == 0, "it has ended")


def test_requests_with_a_begun_answer_or_an_incomplete_body_are_broken_off(proxy, engine):
    one = deferring(proxy)
    begun, wire = stream(one, engine, body=BODY)
    begun.close()
    assert wire.ended()
    part = client(one)
    part.send(post(body=BODY + b" " * 70_000)[:-10])
    wire, _ = engine.request()
    wire.until(b"}")
    part.close()
    assert wire.rest().strip() in (b"", b"<reset>")


def test_a_request_that_its_client_has_left_to_the_engine_can_be_killed(proxy, engine):
    one = deferring(proxy)
    wire = left_early(one, engine)
    one.operator().ask("cancel", ids=["r1"], mode="kill")
    assert wire.ended()
    wait_until(lambda: one.status()["in_flight"]["requests"] == 0, "it has ended")
    assert counted(one, "stream") == 1


def keepalive_of(one, user):
    """The seconds until the kernel asks whether this client is still there; None: it never does."""
    timer, _, due = socket_of(one, user)[5].partition(":")
    return int(due, 16) / os.sysconf("SC_CLK_TCK") if int(timer, 16) == 2 else None


def test_a_client_that_vanishes_without_a_word_is_looked_for(proxy, engine):
    """Its node or a NAT is gone: neither an end nor a reset arrives, ever."""
    one = proxy()
    user = client(one)
    user.send(post())
    engine.request()
    assert 0 < keepalive_of(one, user) <= 60
