"""A stream whose worker fails goes on at another one: one answer, whole, and equal to any other."""

import os
import signal
import socket
import time

import pytest
import sim_fleet
from ports import free_port
from raw_engine import SSE_HEAD, chunk, post
from router_world import static
from serve_peer import PATIENCE, wait_until
from sim_fleet import TOKENS, User


@pytest.fixture
def sims():
    """Two bare engines."""
    with sim_fleet.sims(2) as made:
        yield [(each.port, each.process) for each in made]


def begun(readers):
    wait_until(lambda: all(len(each.text) > 20 for each in readers), "all have begun", patience=60)


@pytest.mark.parametrize("chat", [True, False], ids=["chat", "completions"])
def test_streams_go_on_when_their_engine_is_killed(router, sims, chat):
    one = router(static(*(f"127.0.0.1:{port}" for port, _ in sims), model="sim"))
    readers = [User(one.port, chat) for _ in range(10)]
    begun(readers)
    sims[0][1].kill()
    assert all(reader.is_whole() for reader in readers)
    moved = one.metric("lastcall_router_migrations_total", reason="eof")
    assert 0 < moved <= len(readers)
    assert one.metric("dynamo_frontend_model_migration_total") == moved
    assert one.metric("lastcall_router_moves_total", kind="failure", outcome="continued") == moved
    assert one.metric("lastcall_router_pause_seconds_count", kind="failure") == moved
    assert one.counts("dynamo_frontend_queued_requests", 0)
    assert one.counts("dynamo_frontend_requests_total", len(readers), status="success")


def test_streams_go_on_when_their_engine_is_frozen(router, sims):
    one = router(
        static(*(f"127.0.0.1:{port}" for port, _ in sims), model="sim"),
        migration={"stall": "1s"},
    )
    readers = [User(one.port) for _ in range(6)]
    begun(readers)
    os.kill(sims[0][1].pid, signal.SIGSTOP)
    assert all(reader.is_whole() for reader in readers)
    assert one.metric("lastcall_router_migrations_total", reason="stall") > 0


def test_usage_is_that_of_one_request(router, sims):
    one = router(static(*(f"127.0.0.1:{port}" for port, _ in sims), model="sim"))
    readers = [User(one.port, stream_options={"include_usage": True}) for _ in range(4)]
    begun(readers)
    sims[0][1].kill()
    assert all(reader.is_whole() for reader in readers)
    whole = {"prompt_tokens": 1, "completion_tokens": TOKENS, "total_tokens": TOKENS + 1}
    assert [reader.usage for reader in readers] == [[whole]] * 4


@pytest.mark.parametrize(
    ("asked", "word"),
    [({"n": 2}, "several_choices"), ({"response_format": {"type": "json_object"}}, "guided_output"),
     ({"headers": {"X-Lastcall-Migration": "never"}}, "forbidden")],
    ids=["n", "guided", "forbidden"],
)  # fmt: skip
def test_what_cannot_be_continued_ends_with_the_reason(router, sims, asked, word):
    one = router(static(f"127.0.0.1:{sims[0][0]}", model="sim"))
    reader = User(one.port, **asked)
    begun([reader])
    sims[0][1].kill()
    reader.join(PATIENCE)
    assert reader.error["reason"] == word
    assert (reader.done, reader.reasons) == (0, [])
    assert one.metric("lastcall_router_migrations_total", why_not=word) == 1
    assert one.metric("lastcall_router_moves_total", outcome="refused") == 1


def test_a_drain_and_a_kill_of_supervised_workers_lose_nothing(router, world):
    workers = [world(ingress={"listen": f"127.0.0.1:{free_port()}"}) for _ in range(2)]
    for worker in workers:
        port = free_port()
        worker.config["ingress"]["upstream"] = f"127.0.0.1:{port}"
        # What runs is told to go elsewhere at once.
        worker.config["shutdown"]["grace_period"] = "5s"
        worker.run_engine("--rate", "20", port=port)
    addresses = [worker.config["ingress"]["listen"] for worker in workers]
    one = router(static(*addresses, model="sim"))
    readers = [User(one.port) for _ in range(6)]
    begun(readers)
    os.kill(workers[0].process.pid, signal.SIGTERM)
    assert all(reader.is_whole() for reader in readers)
    assert workers[0].process.wait(timeout=2 * PATIENCE) == 0
    assert one.counts("dynamo_frontend_requests_total", len(readers), status="success")


PIECE = (
    b'data: {"id":"a","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{"content":"t0 "}}],'
    b'"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}\n\n'
)
ASKED = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}'


ENGINE_DEAD = b'event: error\ndata: {"error":{"type":"engine_dead","retryable":true}}\n\n'


def begun_by_one(router, engines):
    """(router, client with the begin of an answer, the worker's connection, the other worker)."""
    # Whoever has failed stays skipped.
    one = router(
        *(each.address for each in engines), choosing={"skip_first": "1h", "skip_most": "1h"}
    )
    user = one.client()
    user.send(post(body=ASKED))
    wait_until(lambda: any(each.has_arrived() for each in engines), "a worker is asked")
    number = 0 if engines[0].has_arrived() else 1
    wire, _ = engines[number].request()
    wire.send(SSE_HEAD + chunk(PIECE))
    user.until(b"t0")
    return one, user, wire, engines[1 - number]


def test_a_stream_whose_chunks_are_none_goes_on_elsewhere(router, engines):
    one, user, wire, other = begun_by_one(router, engines)
    wire.send(b"no size\r\n")
    assert b"-m1\r\n" in other.request()[1]
    assert one.metric("lastcall_router_migrations_total", reason="eof", why_not="") == 1
    user.close()


def test_a_worker_that_takes_no_continuation_is_not_asked_again(router, engines):
    one, user, wire, other = begun_by_one(router, engines)
    wire.send(chunk(b""))
    refusing, head = other.request()
    assert b"-m1\r\n" in head
    refusing.send(b"HTTP/1.1 400 No\r\nContent-Length: 2\r\n\r\nno")
    assert b'"reason":"worker_cannot"' in user.rest()
    # It is as good as before for anybody else.
    user = one.client()
    user.send(post(body=ASKED))
    other.request()


def test_a_client_that_takes_nothing_while_its_answer_moves_is_given_up(router, engines):
    one = router(*(each.address for each in engines), timeouts={"client": "500ms"})
    user = one.client()
    user.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    user.send(post(body=ASKED))
    wait_until(lambda: any(each.has_arrived() for each in engines), "a worker is asked")
    number = 0 if engines[0].has_arrived() else 1
    wire, _ = engines[number].request()
    # More than the kernel takes for a client that does not read, and the end of the worker with it.
    large = PIECE.replace(b"t0 ", b"x" * 3_900_000)
    wire.send(SSE_HEAD + chunk(large + ENGINE_DEAD))
    asked, head = engines[1 - number].request()
    assert b"-m1\r\n" in head
    wait_until(lambda: one.metric("dynamo_frontend_disconnected_clients_total") == 1, "it left")
    assert one.metric("dynamo_frontend_disconnected_clients") == 1
    assert one.metric("dynamo_frontend_model_cancellation_total", request_type="stream") == 1
    asked.rest()  # and the worker hears of it


def test_one_slow_stream_is_not_moved_while_its_worker_speaks(router, engines):
    one = router(engines[0].address, migration={"stall": "300ms"})
    users, wires = [one.client() for _ in range(2)], []
    for user in users:
        user.send(post(body=ASKED))
        wires.append(engines[0].request()[0])
        wires[-1].send(SSE_HEAD + chunk(PIECE))
        user.until(b"t0")
    began = time.monotonic()
    while time.monotonic() - began < 1.2:  # four times as long as a worker may be silent
        wires[0].send(chunk(PIECE))
        users[0].until(b"t0")
    assert one.metric("lastcall_router_migrations_total") == 0
    wires[0].close()
    wires[1].send(chunk(PIECE))
    users[1].until(b"t0")


def test_a_worker_that_sends_a_head_and_no_body_is_left(router, engines):
    one = router(*(each.address for each in engines), migration={"stall": "100ms"})
    user = one.client()
    user.send(post(body=ASKED))
    wait_until(lambda: any(each.has_arrived() for each in engines), "a worker is asked")
    number = 0 if engines[0].has_arrived() else 1
    wire, _ = engines[number].request()
    wire.send(SSE_HEAD)
    other, _ = engines[1 - number].request()
    other.send(SSE_HEAD + chunk(PIECE))
    user.until(b"t0")
    assert one.metric("lastcall_router_migrations_total", reason="stall") == 1
