"""The ids that clients choose come again: each decision is about one request, whatever its id."""

import os
import re
import signal
import socket
from contextlib import contextmanager

from raw_engine import client, metric, ok, post
from serve_peer import wait_until
from serve_world import is_stopped

LIMITS = {"engine_request_limit": 1, "queue_limit": 5}
THREADS = (1, 3)


@contextmanager
def standing_still(one):
    """What happens meanwhile is there for the supervisor at once, in its order."""
    pid = one.supervisor_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        wait_until(lambda: is_stopped(pid), "it stalls")
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def named(name):
    return post("/v1/chat/completions", b'{"model":"m"}', f"X-Request-Id: {name}")


def asked(engine):
    """The next request of the engine, on a connection of its own: (wire, its id).

    A connection that was broken off before its request is none.
    """
    wire = engine.connection()
    while not wire.socket.recv(1, socket.MSG_PEEK):
        wire = engine.connection()
    head = wire.until(b"\r\n\r\n")
    wire.until(b"}")
    return wire, head.partition(b"X-Request-Id: ")[2].partition(b"\r\n")[0].decode()


def wait_for_waiters(one, count):
    wait_until(lambda: metric(one, "dynamo_request_queue") == count, f"{count} wait")


def test_a_place_granted_to_a_client_that_left_is_not_anothers_of_the_same_id(proxy, engine):
    one = proxy(admission=LIMITS)
    first, again = client(one), client(one)
    first.send(named("first"))
    running, _ = asked(engine)
    users = {}
    for count, name in enumerate(["same", "other"], start=1):
        users[name] = client(one)
        users[name].send(named(name))
        wait_for_waiters(one, count)
    with standing_still(one):
        running.send(ok(b"done", "Connection: close"))  # a place for `same`,
        running.close()
        users["same"].close()  # which leaves, so that it is the place of `other`
        again.send(named("same"))
    wire, name = asked(engine)
    if name == "same":  # a thread may get its place before it sees that its client has left
        assert wire.ended()
        wire, name = asked(engine)
    assert name == "other", "the place was given once"
    wait_for_waiters(one, 1)
    assert one.status()["admission"]["running"] == 1
    wire.send(ok(b"done", "Connection: close"))
    wire.close()
    wire, name = asked(engine)
    assert name.startswith("same")
    wire.send(ok(b"done"))
    assert again.until(b"done").startswith(b"HTTP/1.1 200 ")


def test_an_id_that_every_client_sends_costs_the_last_as_little_as_the_first(proxy, engine):
    """Those that are live are not counted through: after a few the suffix is drawn."""
    one = proxy()
    users, seen = [], []
    for _ in range(30):
        users.append(client(one))
        users[-1].send(named("same"))
        seen.append(asked(engine)[1])
    assert seen[:3] == ["same", "same-2", "same-3"]
    assert len(set(seen)) == 30 and all(each.startswith("same") for each in seen)
    assert len(seen[-1]) == len("same-") + 16


def test_an_id_that_a_client_took_is_no_part_of_a_request_that_came_another_way(proxy, engine):
    """An id that a client of the ingress chooses ends no other client's request, then or later."""
    one = proxy()
    user = client(one)
    user.send(post("/v1/chat/completions", b"{}", "X-Request-Id: r", "X-Lastcall-Way: 1"))
    wire, head = engine.request()
    [way] = re.findall(rb"X-Lastcall-Way: ([0-9a-f]{1,16})\r\n", head)
    assert way != b"1"
    other, part = one.peer(name="other"), one.peer(name="part")
    other.ask("request.begin", id="r", way="0")
    part.ask("request.begin", id="r", way=way.decode())
    user.close()
    part.expect("cancel", ids=["r"])
    part.ask("request.end", id="r", outcome="cancelled")
    other.ask("request.end", id="r", outcome="completed")
    other.ask("request.begin", id="r", way="0")  # again, a moment later
    other.ask("request.end", id="r", outcome="completed")
    assert not [line for line in other.lines if line["op"] == "cancel"]
    wire.close()
