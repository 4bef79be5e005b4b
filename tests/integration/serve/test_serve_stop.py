"""Stops: how they go, what they report, which code they end with."""

import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys

import pytest
from ports import free_port
from serve_peer import PATIENCE, holds_for, wait_until
from serve_stream import call
from serve_world import ENGINE_SIM, LASTCALL, SLEEPER, STUBBORN


def ends_with(process, code):
    assert process.wait(timeout=PATIENCE) == code


def stubborn(one):
    ready = one.path("ready")
    return ready, (*STUBBORN[:2], STUBBORN[2].format(ready=ready))


def serving(one):
    one.wait_for_log('"phase begun","phase":"serving"')


def test_graceful_stop_waits_for_the_requests_of_sdks(world):
    one = world()
    run = one.run(*SLEEPER)
    peer = one.peer()
    peer.ask("endpoint.register", endpoint="generate", graceful_shutdown=True)
    for i in range(3):
        peer.ask("request.begin", id=f"r{i}", endpoint="generate")
    serving(one)
    run.send_signal(signal.SIGTERM)
    peer.expect("phase", phase="draining")
    assert one.status()["in_flight"]["requests"] == 3
    for i in range(3):
        assert run.poll() is None
        peer.ask("request.end", id=f"r{i}", outcome="completed")
    peer.expect("cleanup")
    peer.send("cleanup.done")
    ends_with(run, 0)
    report = one.report()
    assert report["requests"]["completed"] == 3
    assert report["in_flight"] == "sdk"
    assert report["phases"]["draining"]["outcome"] == "completed"
    assert report["cleanup"]["sdk"]["outcome"] == "completed"
    for words in ("Active graceful endpoints: 1", "Active graceful endpoints: 0",
                  "Last endpoint completed, notifying all waiters",
                  "lastcall shutdown complete"):  # fmt: skip
        assert words in one.log()


def test_drain_that_times_out_cancels_what_is_left(world):
    # Between TERM, at the half of it, and KILL there are 2.5 s.
    one = world(shutdown={"grace_period": "7s", "cleanup_reserve": "3500ms"})
    run = one.run(*SLEEPER)
    peer = one.peer()
    peer.ask("request.begin", id="slow", endpoint="generate")
    serving(one)
    run.send_signal(signal.SIGTERM)
    peer.expect("cancel", mode="stop", reason="grace_timeout", ids=["slow"])
    peer.expect("cancel", mode="kill", reason="grace_timeout", ids=["slow"])
    peer.ask("request.end", id="slow", outcome="migrated")
    ends_with(run, 0)
    assert one.report()["phases"]["draining"]["outcome"] == "timed_out"
    assert one.report()["requests"]["migrated"] == 1


def test_endpoints_that_are_not_graceful_do_not_hold_the_drain(world):
    one = world()
    run = one.run(*SLEEPER)
    peer = one.peer()
    peer.ask("endpoint.register", endpoint="decode", graceful_shutdown=False)
    peer.ask("request.begin", id="d", endpoint="decode")
    serving(one)
    run.send_signal(signal.SIGTERM)
    peer.expect("cancel", mode="stop", reason="migrate", ids=["d"])
    peer.ask("request.end", id="d", outcome="migrated")
    ends_with(run, 0)


@pytest.mark.parametrize("code", [0, 3])
def test_an_engine_that_exits_by_itself_is_fatal(world, code):
    one = world()
    ends_with(one.run("/bin/sh", "-c", f"exit {code}"), 1)
    assert one.report()["cause"] == "engine_exited"
    assert '"level":"CRITICAL"' in one.log()


def test_propagate_passes_the_engines_code_on(world):
    one = world(engine={"on_exit": "propagate"})
    ends_with(one.run("/bin/sh", "-c", "exit 7"), 7)


def test_propagate_passes_the_engines_signal_on(world):
    one = world(engine={"on_exit": "propagate"})
    ends_with(one.run("/bin/sh", "-c", "kill -KILL $$"), 128 + signal.SIGKILL)


def test_a_crash_while_serving_cancels_requests_with_engine_dead(world):
    one = world()
    run = one.run(*SLEEPER)
    peer = one.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    serving(one)
    os.kill(one.status()["engine"]["pid"], signal.SIGKILL)
    peer.expect("cancel", mode="kill", reason="engine_dead", ids=["r"])
    ends_with(run, 1)
    assert one.report()["mode"] == "fatal"


def test_an_sdks_fatal_report_stops_with_its_traceback_in_the_log(world):
    one = world()
    run = one.run(*SLEEPER)
    peer = one.peer()
    serving(one)
    peer.send("fatal", reason="EngineDeadError", detail="Traceback:\n  boom")
    ends_with(run, 1)
    [record] = [r for r in one.records() if r["msg"] == "fatal stop"]
    assert record["level"] == "CRITICAL"
    assert "Traceback:\n  boom" in record["detail"]


def test_an_engine_that_stops_answering_its_check_is_dead(world):
    one = world(health={"unresponsive_after": "2s"})
    engine_port = free_port()
    one.config["health"]["checks"] = [
        {"name": "engine", "http": {"url": f"http://127.0.0.1:{engine_port}/health"},
         "timeout": "1s"}
    ]  # fmt: skip
    run = one.run(sys.executable, ENGINE_SIM, "--port", str(engine_port))
    serving(one)
    wait_until(lambda: one.get("/readyz")[0] == 200, "ready")
    call(engine_port, "POST", "/sim/control", {"hang": "health"})
    ends_with(run, 1)
    assert one.report()["cause"] == "dead"


def test_term_during_start_ends_at_once_with_0(world):
    one = world(health={"checks": [{"name": "never", "tcp": {"address": "127.0.0.1:1"}}]})
    run = one.run(*SLEEPER)
    one.wait_for_log("engine started")
    run.send_signal(signal.SIGTERM)
    ends_with(run, 0)
    assert one.report()["stopped_in_starting"] is True


def test_later_stop_signals_are_ignored_logged_once_and_counted(world):
    one = world(shutdown={"grace_period": "60s"})
    run = one.run(*SLEEPER)
    peer = one.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    serving(one)
    for again in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT):
        run.send_signal(again)
    wait_until(lambda: one.status()["signals_ignored"] >= 1, "ignored signals")
    deadline = one.status()["deadline_left_ms"]
    assert deadline > 40_000
    peer.ask("request.end", id="r", outcome="completed")
    ends_with(run, 0)
    assert one.log().count("signal ignored") == 1
    assert one.report()["signals_ignored"] >= 1


def test_an_engine_that_ignores_term_is_killed_and_the_code_shows_it(world):
    one = world(shutdown={"grace_period": "3s", "cleanup_reserve": "1500ms"})
    ready, command = stubborn(one)
    run = one.run(*command)
    wait_until(lambda: os.path.exists(ready), "the engine is up")
    serving(one)
    run.send_signal(signal.SIGTERM)
    ends_with(run, 137)


def test_cleanup_hooks_and_paths_are_run_and_reported(world):
    one = world()
    one.config["cleanup"] = {
        "hooks": [{"name": "flush", "command": ["/bin/sh", "-c", f"echo hi; : > {one.path('f')}"]},
                  {"name": "bad", "command": ["/bin/sh", "-c", "exit 3"]}],
        "paths": [one.path("scratch-*")],
    }  # fmt: skip
    os.makedirs(one.path("scratch-1/deep"))
    open(one.path("scratch-1/deep/file"), "w").close()
    os.symlink("/etc", one.path("scratch-2"))
    run = one.run(*SLEEPER)
    serving(one)
    run.send_signal(signal.SIGTERM)
    ends_with(run, 0)
    cleanup = one.report()["cleanup"]
    assert cleanup["hooks"]["outcome"] == "failed"
    assert "bad: exit code 3" in cleanup["hooks"]["detail"]
    assert cleanup["paths"]["outcome"] == "completed"
    assert os.path.exists(one.path("f"))
    assert not os.path.lexists(one.path("scratch-1"))
    assert not os.path.lexists(one.path("scratch-2"))
    assert os.path.exists("/etc/passwd")
    assert '"hook":"flush","line":"hi"' in one.log()


def test_a_stop_leaves_no_process_behind(world):
    one = world()
    run = one.run("/bin/sh", "-c", "setsid sleep 3600 & sleep 3600 & exec sleep 3600")
    serving(one)
    run.send_signal(signal.SIGTERM)
    ends_with(run, 0)
    wait_until(lambda: not one.processes_left(), "no process is left")
    assert not os.path.exists(one.socket)


def test_the_engines_own_termination_message_stays_beside_the_report(world):
    one = world()
    message = one.path("termination")
    open(message, "w").close()
    last_words = f"trap 'echo CUDA error: device lost >> {message}; exit 0' TERM"
    script = last_words + "; echo up; while :; do sleep 0.1; done"
    run = one.run("sh", "-c", script, LASTCALL_TERMINATION_LOG=message)
    one.wait_for_phase("serving")
    one.wait_for_log("up")
    run.send_signal(signal.SIGTERM)
    assert run.wait(timeout=PATIENCE) == 0
    with open(message) as file:
        report, *rest = file.read().splitlines()
    assert json.loads(report)["cause"] == "signal"
    assert rest == ["CUDA error: device lost"]


def test_a_reader_of_the_log_that_is_away_still_gets_the_report(world):
    one = world()
    message = one.path("termination")
    open(message, "w").close()
    ours, theirs = os.pipe()
    fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
    command = (LASTCALL, "run", "--config", one.write_config(), "--", *SLEEPER)
    environment = {**os.environ, "LASTCALL_TERMINATION_LOG": message}
    run = subprocess.Popen(command, stderr=theirs, env=environment)
    try:
        one.wait_for_phase("serving")
        os.set_blocking(ours, False)
        with contextlib.suppress(BlockingIOError):
            while os.read(ours, 65536):
                pass
        filler = os.open(f"/proc/self/fd/{theirs}", os.O_WRONLY | os.O_NONBLOCK)
        os.write(filler, b"x" * 4096)  # nothing reads: the pipe is full
        run.send_signal(signal.SIGTERM)
        wait_until(lambda: os.path.getsize(message) > 0, "the report is made")
        holds_for(lambda: run.poll() is None, 1.5)  # its reader is awaited, as there is time
        os.close(theirs)
        os.close(filler)
        os.set_blocking(ours, True)
        with open(ours, "rb") as file:
            text = file.read().decode()
        assert run.wait(timeout=PATIENCE) == 0
        assert '"msg":"drain report"' in text and "lastcall shutdown complete" in text
    finally:
        run.kill()
        run.wait()


def test_the_report_goes_into_the_termination_log_where_there_is_one(world):
    one = world()
    open(one.path("termination"), "w").close()
    run = one.run(*SLEEPER, LASTCALL_TERMINATION_LOG=one.path("termination"))
    serving(one)
    run.send_signal(signal.SIGTERM)
    ends_with(run, 0)
    with open(one.path("termination")) as file:
        text = file.read()
    assert '"exit_code":0' in text and len(text) <= 4096


def test_after_a_rearm_without_a_shim_only_another_engine_serves(world):
    def engine():  # which nothing has to accept from
        return socket.create_server(("127.0.0.1", port), backlog=4096)

    port = free_port()
    one = world(shutdown={"after_stop": "rearm"})
    one.config["health"]["checks"] = [{"name": "up", "tcp": {"address": f"127.0.0.1:{port}"}}]
    with engine():
        one.serve()
        serving(one)
        one.operator().ask("drain", exit=True)
        one.wait_for_log("ready for the next engine")
        holds_for(lambda: one.status()["phase"] == "starting", 0.5)
    one.wait_for_log("stopped waiting for another engine")
    with engine():
        one.wait_for_log('"phase begun","phase":"serving"', 2)
