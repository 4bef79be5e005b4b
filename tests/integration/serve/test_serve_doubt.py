"""An SDK holds an answer back that may show the engine's death until a check has decided."""

import time

import pytest
from serve_peer import PATIENCE, answer_checks_until
from serve_world import SLEEPER

# A check that runs by its interval alone would come too late for anybody here.
SELDOM = {"interval": "1h", "checks": [{"name": "sdk", "ipc": {}, "timeout": "5s"}]}


def now_ms():
    return int(time.monotonic() * 1000)


@pytest.fixture
def serving(world):
    """The supervisor, its process, one peer that doubts and one that does not."""
    one = world(health=SELDOM)
    run = one.run(*SLEEPER)
    peers = one.peer(name="doubts"), one.peer(name="does not")
    answer_checks_until(
        lambda: one.status()["phase"] == "serving", peers, "healthy", "the engine serves"
    )
    return one, run, peers


def test_a_doubt_is_over_when_every_check_has_passed_that_began_behind_it(serving):
    _, _, (doubts, other) = serving
    began = now_ms()
    doubts.ask("health.doubt")  # perhaps in the middle of a check, which clears nothing then
    answer_checks_until(
        lambda: any(line["op"] == "health.cleared" for line in doubts.lines),
        (doubts, other), "healthy", "the doubt is cleared",
    )  # fmt: skip
    assert doubts.expect("health.cleared")["at_ms"] >= began
    doubts.ask("endpoint.register", endpoint="e")
    other.ask("endpoint.register", endpoint="e")
    assert not [m for m in doubts.lines + other.lines if m["op"] == "health.cleared"]


def test_a_doubt_in_a_dead_engine_ends_with_its_death(serving):
    _, run, (doubts, other) = serving
    other.ask("request.begin", id="r")
    doubts.send("health.doubt")
    answer_checks_until(
        lambda: any(line["op"] == "cancel" for line in other.lines),
        (doubts, other), "dead", "the engine is dead",
    )  # fmt: skip
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
