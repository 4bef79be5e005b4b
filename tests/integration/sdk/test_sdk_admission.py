"""The Python SDK asks the real supervisor for admission."""

import concurrent.futures

import lastcall
from serve_peer import PATIENCE, wait_until
from serve_world import SLEEPER


def test_the_more_urgent_of_two_waiters_goes_first(world):
    one = world(admission={"engine_request_limit": 1, "queue_limit": 2, "priorities": True})
    one.process = one.run(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    order = []
    with lastcall.Client("engine", socket=one.socket) as client, \
            concurrent.futures.ThreadPoolExecutor(2) as waiters:  # fmt: skip
        wait_until(lambda: client.connected, "the connection")
        running = client.begin("running", admit=True)

        def ask(name, priority):
            with client.request(name, admit=True, priority=priority):
                order.append(name)

        asked = []
        for count, (name, priority) in enumerate([("background", 7), ("urgent", 0)], 1):
            asked.append(waiters.submit(ask, name, priority))
            wait_until(lambda: one.status()["admission"]["waiting"] == count, "it waits")
        running.end()
        for each in asked:
            each.result(PATIENCE)
    assert order == ["urgent", "background"]


def test_parts_of_an_admitted_request_count_with_it_and_wait_for_no_place(world):
    one = world(admission={"engine_request_limit": 1, "queue_limit": 1})
    one.process = one.run(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    with concurrent.futures.ThreadPoolExecutor(1) as callers, \
            lastcall.Client("engine", socket=one.socket) as client:  # fmt: skip

        @client.endpoint("tokenize", admit=True)
        def tokenize():
            return one.status()

        @client.endpoint("generate", admit=True)
        def generate():
            return tokenize()

        wait_until(lambda: client.connected, "the connection")
        status = callers.submit(generate).result(PATIENCE)
        assert (status["in_flight"]["requests"], status["admission"]["running"]) == (1, 1)
