"""Requests that begin alike, or name one session, go to one worker while it has room."""

import json

import pytest
from raw_engine import ok, post
from serve_peer import wait_until

TURNS = [f"turn {number}" for number in range(6)]


def body(system, turn):
    messages = [{"role": "system", "content": system * 600}, {"role": "user", "content": turn}]
    return json.dumps({"model": "m", "messages": messages}).encode()


def asked(engines):
    wait_until(lambda: any(each.has_arrived() for each in engines), "a worker is asked")
    number = 0 if engines[0].has_arrived() else 1
    return number, engines[number].request()[0]


def serve(user, engines):
    number, wire = asked(engines)
    wire.send(ok(b"hello", "Connection: close"))
    user.until(b"hello")
    return number


@pytest.mark.parametrize("affinity", ["prefix", "header"])
def test_requests_that_belong_together_go_to_one_worker(router, engines, affinity):
    one = router(
        *(each.address for each in engines),
        choosing={"affinity": affinity, "affinity_header": "X-Session"},
    )
    user, homes = one.client(), {}
    for system in "abcdefgh":
        for turn in TURNS:
            line = f"X-Session: {system}"
            prompt = body(system if affinity == "prefix" else turn, turn)
            user.send(post("/v1/chat/completions", prompt, line))
            homes.setdefault(system, set()).add(serve(user, engines))
    assert all(len(each) == 1 for each in homes.values())
    assert {number for each in homes.values() for number in each} == {0, 1}


def test_one_that_is_full_passes_its_key_on(router, engines):
    one = router(*(each.address for each in engines), choosing={"affinity": "prefix"})
    users = [one.client() for _ in range(4)]
    numbers = []
    for user in users:
        user.send(post("/v1/chat/completions", body("a", "x")))
        numbers.append(asked(engines)[0])
    # No worker has more than 1.25 times 2 of the 4 requests, rounded up.
    assert sorted(numbers.count(number) for number in (0, 1)) in ([1, 3], [2, 2])
