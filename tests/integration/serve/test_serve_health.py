"""Verdicts on engines that lie: slow is not dead, and an answer is not a proof of life."""

import contextlib
import os
import signal
import sys

import pytest
from ports import free_port
from serve_peer import PATIENCE, holds_for, wait_until
from serve_stream import Stream, call
from serve_world import SLEEPER, is_stopped

# Slow by its own clock only where a test makes it so: a busy machine is not a slow engine.
QUICK = {"unresponsive_after": "2s", "checks": [{"name": "engine", "timeout": "200ms"}]}
PATIENT = {"unresponsive_after": "120s", "checks": [{"name": "engine", "timeout": "5s"}]}


def loaded(one, tokens=100_000):
    """A stream in flight that the engine knows of."""
    stream = Stream(one.engine_port, tokens)
    wait_until(lambda: call(one.engine_port, "GET", "/sim/state")["running"] == 1, "the stream")
    return stream


def control(one, **wanted):
    return call(one.engine_port, "POST", "/sim/control", wanted)


def slow_from_now_on(one):
    control(one, slow_health=3600)
    wait_until(lambda: one.status()["health"]["verdict"] == "busy", "busy")


@pytest.fixture
def judged(world):
    """An engine whose time constants are the test's."""

    def start(*flags, kind="vllm", base=PATIENT, **health):
        one = world(health={"unresponsive_after": base["unresponsive_after"], **health})
        one.run_engine("--rate", "20", *flags, kind=kind, checks=base["checks"])
        return one

    return start


def alive_for(one, seconds):
    holds_for(lambda: one.process.poll() is None, seconds)


def fatal(one, cause):
    assert one.process.wait(timeout=PATIENCE) == 1
    report = one.report()
    assert report["cause"] == cause
    assert f'"verdict":"{cause}"' in one.log()
    return report["detail"]


@pytest.mark.parametrize("flags", [(), ("--sdk",)])
def test_an_overloaded_engine_whose_tokens_move_is_not_killed(judged, flags):
    one = judged(*flags, base=QUICK)
    loaded(one)
    slow_from_now_on(one)
    alive_for(one, 5)
    assert one.status()["health"]["verdict"] == "busy"
    control(one, hang="tokens")
    assert "no byte of any request moved" in fatal(one, "dead")


def test_an_engine_that_does_not_answer_and_has_no_work_is_dead(judged):
    one = judged(base=QUICK)
    slow_from_now_on(one)
    assert "has not passed for 2 s" in fatal(one, "dead")


@pytest.mark.parametrize("flags", [(), ("--sdk",)])
def test_an_engine_that_answers_and_moves_nothing_is_wedged(judged, flags):
    one = judged("--lie", *flags, stalled_after="2s")
    loaded(one)
    alive_for(one, 4)  # while tokens move
    control(one, hang="tokens")
    assert "no progress for 2 s" in fatal(one, "wedged")


def test_wedged_is_an_opt_in(judged):
    one = judged("--lie")
    loaded(one)
    control(one, hang="tokens")
    alive_for(one, 3)
    assert one.status()["health"]["verdict"] == "healthy"


def stop_engine(one):
    pid = one.status()["engine"]["pid"]
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: is_stopped(pid), "it is stopped")
    return pid


def is_ready(one):
    return one.get("/readyz")[0] == 200


def offered_in(directory):
    return {"discovery": [{"file": {"directory": str(directory)}}],
            "identity": {"advertise": "http://10.0.0.7:80"}}  # fmt: skip


def test_an_engine_that_answers_nobody_is_not_ready_until_it_answers(world, tmp_path):
    one = world(**offered_in(tmp_path))
    one.run_engine("--rate", "20", checks=[{"name": "engine"}])
    wait_until(lambda: is_ready(one) and os.listdir(tmp_path), "ready and registered")
    stream = loaded(one, tokens=20)
    pid = stop_engine(one)
    wait_until(lambda: not is_ready(one), "not ready")
    status, reason = one.get("/readyz")
    assert (status, "unresponsive: " in reason) == (503, True), reason
    wait_until(lambda: not os.listdir(tmp_path), "deregistered")
    health = one.status()["health"]
    assert health["verdict"] == "unresponsive" and health["reason"]
    assert one.get("/engine/livez")[0] == 200  # it may come back
    assert 'lastcall_engine_health{verdict="unresponsive"} 1' in one.get("/metrics")[1]
    assert "unresponsive" in one.get("/readyz?verbose")[1]
    os.kill(pid, signal.SIGCONT)
    wait_until(lambda: is_ready(one) and os.listdir(tmp_path), "ready and registered again")
    assert one.status()["health"]["verdict"] == "healthy"
    assert "[DONE]" in stream.finished()
    lines = [(r["level"], r["verdict"]) for r in one.records() if r.get("msg") == "engine health"]
    assert ("WARNING", "unresponsive") in lines and lines[-1] == ("INFO", "healthy")


def test_a_supervisor_that_starts_beside_an_unresponsive_engine_offers_it_nowhere(world, tmp_path):
    one = world(**offered_in(tmp_path))
    one.run_engine("--rate", "20", checks=[{"name": "engine"}])
    wait_until(lambda: is_ready(one), "ready")
    engine = stop_engine(one)
    wait_until(lambda: not is_ready(one) and not os.listdir(tmp_path), "not ready")
    before = one.supervisor_pid()
    os.kill(before, signal.SIGKILL)
    one.wait_for_log('"phase begun","phase":"serving"', count=2)
    assert not is_ready(one) and not os.listdir(tmp_path)
    assert one.status()["health"]["verdict"] == "unresponsive"
    os.kill(engine, signal.SIGCONT)
    wait_until(lambda: is_ready(one) and os.listdir(tmp_path), "ready and registered again")


def test_a_stop_beside_an_unresponsive_engine_is_a_stop(world):
    one = world(shutdown={"grace_period": "6s"})
    one.run_engine("--rate", "20", checks=[{"name": "engine"}])
    stop_engine(one)
    wait_until(lambda: not is_ready(one), "not ready")
    one.process.send_signal(signal.SIGTERM)
    assert one.process.wait(timeout=PATIENCE) == 0  # TERM comes with CONT
    assert one.report()["mode"] == "graceful"


def test_an_engine_that_listens_late_is_ready_soon_after(world):
    port = free_port()
    check = {"name": "port", "tcp": {"address": f"127.0.0.1:{port}"}}
    one = world(health={"checks": [check], "interval": "60s"})
    listen = ("import socket,time\ntime.sleep(0.5)\n"
              "s = socket.create_server(('127.0.0.1', %d))\ntime.sleep(99)")  # fmt: skip
    one.process = one.run(sys.executable, "-c", listen % port)
    one.wait_for_log('"phase begun","phase":"serving"')
    wait_until(lambda: is_ready(one), "ready long before the next interval")
    assert not [r for r in one.records() if r["level"] == "WARNING" and "check" in r]


def test_an_idle_engine_is_not_wedged(judged):
    one = judged(stalled_after="1s")
    alive_for(one, 3)


def test_a_counter_that_moves_at_the_end_of_requests_proves_no_stall(judged):
    one = judged(kind="sglang", stalled_after="1s")
    loaded(one)
    alive_for(one, 3)


def test_gauges_that_cannot_be_read_prove_no_stall(judged):
    one = judged("--lie", "--metrics", "error", stalled_after="1s")
    loaded(one)
    control(one, hang="tokens")
    alive_for(one, 3)


def test_a_progress_check_shows_what_moves(world):
    one = world(health={"stalled_after": "60s"})
    one.run_engine("--rate", "20", "--lie",
                   checks=[{"name": "engine"}, {"name": "moves", "progress": {}}])  # fmt: skip

    def detail():
        [_, row] = one.status()["health"]["checks"]
        return row["detail"]

    wait_until(lambda: detail() == "nothing in flight", "idle")
    loaded(one)
    control(one, hang="tokens")
    wait_until(lambda: detail().startswith("work in flight, nothing moved for"), "stalled")


def stop_supervisor(one, seconds):
    pid = one.supervisor_pid()
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: is_stopped(pid), "it is stopped")
    holds_for(lambda: is_stopped(pid), seconds)
    return pid


@pytest.mark.parametrize("flags", [(), ("--sdk",)])
def test_a_stopped_supervisor_makes_no_verdict_of_its_own_absence(judged, flags):
    one = judged("--lie", *flags, stalled_after="3s")
    loaded(one)
    os.kill(stop_supervisor(one, 6), signal.SIGCONT)
    alive_for(one, 2)
    assert one.status()["health"]["verdict"] in ("healthy", "busy")


def test_an_engine_that_was_slow_when_the_supervisor_was_stopped_gets_its_time_anew(judged):
    one = judged(base={**QUICK, "unresponsive_after": "6s"})
    slow_from_now_on(one)
    pid = stop_supervisor(one, 8)
    control(one, slow_health=0)
    os.kill(pid, signal.SIGCONT)
    wait_until(lambda: one.status()["health"]["verdict"] == "healthy", "healthy again")


def test_a_tcp_check_passes_while_connections_are_accepted(world):
    one = world()
    one.run_engine("--rate", "20",
                   checks=[{"name": "port", "tcp": {"address": "127.0.0.1:{port}"}}])  # fmt: skip
    control(one, hang="all")
    alive_for(one, 1)  # it still accepts
    os.kill(one.status()["engine"]["pid"], signal.SIGSTOP)
    alive_for(one, 1)
    os.kill(one.status()["engine"]["pid"], signal.SIGCONT)
    one.process.send_signal(signal.SIGTERM)
    assert one.process.wait(timeout=PATIENCE) == 0


def test_a_refused_tcp_check_is_definite(world):
    port = free_port()
    one = world(health={"checks": [{"name": "port", "tcp": {"address": f"127.0.0.1:{port}"}}]})
    listen = ("import signal,socket,sys,time\ns = socket.create_server(('127.0.0.1', %d))\n"
              "signal.signal(signal.SIGUSR1, lambda *_: s.close())\n"
              "while True: time.sleep(1)")  # fmt: skip
    one.process = one.run(sys.executable, "-c", listen % port)
    one.wait_for_log('"phase begun","phase":"serving"')
    os.kill(one.status()["engine"]["pid"], signal.SIGUSR1)
    assert f"connection refused by 127.0.0.1:{port}" in fatal(one, "dead")


def exec_check(one, script, **fields):
    one.config["health"]["checks"] = [
        {"name": "probe", "exec": {"command": ["/bin/sh", "-c", script]}, **fields}
    ]


def test_the_reason_of_an_exec_check_holds_what_it_wrote(world):
    one = world()
    exec_check(one, f"test ! -e {one.path('bad')} || {{ echo gpu 3 fell off the bus; exit 7; }}")
    one.process = one.run(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    open(one.path("bad"), "w").close()
    assert "exit code 7: gpu 3 fell off the bus" in fatal(one, "dead")


def test_an_exec_check_that_hangs_is_killed_with_everything_it_started(world):
    one = world(health={"unresponsive_after": "60s"})
    begun = f"echo x >>{one.path('rounds')}"
    exec_check(one, f"echo waiting; sleep 7654 & setsid sleep 7654 & {begun}; wait",
               timeout="300ms")  # fmt: skip
    one.run(*SLEEPER)

    def hangs():
        [row] = one.status()["health"]["checks"]
        return row["state"] == "timed_out" and "waiting" in row["detail"]

    one.wait_for_log("engine started")
    wait_until(hangs, "a timeout with its output")
    wait_until(lambda: rounds(one) >= 5, "rounds of which each could have left something")
    wait_until(lambda: len(sleepers(one)) <= 2, "no more than the round under way")
    assert one.status()["phase"] == "starting"


def rounds(one):
    with contextlib.suppress(FileNotFoundError), open(one.path("rounds")) as file:
        return len(file.readlines())
    return 0


def sleepers(one):
    left = []
    for pid in one.processes_left():
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if file.read().split(b"\0")[:2] == [b"sleep", b"7654"]:
                    left.append(pid)
        except OSError:
            pass
    return left


def test_an_exec_check_leaves_nothing_in_its_group(world):
    one = world()
    exec_check(one, f"sleep 7654 & echo x >>{one.path('rounds')}")
    one.run(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    wait_until(lambda: rounds(one) >= 8, "rounds of which each could have left something")
    wait_until(lambda: len(sleepers(one)) <= 1, "no more than the round under way")
