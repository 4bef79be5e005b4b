"""N requests at the engine, Q in the queue, the next is refused: for any client of HTTP."""

import json
import random
import signal
import threading

import pytest
from raw_engine import SSE_HEAD, chunk, client, metric, ok, post
from serve_peer import PATIENCE, wait_until

LAST_CHUNK = b"0\r\n\r\n"


def limits(running, waiting, **more):
    return {"engine_request_limit": running, "queue_limit": waiting, **more}


def ask(one):
    user = client(one)
    user.send(post())
    return user


def at_engine(engine):
    """The next request that the engine got, head and body."""
    wire, _ = engine.request()
    wire.until(b"}")
    return wire


def waiting(one):
    return metric(one, "dynamo_request_queue")


def error_of(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    return head, json.loads(body)["error"]


def test_what_is_above_n_waits_and_what_is_above_q_is_told_so(proxy, engine):
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
    running.send(ok(b"one"))
    assert first.until(b"one")
    running.until(b"}")  # the second, on the connection that is free now
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
    running.send(ok(b"first"))
    assert first.until(b"first")
    running.until(b"}")
    running.send(ok(b"third"))
    assert third.until(b"third")
    assert engine.connections() == 1


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


def test_waiters_of_a_drain_are_still_granted_in_their_order(proxy, engine):
    one = proxy(admission=limits(1, 2), shutdown={"grace_period": "60s"})
    users = [ask(one)]
    running = at_engine(engine)
    users.append(ask(one))
    wait_until(lambda: waiting(one) == 1, "one waits")
    one.process.send_signal(signal.SIGTERM)
    one.wait_for_phase("draining")
    assert error_of(ask(one).until(b"}}\n"))[1]["type"] == "draining"
    running.send(SSE_HEAD + chunk(b"data: 1\n\n") + LAST_CHUNK)
    assert users[0].until(LAST_CHUNK)
    running.until(b"}")
    running.send(SSE_HEAD + chunk(b"data: 2\n\n") + LAST_CHUNK)
    assert users[1].until(LAST_CHUNK)
    assert one.process.wait(timeout=PATIENCE) == 0
    assert one.report()["requests"]["completed"] == 2


class Tally:
    """An engine that counts how many requests it has at once."""

    def __init__(self, engine, seed):
        self.engine, self.random = engine, random.Random(seed)
        self.now = self.most = self.served = 0
        self.lock = threading.Lock()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                wire = self.engine.connection()
            except Exception:  # noqa: BLE001  no more of them
                return
            threading.Thread(target=self._connection, args=(wire,), daemon=True).start()

    def _connection(self, wire):
        while True:
            try:
                wire.until(b"\r\n\r\n")
                wire.until(b"}")
            except (AssertionError, OSError):
                return
            with self.lock:
                self.now += 1
                self.most = max(self.most, self.now)
            for _ in range(self.random.randrange(200)):
                pass
            with self.lock:
                self.now -= 1
                self.served += 1
            wire.send(ok(b"done"))


@pytest.mark.parametrize("seed", range(3))
def test_a_storm_of_clients_never_gets_more_than_n_to_the_engine(proxy, engine, seed):
    one = proxy(admission=limits(3, 5))
    tally = Tally(engine, seed)
    counts = {"answered": 0, "refused": 0, "left": 0}
    lock = threading.Lock()

    def storm(number):
        chance = random.Random(seed * 100 + number)
        for _ in range(30):
            user = ask(one)
            if chance.random() < 0.2:
                user.close()
                kind = "left"
            else:
                answer = user.until(b"\r\n\r\n")
                kind = "answered" if answer.startswith(b"HTTP/1.1 200") else "refused"
                assert kind == "answered" or b"X-Lastcall-Limit: 8" in answer
                user.close()
            with lock:
                counts[kind] += 1

    clients = [threading.Thread(target=storm, args=(n,)) for n in range(16)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join(4 * PATIENCE)
    assert sum(counts.values()) == 16 * 30 and counts["answered"] > 0
    assert tally.most <= 3
    assert tally.served >= counts["answered"]
    wait_until(lambda: one.status()["in_flight"]["requests"] == 0, "nothing is left")
    assert waiting(one) == 0 and metric(one, "dynamo_engine_request") == 0
