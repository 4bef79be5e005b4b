"""N requests at the engine, Q in the queue, the next is refused: for any client of HTTP."""

import json
import re
import signal

import pytest
from raw_engine import SSE_HEAD, chunk, client, metric, ok, post
from serve_peer import PATIENCE, wait_until

LAST_CHUNK = b"0\r\n\r\n"
THREADS = (1, 3)


def limits(running, waiting, **more):
    return {"engine_request_limit": running, "queue_limit": waiting, **more}


def ask(one, *lines):
    user = client(one)
    user.send(post("/v1/chat/completions", b'{"model":"m","stream":true}', *lines))
    return user


def at_engine(engine):
    """The next request that the engine got, head and body."""
    wire, _ = engine.request()
    wire.until(b"}")
    return wire


def finish(wire, engine, answer):
    """Answers and closes: what comes next has a connection of its own with any proxy."""
    head, end, rest = answer.partition(b"\r\n\r\n")
    wire.send(head + b"\r\nConnection: close" + end + rest)
    wire.close()
    return at_engine(engine)


def waiting(one):
    return metric(one, "dynamo_request_queue")


def error_of(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    return head, json.loads(body)["error"]


def test_requests_above_n_wait_and_those_above_q_are_refused(proxy, engine):
    one = proxy(admission=limits(1, 1, overload_status=529))
    first = ask(one)
    running = at_engine(engine)
    second = ask(one)
    wait_until(lambda: waiting(one) == 1, "one waits")
    head, error = error_of(ask(one).until(b"}}\n"))
    assert head.startswith(b"HTTP/1.1 529 ")
    for field in (b"X-Lastcall-Reason: overloaded", b"X-Lastcall-Limit: 2", b"X-Lastcall-Count: 2",
                  b"Retry-After: 1"):  # fmt: skip
        assert field in head
    assert (error["message"], error["limit"], error["count"]) == (
        "Server overloaded: worker at capacity", 2, 2)  # fmt: skip
    assert engine.connections() == 1
    running = finish(running, engine, ok(b"one"))
    assert first.until(b"one")
    assert waiting(one) == 0
    running.send(ok(b"two"))
    assert second.until(b"two")


def test_a_waiter_that_hangs_up_frees_its_place_and_never_reaches_the_engine(proxy, engine):
    one = proxy(admission=limits(1, 1))
    first = ask(one)
    running = at_engine(engine)
    second = ask(one)
    wait_until(lambda: waiting(one) == 1, "one waits")
    second.close()
    wait_until(lambda: waiting(one) == 0, "its place is free")
    third = ask(one)
    wait_until(lambda: waiting(one) == 1, "another one waits")
    assert engine.connections() == 1
    running = finish(running, engine, ok(b"first"))
    assert first.until(b"first")
    running.send(ok(b"third"))
    assert third.until(b"third")
    assert engine.connections() == 2


def test_invented_models_of_refused_requests_do_not_hide_those_that_are_served(proxy, engine):
    one = proxy(admission=limits(1, 0), identity={"model": "configured"})
    user = client(one)
    user.send(post(body=b'{"model":"invented"}'))
    running = at_engine(engine)
    running.send(ok(b"gone", "Connection: close").replace(b"200 OK", b"404 Not Found"))
    user.until(b"gone")
    user.send(post(body=b'{"model":"served"}'))
    running = at_engine(engine)
    running.send(SSE_HEAD + chunk(b"data: 1\n\n"))
    user.until(b"data: 1\n\n")

    def refused(model):
        other = client(one)
        other.send(post(body=b'{"model":"%b"}' % model.encode()))
        assert other.until(b"\r\n").startswith(b"HTTP/1.1 503 ")
        other.close()

    for model in [f"junk{i}" for i in range(70)] + ["invented", "configured", "served"]:
        refused(model)
    reported = {model: metric(one, "dynamo_frontend_model_rejection_total", model=model)
            for model in ("configured", "served", "invented", "other")}  # fmt: skip
    # The engine's 404 has given "invented" one of the 64 places for models that no engine serves;
    # those that are served have places of their own.
    assert reported == {"configured": 1, "served": 1, "invented": 1, "other": 7}


def test_a_wait_that_is_too_long_has_a_reason_of_its_own(proxy, engine):
    one = proxy(admission=limits(1, 4, queue_timeout="200ms"))
    first = ask(one)
    running = at_engine(engine)
    head, error = error_of(ask(one).until(b"}}\n"))
    assert head.startswith(b"HTTP/1.1 503 ") and error["reason"] == "queue_timeout"
    running.send(ok(b"first"))
    assert first.until(b"first")


def test_requests_without_a_first_byte_have_a_bound_of_their_own(proxy, engine):
    one = proxy(admission=limits(4, 4, engine_wait_limit=1))
    users = [ask(one)]
    running = at_engine(engine)
    users.append(ask(one))
    wait_until(lambda: waiting(one) == 1, "one waits")
    running.send(SSE_HEAD + chunk(b"data: 1\n\n"))
    assert users[0].until(b"data: 1\n\n")
    at_engine(engine)  # the second, while the first still runs
    assert metric(one, "dynamo_engine_request") == 2


LINES_HEAD = SSE_HEAD.replace(b"text/event-stream", b"application/x-ndjson")


@pytest.mark.parametrize("head", [SSE_HEAD, LINES_HEAD], ids=["events", "no length"])
def test_the_head_of_a_stream_comes_before_its_first_byte(proxy, engine, head):
    one = proxy(admission=limits(4, 4, engine_wait_limit=1))
    counted = ("lastcall_ingress_time_to_first_byte_seconds_count",)
    users = [ask(one)]
    running = at_engine(engine)
    running.send(head)
    users[0].until(b"\r\n\r\n")
    users.append(ask(one))
    wait_until(lambda: waiting(one) == 1, "one waits")
    assert metric(one, *counted) == 0
    running.send(chunk(b"data: 1\n\n"))
    at_engine(engine)
    assert metric(one, *counted) == 1


def test_the_head_is_the_first_byte_of_an_answer_that_is_no_stream(proxy, engine):
    one = proxy(admission=limits(4, 4, engine_wait_limit=1))
    user = client(one)
    user.send(post(body=b'{"model":"m","stream":false}'))
    at_engine(engine).send(LINES_HEAD)
    user.until(b"\r\n\r\n")
    second = ask(one)
    at_engine(engine)
    second.close()


@pytest.mark.parametrize("heeded", [True, False])
def test_the_priority_field_orders_waiting_requests_where_configured(proxy, engine, heeded):
    one = proxy(admission=limits(1, 5, priorities=heeded))
    users = [ask(one)]  # a client that goes hangs up
    running = at_engine(engine)
    urgencies = (None, "u=6", "u=1, i", "u=6", "nonsense")
    for count, urgency in enumerate(urgencies, start=1):
        lines = [] if urgency is None else [f"Priority: {urgency}"]
        users.append(ask(one, *lines, f"X-Request-Id: {count}"))
        wait_until(lambda n=count: waiting(one) == n, f"{count} wait")
    order = []
    for _ in urgencies:
        running.send(ok(b"done", "Connection: close"))
        running.close()
        running, head = engine.request()
        running.until(b"}")
        order += re.findall(rb"X-Request-Id: (\d+)", head)
        if urgencies[int(order[-1]) - 1]:
            assert b"Priority: " + urgencies[int(order[-1]) - 1].encode() in head
    assert order == ([b"3", b"1", b"5", b"2", b"4"] if heeded else [b"1", b"2", b"3", b"4", b"5"])


def test_waiters_of_a_drain_are_still_granted_in_their_order(proxy, engine):
    one = proxy(admission=limits(1, 2), shutdown={"grace_period": "60s"})
    users = [ask(one)]
    running = at_engine(engine)
    users.append(ask(one))
    wait_until(lambda: waiting(one) == 1, "one waits")
    one.process.send_signal(signal.SIGTERM)
    one.wait_for_phase("draining")
    assert error_of(ask(one).until(b"}}\n"))[1]["type"] == "draining"
    running = finish(running, engine, SSE_HEAD + chunk(b"data: 1\n\n") + LAST_CHUNK)
    assert users[0].until(LAST_CHUNK)
    running.send(SSE_HEAD + chunk(b"data: 2\n\n") + LAST_CHUNK)
    assert users[1].until(LAST_CHUNK)
    assert one.process.wait(timeout=PATIENCE) == 0
    assert one.report()["requests"]["completed"] == 2


def test_a_refusal_because_of_load_names_the_figure_and_its_threshold(proxy, engine):
    one = proxy(admission={"active_prefill_tokens_threshold": 100, "load_max_age": "60s"})
    peer = one.peer()
    peer.ask("load", active_prefill_tokens=250)
    head, error = error_of(ask(one).until(b"}}\n"))
    assert head.startswith(b"HTTP/1.1 503 ") and b"X-Lastcall-Limit" not in head
    assert error["message"] == (
        "Server overloaded: worker at capacity (active_prefill_tokens of rank 0 is 250, above 100)"
    )


def test_refusals_of_a_drain_do_not_all_come_back_at_once(proxy, engine):
    one = proxy()
    first = ask(one)
    running = at_engine(engine)
    one.process.send_signal(signal.SIGTERM)
    one.wait_for_phase("draining")
    answers = [error_of(ask(one).until(b"}}\n"))[0] for _ in range(8)]
    reported = [int(re.search(rb"retry-after-ms: (\d+)", head)[1]) for head in answers]
    assert min(reported) >= 1000 and max(reported) < 2000 and len(set(reported)) == 8, reported
    running.send(ok())
    first.until(b"hello")
    assert one.process.wait(timeout=PATIENCE) == 0
