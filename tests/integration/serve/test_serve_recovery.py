"""A supervisor that dies or hangs: nothing is lost, the deadline stays."""

import fcntl
import json
import os
import signal
import socket
import time
from pathlib import Path

import pytest
from serve_peer import PATIENCE, wait_until
from serve_usage import children
from serve_world import SLEEPER


def ends_with(process, code):
    assert process.wait(timeout=PATIENCE) == code


def serving(one, count=1):
    one.wait_for_log('"phase begun","phase":"serving"', count)


def kill_supervisor(one):
    """And wait for the next life, which the shim starts."""
    first = one.supervisor_pid()
    os.kill(first, signal.SIGKILL)
    return wait_until(
        lambda: one.supervisor_pid() not in (0, first) and one.supervisor_pid(), "the next life"
    )


def reconnect(one, *requests):
    peer = one.peer(live=len(requests))
    for request in requests:
        peer.ask("request.begin", id=request, endpoint="generate", resumed=True)
    return peer


def test_a_supervisor_killed_while_serving_comes_back_and_serves(world):
    one = world()
    run = one.run(*SLEEPER)
    peer = one.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    serving(one)
    engine = one.status()["engine"]["pid"]
    kill_supervisor(one)
    peer = reconnect(one, "r")
    one.wait_for_phase("serving")
    status = one.status()
    assert status["engine"]["pid"] == engine
    assert status["in_flight"]["requests"] == 1
    run.send_signal(signal.SIGTERM)
    peer.expect("phase", phase="draining")
    peer.ask("request.end", id="r", outcome="completed")
    ends_with(run, 0)
    assert one.report()["requests"]["lost"] == 0


def test_a_supervisor_comes_back_to_its_shim_though_the_file_names_another_socket(world):
    """The shim of `run` knows only the socket that `run` was started with."""
    one = world()
    run = one.run(*SLEEPER)
    serving(one)
    one.config["ipc"]["socket"] = one.path("e/other.sock")
    one.write_config()
    kill_supervisor(one)
    serving(one, 2)
    assert one.status()["sockets"]["engine"] == one.socket
    assert not os.path.exists(one.path("e/other.sock"))
    [refused] = one.operator().ask("reload")["refused"]
    assert refused["key"] == "ipc.socket" and "e/other.sock" in refused["after"]
    one.operator().ask("drain", exit=True)
    ends_with(run, 0)


def test_a_supervisor_killed_while_deregistering_keeps_phase_and_deadline(world):
    one = world(shutdown={"late_accept": "1500ms", "deregister_timeout": "1s"})
    run = one.run(*SLEEPER)
    one.peer().ask("request.begin", id="r", endpoint="generate")
    serving(one)
    run.send_signal(signal.SIGTERM)
    one.wait_for_phase("deregistering")
    before = one.status()["deadline_at_ms"]
    kill_supervisor(one)
    peer = reconnect(one, "r")
    wait_until(lambda: one.status()["phase"] in ("deregistering", "draining"), "the same stop")
    assert one.status()["deadline_at_ms"] == before
    peer.expect("phase", phase="draining")
    peer.ask("request.end", id="r", outcome="completed")
    ends_with(run, 0)


def test_a_supervisor_killed_while_draining_keeps_deadline_and_requests(world):
    one = world()
    run = one.run(*SLEEPER)
    peer = one.peer()
    for request in ("a", "b"):
        peer.ask("request.begin", id=request, endpoint="generate")
    serving(one)
    run.send_signal(signal.SIGTERM)
    peer.expect("phase", phase="draining")
    peer.ask("request.end", id="a", outcome="completed")
    before = one.status()["deadline_at_ms"]
    kill_supervisor(one)
    peer = reconnect(one, "b")
    one.wait_for_phase("draining")
    assert one.status()["deadline_at_ms"] == before
    assert run.poll() is None
    peer.ask("request.end", id="b", outcome="completed")
    ends_with(run, 0)
    assert one.report()["requests"]["lost"] == 0
    assert one.report()["phases"]["draining"]["outcome"] == "completed"


def test_requests_of_peers_that_did_not_come_back_are_unknown_and_not_none(world):
    one = world()
    run = one.run(*SLEEPER)
    gone, back = one.peer(name="gone"), one.peer(name="back")
    begin = {"op": "request.begin", "endpoint": "generate"}
    gone.send_together(*({**begin, "id": str(number)} for number in range(1000)))
    back.ask("request.begin", id="r", endpoint="generate")
    wait_until(lambda: one.status()["in_flight"]["requests"] == 1001, "all of them run")
    serving(one)
    run.send_signal(signal.SIGTERM)
    back.expect("phase", phase="draining")
    kill_supervisor(one)
    peer = reconnect(one, "r")
    peer.ask("request.end", id="r", outcome="completed")
    ends_with(run, 0)
    report = one.report()
    assert (report["in_flight"], report["in_flight_at_phase"]) == ("unknown", 1001)
    assert (report["requests"]["completed"], report["requests"]["lost"]) == (1, 0)
    assert report["phases"]["draining"]["outcome"] == "timed_out"


def test_requests_of_peers_that_came_back_late_are_known_again(world):
    one = world()
    run = one.run(*SLEEPER)
    peer = one.peer()
    peer.ask("endpoint.register", endpoint="generate")
    one.peer().ask("request.begin", id="r", endpoint="generate")
    serving(one)
    run.send_signal(signal.SIGTERM)
    peer.expect("phase", phase="draining")
    kill_supervisor(one)
    peer = reconnect(one, "r")
    one.wait_for_phase("draining")
    wait_until(lambda: one.status()["phase_for_ms"] > 2500, "no peer is awaited any more")
    reconnect(one)
    peer.ask("request.end", id="r", outcome="completed")
    ends_with(run, 0)
    report = one.report()
    assert report["in_flight"] == "sdk" and "in_flight_at_phase" not in report


@pytest.mark.parametrize("reason", ["migrate", "grace_timeout"])
def test_requests_that_a_drain_cancelled_are_cancelled_again_by_the_next_life(world, reason):
    one = world(shutdown={"grace_period": "60s", "cancel_settle": "10s"})
    one.run(*SLEEPER)
    peer = one.peer()
    graceful = {"endpoint": "e", "graceful_shutdown": reason == "grace_timeout"}
    peer.ask("endpoint.register", **graceful)
    peer.ask("request.begin", id="r", endpoint="e")
    serving(one)
    one.operator().ask("drain", exit=True, timeout_ms=100 if reason == "grace_timeout" else 50000)
    assert peer.expect("cancel")["reason"] == reason
    kill_supervisor(one)
    peer = one.peer(live=1)
    peer.ask("endpoint.register", **graceful)
    peer.ask("request.begin", id="r", endpoint="e", resumed=True)
    assert peer.expect("cancel")["reason"] == reason


def test_the_age_of_a_request_survives_a_supervisor(world):
    one = world()
    one.run(*SLEEPER)
    peer = one.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    serving(one)
    kill_supervisor(one)
    peer = one.peer(live=1)
    began = time.monotonic() * 1000 - 60_000
    peer.ask("request.begin", id="r", endpoint="generate", resumed=True, began_at_ms=int(began))
    peer.ask("request.begin", id="part", endpoint="generate", parent="r")
    rows = {each["id"]: each for each in one.operator().ask("requests")["requests"]}
    assert rows["r"]["age_ms"] >= 60_000 > rows["part"]["age_ms"]
    assert one.status()["in_flight"]["oldest_ms"] >= 60_000
    assert rows["part"]["parent"] == "r" and "parent" not in rows["r"]


def test_cancels_of_an_operator_are_forgotten_with_the_supervisor(world):
    one = world()
    one.run(*SLEEPER)
    peer = one.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    serving(one)
    one.operator().ask("cancel", ids=["r"])
    assert peer.expect("cancel")["reason"] == "operator"
    kill_supervisor(one)
    reconnect(one, "r")
    [request] = one.operator().ask("requests")["requests"]
    assert request["state"] == "live"


def test_a_supervisor_killed_while_cleaning_up_finishes(world):
    one = world()
    hook = f"echo x >> {one.path('hooks')}; exec sleep 0.7"
    one.config["cleanup"] = {"hooks": [{"name": "slow", "command": ["/bin/sh", "-c", hook]}]}
    run = one.run(*SLEEPER)
    serving(one)
    run.send_signal(signal.SIGTERM)
    wait_until(lambda: os.path.exists(one.path("hooks")), "the hook runs")
    kill_supervisor(one)
    ends_with(run, 0)
    wait_until(lambda: not one.processes_left(), "no process is left")


def test_a_drain_that_was_finished_is_still_finished_after_a_restart(world):
    one = world()
    run = one.run(*SLEEPER)
    peer = one.peer()
    peer.ask("endpoint.register", endpoint="generate")
    serving(one)
    assert one.operator().ask("drain")["changed"] is True
    one.wait_for_phase("drained")
    kill_supervisor(one)
    reconnect(one)
    one.wait_for_phase("drained")
    assert one.operator().ask("resume") == {"changed": True, "phase": "serving"}
    run.send_signal(signal.SIGTERM)
    ends_with(run, 0)


@pytest.mark.parametrize("phase", ["serving", "draining"])
def test_a_supervisor_that_hung_for_a_while_goes_on(world, phase):
    one = world()
    run = one.run(*SLEEPER)
    peer = one.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    serving(one)
    if phase == "draining":
        run.send_signal(signal.SIGTERM)
        peer.expect("phase", phase="draining")
    supervisor = one.supervisor_pid()
    os.kill(supervisor, signal.SIGSTOP)
    wait_until(lambda: True, pause=1.5)
    os.kill(supervisor, signal.SIGCONT)
    if phase == "serving":
        run.send_signal(signal.SIGTERM)
        peer.expect("phase", phase="draining")
    peer.ask("request.end", id="r", outcome="completed")
    ends_with(run, 0)
    assert one.report()["requests"]["completed"] == 1


def test_a_kill_that_a_hung_supervisor_missed_is_137(world):
    """It goes on between the shim's KILL and the deadline, and missed the end of the drain."""
    one = world(shutdown={"grace_period": "6s", "cleanup_reserve": "4s"})
    run = one.run("sh", "-c", "trap '' TERM; exec sleep 3600")
    peer = one.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    serving(one)
    run.send_signal(signal.SIGTERM)
    peer.expect("phase", phase="draining")
    supervisor = one.supervisor_pid()
    os.kill(supervisor, signal.SIGSTOP)
    one.wait_for_log("the command ended with ")
    os.kill(supervisor, signal.SIGCONT)
    ends_with(run, 137)


def test_a_137_that_the_shim_corrects_is_corrected_in_the_supervisors_story_too(world):
    """The engine ends in time, while its shim hangs; the supervisor is notified too late."""
    one = world(
        shutdown={"grace_period": "3s", "cleanup_reserve": "1s"}, probes={"status_page": "always"}
    )
    gate, ready, message = one.path("gate"), one.path("ready"), one.path("termination")
    os.mkfifo(gate)
    open(message, "w").close()
    one.serve(LASTCALL_TERMINATION_LOG=message)
    shim = one.shim("sh", "-c", f"trap '' TERM; : >{ready}; read x <{gate}; exit 3")
    serving(one)
    wait_until(lambda: os.path.exists(ready), "the engine ignores TERM")
    shim.send_signal(signal.SIGTERM)
    one.wait_for_log('"msg":"engine signalled","signal":"TERM"')
    [engine] = children(shim.pid)
    os.kill(shim.pid, signal.SIGSTOP)
    with open(gate, "w") as opened:
        opened.write("go\n")
    wait_until(lambda: children(shim.pid)[engine] == "Z", "the engine has ended")
    one.wait_for_log('"exit_code":137')
    os.kill(shim.pid, signal.SIGCONT)
    ends_with(shim, 0)
    one.wait_for_log("drain report corrected")
    [said] = [each for each in one.records() if each["msg"] == "drain report corrected"]
    assert said["exit_code"] == 0
    # The message is written after the line of the log.
    wait_until(lambda: '"exit_code":0' in Path(message).read_text(), "the message is corrected")
    assert json.loads(one.get("/status")[1])["report"]["exit_code"] == 0


def test_side_by_side_the_supervisor_is_ready_for_the_next_engine(world):
    one = world()
    serve = one.serve()
    for life in (1, 2):
        shim = one.shim(*SLEEPER)
        serving(one, life)
        shim.send_signal(signal.SIGTERM)
        ends_with(shim, 0)
    one.wait_for_phase("starting")
    serve.send_signal(signal.SIGTERM)
    ends_with(serve, 0)
    assert len(one.reports()) >= 2


def test_side_by_side_a_stop_without_a_shim_is_remembered_in_a_file(world):
    with socket.socket() as engine:
        stop_without_a_shim(world(), engine)


def serve_beside(one, engine):
    """An engine that only a check reports."""
    engine.bind(("127.0.0.1", 0))
    engine.listen()
    address = "127.0.0.1:" + str(engine.getsockname()[1])
    one.config["health"]["checks"] = [{"name": "engine", "tcp": {"address": address}}]
    return one.serve()


def stop_without_a_shim(one, engine):
    serve = serve_beside(one, engine)
    peer = one.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    serving(one)
    record = os.path.join(os.path.dirname(one.admin_socket), "stop.json")
    assert not os.path.exists(record)
    one.operator().ask("drain", exit=True)
    peer.expect("phase", phase="draining")
    before = one.status()["deadline_at_ms"]
    assert os.path.exists(record)
    serve.kill()
    serve.wait()
    serve = one.serve()
    peer = reconnect(one, "r")
    one.wait_for_phase("draining")
    assert one.status()["deadline_at_ms"] == before
    peer.ask("request.end", id="r", outcome="completed")
    ends_with(serve, 0)
    assert not os.path.exists(record)


def test_a_neighbour_in_the_engines_directory_keeps_no_supervisor_from_its_work(world):
    one = world()
    shared = os.path.dirname(one.socket)
    os.makedirs(shared)
    for name in ("stop.json", "stop.json.new"):
        os.mkfifo(os.path.join(shared, name))
    held = os.open(shared, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        with socket.socket() as engine:
            stop_without_a_shim(one, engine)
    finally:
        os.close(held)


def test_a_drain_whose_limit_passed_while_nobody_supervised_is_still_one(world):
    one = world()
    with socket.socket() as engine:
        serve = serve_beside(one, engine)
        peer = one.peer()
        peer.ask("request.begin", id="r", endpoint="generate")
        serving(one)
        one.operator().ask("drain", exit=False, timeout_ms=500)
        peer.expect("phase", phase="draining")
        limit = time.monotonic() + 0.5
        serve.kill()
        serve.wait()
        wait_until(lambda: time.monotonic() > limit, "its limit")
        one.serve()
        reconnect(one, "r").expect("cancel", ids=["r"])
        one.wait_for_phase("draining")


def test_a_stop_record_of_another_boot_is_ignored_and_removed(world):
    one = world()
    os.makedirs(os.path.dirname(one.admin_socket))
    record = os.path.join(os.path.dirname(one.admin_socket), "stop.json")
    with open(record, "w") as file:
        file.write('{"version":1,"boot_id":"other","pod_uid":"","blob":"phase=draining"}')
    serve = one.serve()
    one.wait_for_log("lastcall serves")
    wait_until(lambda: not os.path.exists(record), "the record is removed")
    one.wait_for_log("the machine has been restarted")
    serve.send_signal(signal.SIGTERM)
    ends_with(serve, 0)


def test_a_second_shim_is_refused_as_busy_and_changes_nothing(world):
    one = world()
    one.serve()
    one.shim(*SLEEPER)
    serving(one)
    boot = one.status()["engine"]["pid"]
    second = one.shim("/bin/sleep", "3599", options=("--supervisor-timeout", "60s"))
    wait_until(lambda: True, pause=0.5)
    assert second.poll() is None
    assert one.status()["engine"]["pid"] == boot
    assert one.log().count("shim connected") == 1
