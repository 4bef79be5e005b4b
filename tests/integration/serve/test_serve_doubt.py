"""An SDK holds an answer back that may show the engine's death until a check has decided."""

import time

import pytest
from serve_peer import PATIENCE
from serve_world import SLEEPER

# A check that runs by its interval alone would come too late for anybody here.
SELDOM = {"interval": "1h", "checks": [{"name": "sdk", "ipc": {}, "timeout": "5s"}]}


def now_ms():
    return int(time.monotonic() * 1000)


def answer(peers, status):
    """To the check that has come to each of them."""
    for peer in peers:
        peer.expect("health.check")
        peer.send("health", status=status)


@pytest.fixture
def serving(world):
    """The supervisor, its process, one peer that doubts and one that does not."""
    one = world(health=SELDOM)
    run = one.run(*SLEEPER)
    peers = one.peer(name="doubts"), one.peer(name="does not")
    one.wait_for_log("check awaited")  # the first round may have been before either of them
    if one.status()["phase"] == "starting":
        answer(peers, "healthy")
    one.wait_for_phase("serving")
    return one, run, peers


def test_a_doubt_is_over_when_every_check_has_passed_that_began_behind_it(serving):
    _, _, (doubts, other) = serving
    began = now_ms()
    doubts.ask("health.doubt")
    answer((doubts, other), "healthy")
    assert doubts.expect("health.cleared")["at_ms"] >= began
    doubts.ask("endpoint.register", endpoint="e")
    other.ask("endpoint.register", endpoint="e")
    assert not [m for m in doubts.lines + other.lines if m["op"] == "health.cleared"]


def test_a_doubt_in_a_dead_engine_ends_with_its_death(serving):
    one, run, (doubts, other) = serving
    other.ask("request.begin", id="r")
    doubts.send("health.doubt")
    while one.status()["phase"] == "serving" and run.poll() is None:
        answer((doubts, other), "dead")
    other.expect("cancel", ids=["r"], reason="engine_dead")
    assert run.wait(timeout=PATIENCE) == 1
    assert not [m for m in doubts.lines if m["op"] == "health.cleared"]


def test_a_doubt_that_no_check_can_settle_is_not_waited_for(world):
    one = world(health=SELDOM)
    one.run(*SLEEPER)
    peer = one.peer()
    began = now_ms()
    peer.ask("health.doubt")  # no check shows anything about an engine that is starting
    assert peer.expect("health.cleared")["at_ms"] >= began


def test_a_peer_that_is_no_engine_has_no_doubt(world):
    one = world(health=SELDOM)
    one.run(*SLEEPER)
    with pytest.raises(Exception, match="not_allowed"):
        one.operator().ask("health.doubt")
