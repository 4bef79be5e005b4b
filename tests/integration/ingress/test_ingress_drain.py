"""Drains and stops, as clients of the ingress see them."""

import json
import os
import signal

from raw_engine import SSE_HEAD, asked, chunk, client, fill, get, metric, ok, post, stream
from in_time import in_time
from serve_peer import PATIENCE, wait_until

LONG = {"shutdown": {"grace_period": "60s"}}
# As short as it may be with 2.5 s between the engine's TERM, at the half of it, and KILL.
SHORT = {"shutdown": {"grace_period": "7s", "cleanup_reserve": "3500ms"}}
THREADS = (1, 3)


def finish(user, wire):
    wire.send(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
    wire.close()  # the next request comes on a connection of its own
    return user.until(b"0\r\n\r\n")


def test_a_stop_waits_for_streams_and_refuses_newcomers_with_a_reason(proxy, engine):
    one = proxy(**LONG)
    user, wire = stream(one, engine)
    idle = client(one)
    idle.send(get())
    other, _ = engine.request()
    other.send(ok())
    idle.until(b"hello")
    other.close()
    one.process.send_signal(signal.SIGTERM)
    one.wait_for_phase("draining")
    idle.send(post(body=b"{}"))
    refusal = idle.rest()
    assert refusal.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    for line in (b"X-Lastcall-Reason: draining", b"Retry-After: 1", b"Connection: close"):
        assert b"\r\n" + line + b"\r\n" in refusal
    error = json.loads(refusal.partition(b"\r\n\r\n")[2])["error"]
    assert error["type"] == "draining" and error["retryable"] is True
    looks = client(one)
    looks.send(get("/health"))  # what only looks is answered until the listener closes
    probe, _ = engine.request()
    probe.send(ok())
    assert b"\r\nConnection: close\r\n" in looks.until(b"hello")
    assert b"[DONE]" in finish(user, wire)
    assert one.process.wait(timeout=PATIENCE) == 0
    report = one.report()
    assert report["in_flight"] == "ingress"
    assert report["requests"]["completed"] == 1 and report["requests"]["rejected"] == 1
    assert report["phases"]["draining"]["outcome"] == "completed"


def test_a_client_that_asks_before_it_sends_its_body_is_refused_at_once(proxy, engine):
    one = proxy(**LONG)
    user, wire = stream(one, engine)
    asks = f"POST /v1/completions HTTP/1.1\r\nHost: h\r\nContent-Length: {1 << 20}\r\n"
    asks += "Expect: 100-continue\r\n\r\n"
    one.process.send_signal(signal.SIGTERM)
    one.wait_for_phase("draining")
    asking = client(one)
    asking.send(asks.encode())
    refusal = asking.rest()
    assert refusal.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b"\r\nX-Lastcall-Reason: draining\r\n" in refusal
    finish(user, wire)
    assert one.process.wait(timeout=PATIENCE) == 0
    assert one.report()["requests"]["rejected"] == 1


def test_a_request_that_a_drain_does_not_refuse_may_send_its_body(proxy, engine):
    one = proxy(**LONG)
    user, wire = stream(one, engine)
    one.process.send_signal(signal.SIGTERM)
    one.wait_for_phase("draining")
    looks = client(one)
    looks.send(b"GET /v1/models HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n"
               b"Expect: 100-continue\r\n\r\n")  # fmt: skip
    looks.until(b"HTTP/1.1 100 Continue\r\n\r\n")
    looks.send(b"{}")
    other, _ = engine.request()
    other.until(b"{}")
    other.send(ok())
    looks.until(b"hello")
    finish(user, wire)
    assert one.process.wait(timeout=PATIENCE) == 0


def test_a_stream_that_its_engine_hands_off_counts_as_handed_off(proxy, engine):
    one = proxy(shutdown={"grace_period": "60s", "migrate": "at_start"})
    sdk = one.peer()
    sdk.ask("endpoint.register", endpoint="completions", graceful_shutdown=False)
    user = client(one)
    user.send(post("/v1/completions", b"{}", "X-Request-Id: r1"))
    wire, _ = engine.request()
    sdk.ask("request.begin", id="r1", endpoint="completions")
    wire.send(SSE_HEAD + chunk(b"data: 1\n\n"))
    user.until(b"data: 1\n\n\r\n")
    one.process.send_signal(signal.SIGTERM)
    sdk.expect("cancel", reason="migrate", ids=["r1"])
    wire.send(chunk(b'event: error\ndata: {"error":{"type":"migrated","code":503}}\n\n'))
    sdk.ask("request.end", id="r1", outcome="migrated")
    wire.close()
    assert b'"type":"migrated"' in user.rest()
    assert one.process.wait(timeout=PATIENCE) == 0
    requests = one.report()["requests"]
    assert (requests["migrated"], requests["error"]) == (1, 0)


def test_connections_are_closed_one_after_the_other_before_requests_are_refused(proxy, engine):
    one = proxy(shutdown={"grace_period": "90s", "late_accept": "10s"})
    open_ones = [client(one) for _ in range(8)]
    one.process.send_signal(signal.SIGTERM)
    one.wait_for_phase("deregistering")
    closed_in_round = []
    while open_ones:
        said_close = []
        for user in open_ones:
            user.send(post())
            wire, _ = engine.request()
            wire.until(b"}")
            wire.send(ok(b"hello", "Connection: close"))
            head = user.until(b"hello")
            assert head.startswith(b"HTTP/1.1 200 ")
            if b"\r\nConnection: close\r\n" in head:
                said_close.append(user)
        for user in said_close:
            assert user.ended()
            open_ones.remove(user)
        closed_in_round.append(len(said_close))
    # With time left, in which a client that asks again is notified.
    assert one.status()["phase"] == "deregistering"
    assert max(closed_in_round) < 8, closed_in_round
    assert one.process.wait(timeout=PATIENCE + 10) == 0
    assert one.report()["requests"]["rejected"] == 0


def test_a_drained_ingress_has_no_idle_connections(proxy, engine):
    one = proxy()
    idle = client(one)
    idle.send(get())
    wire, _ = engine.request()
    wire.send(ok())
    idle.until(b"hello")
    one.operator().ask("drain", exit=False)
    one.wait_for_phase("drained")
    assert idle.ended()


def test_a_client_that_has_not_sent_its_whole_body_when_the_stop_ends_is_refused(proxy, engine):
    """Nothing of its request has reached the engine, so another replica can have it."""
    one = proxy()
    user = client(one)
    user.send(post()[:-1])
    one.process.send_signal(signal.SIGTERM)
    answer = user.rest()
    assert answer.startswith(b"HTTP/1.1 503 ") and b'"type":"draining"' in answer, answer
    assert b"\r\nConnection: close\r\n" in answer and b"<reset>" not in answer
    assert one.process.wait(timeout=PATIENCE) == 0
    assert one.report()["in_flight"] == "ingress"


def test_a_request_that_only_reads_is_refused_when_its_engine_has_not_answered_in_time(
    proxy, engine
):
    """It holds no drain, and an end without a word would look like a failure of the network."""
    one = proxy()
    users = [client(one), client(one)]
    users[0].send(get())
    users[1].send(get("/v1/models").replace(b"GET", b"HEAD"))
    wires = [engine.request()[0], engine.request()[0]]
    one.process.send_signal(signal.SIGTERM)
    answers = [user.rest() for user in users]
    for answer in answers:
        assert answer.startswith(b"HTTP/1.1 503 ") and b"X-Lastcall-Reason: draining" in answer
        assert b"\r\nConnection: close\r\n" in answer and b"<reset>" not in answer
    assert b'"type":"draining"' in answers[0] and answers[1].endswith(b"\r\n\r\n")
    assert one.process.wait(timeout=PATIENCE) == 0
    assert one.report()["requests"]["rejected"] == 0, "it was never counted"
    for wire in wires:
        wire.close()


def test_streams_that_do_not_fit_into_the_grace_are_cut_with_a_hint_to_go_on(proxy, engine):
    one = proxy(**SHORT)
    user, wire = stream(one, engine)
    early, silent = asked(one, engine)
    one.process.send_signal(signal.SIGTERM)
    last = user.rest()
    assert b"event: error\n" in last and b"[DONE]" not in last and not last.endswith(b"0\r\n\r\n")
    error = json.loads(last.split(b"data: ")[1].partition(b"\n")[0])["error"]
    assert error == {**error, "type": "migrated", "events_sent": 1, "retryable": True,
                     "reason": "grace_timeout"}  # fmt: skip
    answer = early.until(b"}}\n")
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nX-Lastcall-Reason: grace_timeout\r\nRetry-After: " in answer
    assert wire.ended() and silent.ended()
    assert one.process.wait(timeout=PATIENCE) == 0
    assert one.report()["requests"]["migrated"] == 2
    reported = [record for record in one.records() if record["msg"] == "request handed off"]
    assert [(r["endpoint"], r["model"], r["reason"]) for r in reported] == [
        ("chat_completions", "m", "grace_timeout")
    ] * 2
    assert sorted((r["events_sent"], r["bytes_sent"]) for r in reported) == [(0, 0), (1, 9)]
    assert error["request_id"] in {r["id"] for r in reported}


def test_a_client_that_reads_slowly_gets_the_error_event_as_long_as_there_is_time(proxy, engine):
    one = proxy(**SHORT)
    slow, wire = asked(one, engine)
    wire.send(SSE_HEAD)
    fill(wire)
    one.process.send_signal(signal.SIGTERM)
    one.wait_for_log('"phase begun","phase":"cleaning_up"')  # 3.5 s are left
    assert wire.ended()
    last = slow.rest()
    assert b'event: error\ndata: {"error":{"type":"migrated"' in last, last[-500:]
    assert not last.endswith(b"0\r\n\r\n")
    assert one.process.wait(timeout=PATIENCE) == 0
    assert one.report()["requests"]["migrated"] == 1


def test_endpoints_that_are_not_graceful_are_handed_off_and_hold_nothing(proxy, engine):
    one = proxy(endpoints=[{"name": "/v1/embeddings", "graceful_shutdown": False},
                           {"name": "audios", "graceful_shutdown": False}], **LONG)  # fmt: skip
    by_path, wire = stream(one, engine, "/v1/embeddings")
    by_name, other = stream(one, engine, "/v1/audio/speech")
    one.process.send_signal(signal.SIGTERM)
    for user in (by_path, by_name):
        assert b'"type":"migrated"' in user.rest()
    assert wire.ended() and other.ended()
    assert one.process.wait(timeout=PATIENCE) == 0
    assert one.report()["phases"]["draining"]["outcome"] == "completed"


def test_a_drain_that_is_undone_serves_again(proxy, engine):
    one = proxy()
    user, wire = stream(one, engine)
    operator = one.operator()
    operator.ask("drain", exit=False)
    one.wait_for_phase("draining")
    late = client(one)
    late.send(post())
    assert late.rest().startswith(b"HTTP/1.1 503 ")
    finish(user, wire)
    one.wait_for_phase("drained")
    operator.ask("resume")
    one.wait_for_phase("serving")
    again, wire = stream(one, engine)
    assert b"[DONE]" in finish(again, wire)
    again.send(get())  # and connections are kept again
    engine.request()


def test_an_idle_ingress_that_has_relayed_before_ends_a_drain_at_once(proxy, engine):
    """Though its client keeps the connection."""

    def took():
        one = proxy(shutdown={"drain_unknown": "60s", "grace_period": "90s"})
        user, wire = stream(one, engine)
        finish(user, wire)
        one.process.send_signal(signal.SIGTERM)
        assert one.process.wait(timeout=PATIENCE) == 0
        return one.report()["phases"]["draining"]["ms"]

    in_time(took, 500)


def test_the_death_of_an_engine_is_reported_to_its_streams(proxy, engine):
    one = proxy()
    user, wire = stream(one, engine)
    early = client(one)
    early.send(post())
    engine.request()
    os.kill(one.status()["engine"]["pid"], signal.SIGKILL)
    assert b'"type":"engine_dead"' in user.rest()
    answer = early.until(b"}}\n")
    assert answer.startswith(b"HTTP/1.1 503 ") and b'"type":"engine_dead"' in answer
    assert one.process.wait(timeout=PATIENCE) == 1
    assert wire.ended()


def test_an_engine_that_dies_in_a_drain_with_work_in_flight_is_a_failure(proxy, engine):
    one = proxy(**LONG)
    user, wire = stream(one, engine)
    pid = one.status()["engine"]["pid"]
    one.process.send_signal(signal.SIGTERM)
    one.wait_for_phase("draining")
    wire.close()  # its connections break a moment before its end is known
    os.kill(pid, signal.SIGKILL)
    assert b'"type":"engine_dead"' in user.rest()
    assert one.process.wait(timeout=PATIENCE) == 1


def test_progress_of_streams_is_reported_to_the_core(proxy, engine):
    one = proxy(log={"level": "debug"})
    user, _ = stream(one, engine)
    wait_until(lambda: '"type":"request_progressed"' in one.log(), "progress")
    assert metric(one, "lastcall_ingress_connections", side="client") == 1
    user.close()
