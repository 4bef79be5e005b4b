"""Engines that join registries by their own means are asked to leave them, configured or not."""

import os
import signal
import sys
import textwrap

import pytest
from serve_peer import PATIENCE, wait_until
from serve_world import SLEEPER

PATIENT = {"grace_period": "20s", "deregister_timeout": "6s"}
SDK = os.path.join(os.path.dirname(__file__), "../../../sdk/python")


def serving(world, *command, **config):
    one = world(shutdown=PATIENT, ipc={"reconnect_window": "30s"}, **config)
    one.process = one.run(*(command or SLEEPER))
    one.wait_for_phase("serving")
    return one


def rows(one):
    return [(row["name"], row["state"]) for row in one.status()["registries"]]


def finish(one, *peers):
    for peer in peers:
        peer.expect("cleanup")
        peer.send("cleanup.done")
    assert one.process.wait(timeout=PATIENCE) == 0
    return one.report()


def test_a_peer_that_sent_registered_is_asked_without_any_configuration(world):
    one = serving(world)
    quiet, peer = one.peer(name="quiet"), one.peer(name="own")
    assert rows(one) == []
    peer.ask("registered")
    assert rows(one) == [("ipc", "registered")]
    assert 'lastcall_registry_registered{registry="ipc"} 1' in one.get("/metrics")[1]
    one.process.send_signal(signal.SIGTERM)
    peer.expect("deregister")
    assert rows(one) == [("ipc", "deregistering")]
    quiet.expect("phase", phase="deregistering")
    peer.send("deregistered")
    quiet.expect("phase", phase="draining")
    report = finish(one, peer, quiet)
    assert report["registries"] == [{"name": "ipc", "state": "confirmed"}]
    assert not [line for line in quiet.lines if line["op"] == "deregister"]


def test_a_peer_that_does_not_answer_costs_the_budget_and_is_reported(world):
    one = serving(world)
    peer = one.peer(name="mute")
    peer.ask("registered")
    one.operator().ask("drain", exit=True, timeout_ms=500)
    peer.expect("deregister")
    report = finish(one, peer)
    assert [r["state"] for r in report["registries"]] == ["failed"]
    assert "not confirmed in time" in report["registries"][0]["detail"]


def test_nothing_is_reported_of_a_registry_that_nobody_uses(world):
    one = serving(world)
    peer = one.peer()
    one.process.send_signal(signal.SIGTERM)
    report = finish(one, peer)
    assert "registries" not in report
    assert report["cleanup"]["registries"]["outcome"] == "skipped"
    assert '"registry"' not in one.log()


def test_it_stands_beside_those_of_the_configuration(world):
    one = world(shutdown=PATIENT, identity={"advertise": "http://10.0.0.7:8080"})
    os.mkdir(one.path("reg"))
    one.config["discovery"] = [{"name": "ipc", "file": {"directory": one.path("reg")}}]
    one.process = one.run(*SLEEPER)
    one.wait_for_phase("serving")
    peer = one.peer()
    peer.ask("registered")
    wait_until(lambda: rows(one) == [("ipc", "registered"), ("ipc-sdk", "registered")], "both")
    one.process.send_signal(signal.SIGTERM)
    peer.expect("deregister")
    peer.send("deregistered")
    states = [(each["name"], each["state"]) for each in finish(one, peer)["registries"]]
    assert states == [("ipc", "confirmed"), ("ipc-sdk", "confirmed")]


@pytest.mark.parametrize("phase", ["deregistering", "draining"])
def test_a_peer_that_sends_registered_in_a_stop_is_asked_at_once(world, phase):
    one = serving(world)
    peer, late = one.peer(name="own"), one.peer(name="late")
    peer.ask("request.begin", id="r", endpoint="generate")
    peer.ask("registered")
    one.process.send_signal(signal.SIGTERM)
    peer.expect("deregister")
    if phase == "draining":
        peer.send("deregistered")
        peer.expect("phase", phase="draining")
    late.ask("registered")
    late.expect("deregister")
    if phase == "deregistering":
        peer.ask("deregistered")
        assert rows(one) == [("ipc", "deregistering")]  # the late one owes its answer, too
    late.send("deregistered")
    wait_until(lambda: rows(one) == [("ipc", "deregistered")], "confirmed")
    peer.ask("request.end", id="r", outcome="completed")
    finish(one, peer, late)


def test_a_supervisor_killed_meanwhile_asks_again(world):
    one = serving(world)
    peer = one.peer(name="own")
    peer.send("registered")
    peer.ask("request.begin", id="r", endpoint="generate")
    one.process.send_signal(signal.SIGTERM)
    peer.expect("deregister")
    os.kill(one.supervisor_pid(), signal.SIGKILL)
    peer.closed()
    one.wait_for_log('"shim connected"', count=2)
    peer = one.peer(name="own", live=1)
    peer.send("registered")
    peer.ask("request.begin", id="r", endpoint="generate", resumed=True)
    peer.expect("deregister")
    assert rows(one) == [("ipc", "deregistering")]
    peer.ask("deregistered")
    wait_until(lambda: rows(one) == [("ipc", "deregistered")], "confirmed")
    peer.ask("request.end", id="r", outcome="completed")
    assert finish(one, peer)["registries"] == [{"name": "ipc", "state": "confirmed"}]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_callback_of_the_python_sdk_is_enough(world, when):
    """However early or late the callback comes: before the supervisor's welcome, or after it."""
    engine = f"""
        import signal, sys, lastcall
        client = lastcall.connect()
        while {when!r} == "after" and not client.connected:
            pass
        @client.on_deregister
        def leave():
            print("left the registry", file=sys.stderr, flush=True)
        while not client.connected:
            pass
        signal.pause()
    """
    one = world(shutdown=PATIENT)
    one.process = one.run(sys.executable, "-c", textwrap.dedent(engine), PYTHONPATH=SDK)
    wait_until(lambda: rows(one) == [("ipc", "registered")], "the callback is known")
    one.wait_for_phase("serving")
    one.process.send_signal(signal.SIGTERM)
    assert one.process.wait(timeout=PATIENCE) == 0
    assert one.report()["registries"] == [{"name": "ipc", "state": "confirmed"}]
    log = one.log()
    assert log.index("left the registry") < log.index('"phase begun","phase":"draining"')
