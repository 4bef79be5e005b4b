"""Registries at the end of a stop, and limits that arrive while one is under way."""

import os
import signal

from serve_peer import PATIENCE
from serve_world import SLEEPER


def test_a_fatal_stop_waits_for_a_removal_that_it_began(world):
    one = world(discovery=[{"ipc": {}}])
    process = one.run(*SLEEPER)
    peer = one.peer()
    peer.ask("endpoint.register", endpoint="generate")
    one.wait_for_phase("serving")
    os.kill(one.status()["engine"]["pid"], signal.SIGKILL)
    peer.expect("deregister")
    peer.expect("phase", phase="cleaning_up")
    peer.send("deregistered")
    assert process.wait(timeout=PATIENCE) == 1
    assert one.report()["registries"] == [{"name": "ipc", "state": "confirmed"}]


def test_a_nearer_limit_holds_for_a_stop_under_way(world):
    one = world(shutdown={"grace_period": "60s"})
    process = one.run(*SLEEPER)
    peer = one.peer()
    peer.ask("request.begin", id="r1", endpoint="generate")
    one.wait_for_phase("serving")
    process.send_signal(signal.SIGTERM)
    peer.expect("phase", phase="draining")
    operator = one.operator()
    assert operator.ask("drain", exit=True, timeout_ms=100)["changed"] is True
    assert peer.expect("cancel")["reason"] == "grace_timeout"
    peer.ask("request.end", id="r1", outcome="cancelled")
    assert process.wait(timeout=PATIENCE) == 0
    assert one.report()["requests"]["migrated"] == 1


def test_a_limit_that_the_stop_has_anyway_changes_nothing(world):
    one = world(shutdown={"grace_period": "20s"})
    process = one.run(*SLEEPER)
    peer = one.peer()
    peer.ask("request.begin", id="r1", endpoint="generate")
    one.wait_for_phase("serving")
    process.send_signal(signal.SIGTERM)
    peer.expect("phase", phase="draining")
    operator = one.operator()
    for _ in range(2):
        assert operator.ask("drain", exit=True, timeout_ms=100000)["changed"] is False
    assert operator.ask("drain", exit=True, timeout_ms=100)["changed"] is True
    assert peer.expect("cancel")["reason"] == "grace_timeout"
    peer.ask("request.end", id="r1", outcome="cancelled")
    assert process.wait(timeout=PATIENCE) == 0


def test_a_drain_that_has_ended_takes_no_limit(world):
    one = world()
    one.run(*SLEEPER)
    one.peer().ask("endpoint.register", endpoint="generate")
    one.wait_for_phase("serving")
    operator = one.operator()
    operator.ask("drain")
    one.wait_for_phase("drained")
    assert operator.ask("drain", timeout_ms=1)["changed"] is False
