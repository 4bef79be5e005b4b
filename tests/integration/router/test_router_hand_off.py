"""A draining worker says which streams it will cut, and the router moves them before it does."""

import os
import signal
import time

import pytest
from ports import free_port
from raw_engine import SSE_HEAD, chunk, post
from router_world import static
from serve_peer import PATIENCE, wait_until
from sim_fleet import User


def begun(users):
    wait_until(lambda: all(len(each.text) > 20 for each in users), "all have begun", patience=60)


@pytest.fixture
def worker(world):
    def make(rate, **shutdown):
        one = world(ingress={"listen": f"127.0.0.1:{free_port()}"})
        port = free_port()
        one.config["ingress"]["upstream"] = f"127.0.0.1:{port}"
        one.config["shutdown"].update({"grace_period": "30s", **shutdown})
        one.run_engine("--rate", str(rate), port=port)
        one.port = int(one.config["ingress"]["listen"].rpartition(":")[2])
        return one

    return make


@pytest.mark.parametrize("hand_off", ["early", "off"])
def test_only_those_that_announced_themselves_get_the_hint(worker, hand_off):
    one = worker(20, hand_off=hand_off)
    told = User(one.port, headers={"X-Lastcall-Router": "1", "X-Request-Id": "r1"})
    other = User(one.port)
    begun([told, other])
    os.kill(one.process.pid, signal.SIGTERM)
    assert told.is_whole()
    assert other.is_whole()
    assert other.comments == []
    hints = [each for each in told.comments if each.startswith(": lastcall-handoff ")]
    assert len(hints) == (hand_off == "early")
    if hints:
        start = ': lastcall-handoff {"request_id": "r1", "deadline_ms": '
        assert hints[0].startswith(start)
        assert 10_000 < int(hints[0][len(start) :].rstrip("}")) < 30_000


def test_long_streams_leave_a_draining_worker_before_it_cuts_them(router, worker):
    leaving, staying = worker(20, hand_off="early"), worker(20)
    one = router(static(f"127.0.0.1:{leaving.port}", f"127.0.0.1:{staying.port}", model="sim"))
    users = [User(one.port, f"user {number}", tokens=240) for number in range(8)]
    begun(users)
    began = time.monotonic()
    os.kill(leaving.process.pid, signal.SIGTERM)
    assert leaving.process.wait(timeout=2 * PATIENCE) == 0
    # Sooner than its streams would have been whole; they run on.
    assert not any(user.done for user in users)
    assert time.monotonic() - began < 12
    assert all(user.is_whole() for user in users)
    moved = one.metric("lastcall_router_migrations_total", reason="hand_off")
    assert moved > 0
    assert one.metric("lastcall_router_moves_total", kind="planned", outcome="continued") == moved
    assert one.metric("lastcall_router_pause_seconds_count", kind="planned") == moved
    assert one.metric("lastcall_router_migrations_total", reason="migrated") == 0
    assert one.counts("dynamo_frontend_requests_total", len(users), status="success")


def piece(number, prompt=1):
    return (
        b'data: {"id":"a","created":1,"model":"m",'
        b'"choices":[{"index":0,"delta":{"content":"t%d "}}],'
        b'"usage":{"prompt_tokens":%d,"completion_tokens":1,"total_tokens":2}}\n\n'
        % (number, prompt)
    )


ASKED = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}'
HINT = b': lastcall-handoff {"request_id": "x", "deadline_ms": 9000}\n\n'
END = b'data: {"id":"a","created":1,"model":"m","choices":[{"index":0,"delta":{},' \
      b'"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'  # fmt: skip


@pytest.fixture
def hinted(router, engines):
    """(router, client, old worker's connection, other worker, its warming request)."""
    one = router(*(each.address for each in engines))
    user = one.client()
    user.send(post(body=ASKED))
    wait_until(lambda: any(each.has_arrived() for each in engines), "a worker is asked")
    number = 0 if engines[0].has_arrived() else 1
    wire, head = engines[number].request()
    assert b"\r\nX-Lastcall-Router: 1\r\n" in head
    wire.send(SSE_HEAD + chunk(piece(0)) + chunk(HINT))
    user.until(b"t0")
    other = engines[1 - number]
    warming, head = other.request()
    assert b"-w\r\n" in head
    warming.until(b'"max_tokens":1}')
    return one, user, wire, other, warming


def warmed(wire, other, warming):
    """The other worker has it in its cache; its continuation."""
    warming.send(SSE_HEAD + chunk(piece(1, prompt=2)) + b"0\r\n\r\n")
    warming.close()

    def is_asked():  # the router looks with each event of the old leg
        wire.send(chunk(b": still here\n\n"))
        return other.has_arrived()

    wait_until(is_asked, "the other worker is asked to go on")
    return other.request()


def test_what_the_old_leg_says_is_let_through_where_the_new_one_fails(hinted):
    one, user, wire, other, warming = hinted
    wire.send(chunk(piece(1)))
    user.until(b"t1")
    following, head = warmed(wire, other, warming)
    assert b"-m1\r\n" in head
    wire.send(chunk(piece(2)))
    following.send(b"HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno")
    user.until(b"t2")
    wire.send(chunk(END) + b"0\r\n\r\n")
    assert b"[DONE]" in user.until(b"[DONE]")
    assert one.metric("lastcall_router_migrations_total") == 0


def test_what_the_old_leg_says_behind_the_cut_is_dropped(hinted):
    one, user, wire, other, warming = hinted
    following, _ = warmed(wire, other, warming)
    wire.send(chunk(piece(1).replace(b"t1", b"never seen")))
    following.send(SSE_HEAD + chunk(piece(1, prompt=2)))
    assert b"never seen" not in user.until(b"t1")
    wire.rest()  # and no more
    following.send(chunk(END) + b"0\r\n\r\n")
    assert b"never seen" not in user.until(b"[DONE]")
    assert one.metric("lastcall_router_migrations_total", reason="hand_off") == 1


def test_a_client_that_leaves_in_a_hand_off_ends_both_legs(hinted):
    _, user, wire, other, warming = hinted
    following, _ = warmed(wire, other, warming)
    user.close()
    wire.rest()  # and no more
    following.rest()
