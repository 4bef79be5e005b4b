"""A router is notified when a draining worker will cut its streams, also those that begin
meanwhile."""

import signal

import pytest
from raw_engine import SSE_HEAD, asked, chunk

WORD = b"data: 1\n\n"
BODY = b'{"model":"m","stream":true}'
ROUTERS = "X-Lastcall-Router: 1"


@pytest.fixture
def draining(proxy, engine):
    """What asks, and what ends the worker."""
    one = proxy(shutdown={"hand_off": "early", "grace_period": "30s", "late_accept": "0s"})

    def ask(*lines):
        user, wire = asked(one, engine, "/v1/chat/completions", BODY, *lines)
        return user, wire

    def drain():
        one.process.send_signal(signal.SIGTERM)
        one.wait_for_phase("draining")

    return ask, drain


def test_a_stream_without_a_word_receives_the_hint_at_once(draining):
    ask, drain = draining
    user, wire = ask(ROUTERS, "X-Request-Id: r1")
    wire.send(SSE_HEAD)
    user.until(b"\r\n\r\n")
    drain()
    user.until(b': lastcall-handoff {"request_id": "r1", "deadline_ms": ')
    wire.send(chunk(WORD) + b"0\r\n\r\n")
    assert b"handoff" not in user.until(b"0\r\n\r\n")


def test_a_stream_that_begins_during_the_drain_receives_the_hint_then(draining):
    ask, drain = draining
    user, wire = ask(ROUTERS)
    other, others = ask()
    drain()
    for each in (wire, others):
        each.send(SSE_HEAD + chunk(WORD))
    said = user.until(b"}\n\n")
    assert said.count(b"lastcall-handoff") == 1
    for each in (wire, others):
        each.send(chunk(WORD) + b"0\r\n\r\n")
    assert b"handoff" not in user.until(b"0\r\n\r\n") + other.until(b"0\r\n\r\n")
