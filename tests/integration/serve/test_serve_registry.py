"""Registries at the end of a stop, and limits that arrive while one is under way."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest
from in_time import unless_late
from serve_peer import PATIENCE, wait_until
from serve_world import SLEEPER

# Time enough that an answer which never comes shows as missing.
PATIENT = {"grace_period": "20s", "deregister_timeout": "6s"}
CONFIRMED = [{"name": "self", "state": "confirmed"}]


def self_registering(world):
    one = world(discovery=[{"name": "self", "ipc": {}}], shutdown=PATIENT,
                ipc={"reconnect_window": "30s"})  # fmt: skip
    one.process = one.run(*SLEEPER)
    return one


def state_of_registry(one):
    return one.status()["registries"][0]["state"]


def test_a_fatal_stop_waits_for_a_removal_that_it_began(world):
    def stopped():
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
        return one

    one = unless_late(stopped, lambda one: one.registries_were_late())
    assert one.report()["registries"] == [{"name": "ipc", "state": "confirmed"}]


def stopped_with_a_request(one):
    process = one.run(*SLEEPER)
    peer = one.peer()
    peer.ask("request.begin", id="r1", endpoint="generate")
    one.wait_for_phase("serving")
    process.send_signal(signal.SIGTERM)
    peer.expect("phase", phase="draining")
    return process, peer


def cut_by_a_limit(operator, process, peer):
    assert operator.ask("drain", exit=True, timeout_ms=100)["changed"] is True
    assert peer.expect("cancel")["reason"] == "grace_timeout"
    peer.ask("request.end", id="r1", outcome="cancelled")
    assert process.wait(timeout=PATIENCE) == 0


def test_a_nearer_limit_holds_for_a_stop_under_way(world):
    one = world(shutdown={"grace_period": "60s"})
    process, peer = stopped_with_a_request(one)
    operator = one.operator()
    cut_by_a_limit(operator, process, peer)
    assert one.report()["requests"]["migrated"] == 1


@pytest.mark.parametrize("first", ["closes", "connects"])
def test_an_sdk_that_reconnects_while_deregistering_owes_one_answer(world, first):
    one = self_registering(world)
    peer = one.peer(name="go-0")
    peer.ask("request.begin", id="r", endpoint="generate")
    one.wait_for_phase("serving")
    one.process.send_signal(signal.SIGTERM)
    peer.expect("deregister")
    if first == "closes":
        peer.close()
    again = one.peer(name="go-0", live=int(first == "closes"))
    again.expect("deregister")
    peer.close()
    again.send("deregistered")
    wait_until(lambda: state_of_registry(one) != "deregistering", "the registry is settled")
    assert state_of_registry(one) == "deregistered"
    again.ask("request.begin", id="r", endpoint="generate", resumed=True)
    again.ask("request.end", id="r", outcome="completed")
    again.expect("cleanup")
    again.send("cleanup.done")
    assert one.process.wait(timeout=PATIENCE) == 0
    assert one.report()["registries"] == CONFIRMED


def test_another_process_of_the_same_name_does_not_answer_for_one_that_is_away(world):
    one = self_registering(world)
    peer = one.peer(name="go-0")
    peer.ask("endpoint.register", endpoint="generate")
    one.wait_for_phase("serving")
    one.process.send_signal(signal.SIGTERM)
    peer.expect("deregister")
    other = self_answering(one, "go-0", stays=True)
    peer.close()
    assert other.stdout.readline() == b"answered\n"
    wait_until(lambda: [p["connected"] for p in one.status()["peers"]].count(False), "it is away")
    assert state_of_registry(one) == "deregistering"
    one.peer(name="go-0").send("deregistered")
    wait_until(lambda: state_of_registry(one) == "deregistered", "confirmed")


def self_answering(one, name, stays):
    """A process of its own with a request in flight: it answers and stays, or ends without."""
    script = f"""
        import json, os, socket
        peer = socket.socket(socket.AF_UNIX)
        peer.connect({one.socket!r})
        for line in (dict(op="hello", version=1, role="engine", name={name!r}),
                     dict(op="request.begin", id="own", endpoint="generate")):
            peer.sendall(json.dumps(line).encode() + b"\\n")
        for line in peer.makefile():
            if json.loads(line)["op"] == "deregister" and {stays!r}:
                peer.sendall(b'{{"op":"deregistered","seq":7}}\\n')
            elif json.loads(line)["op"] == "deregister":
                os._exit(0)
            elif json.loads(line).get("seq") == 7:
                print("answered", flush=True)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)],
                               stdout=subprocess.PIPE)  # fmt: skip
    one.processes.append(process)
    return process


def test_an_sdk_whose_process_has_ended_owes_no_answer(world):
    one = self_registering(world)
    one.wait_for_phase("serving")
    self_answering(one, "go-0", stays=False)
    wait_until(lambda: one.status()["in_flight"]["requests"] == 1, "its request runs")
    one.process.send_signal(signal.SIGTERM)
    one.wait_for_log("an engine peer's process is gone")
    reported = [
        record["msg"]
        for record in one.records()
        if record.get("state") == "deregistered" or "process is gone" in record["msg"]
    ]
    assert reported == ["registry", "an engine peer's process is gone"]  # not after its requests


@pytest.mark.parametrize("answers_first", [True, False])
def test_a_supervisor_killed_while_draining_asks_again_to_deregister(world, answers_first):
    one = self_registering(world)
    peer = one.peer(name="go-0")
    peer.ask("request.begin", id="r", endpoint="generate")
    one.wait_for_phase("serving")
    one.process.send_signal(signal.SIGTERM)
    peer.expect("deregister")
    peer.send("deregistered")
    peer.expect("phase", phase="draining")
    os.kill(one.supervisor_pid(), signal.SIGKILL)
    peer.closed()
    one.wait_for_log('"shim connected"', count=2)
    peer = one.peer(name="go-0", live=1)
    peer.expect("deregister")
    if answers_first:
        peer.ask("deregistered")
    peer.ask("request.begin", id="r", endpoint="generate", resumed=True)
    if not answers_first:
        peer.ask("deregistered")
    assert state_of_registry(one) == "deregistered"
    peer.ask("request.end", id="r", outcome="completed")
    peer.expect("cleanup")
    peer.send("cleanup.done")
    assert one.process.wait(timeout=PATIENCE) == 0
    assert one.report()["registries"] == CONFIRMED


def test_a_limit_that_the_stop_has_anyway_changes_nothing(world):
    one = world(shutdown={"grace_period": "20s"})
    process, peer = stopped_with_a_request(one)
    operator = one.operator()
    for _ in range(2):
        assert operator.ask("drain", exit=True, timeout_ms=100000)["changed"] is False
    cut_by_a_limit(operator, process, peer)


def test_a_drain_that_has_ended_takes_no_limit(world):
    one = world()
    one.run(*SLEEPER)
    one.peer().ask("endpoint.register", endpoint="generate")
    one.wait_for_phase("serving")
    operator = one.operator()
    operator.ask("drain")
    one.wait_for_phase("drained")
    assert operator.ask("drain", timeout_ms=1)["changed"] is False


def test_a_registry_that_nobody_has_configured_is_not_one_that_failed(world):
    """Peers of an earlier life might have left one of their own; they died with the engine."""
    one = world()
    process = one.run(*SLEEPER)
    one.peer().ask("request.begin", id="r", endpoint="generate")
    one.wait_for_phase("serving")
    engine = one.status()["engine"]["pid"]
    os.kill(one.supervisor_pid(), signal.SIGKILL)
    os.kill(engine, signal.SIGKILL)
    assert process.wait(timeout=PATIENCE) == 1
    assert one.report()["cleanup"]["registries"]["outcome"] == "skipped"
    assert "registries" not in one.report()
