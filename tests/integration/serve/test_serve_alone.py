"""What goes wrong around a supervisor: a shim or an engine that dies, a log that is not read."""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from known_process import KnownProcess, is_alive
from ports import free_port
from serve_peer import PATIENCE, Peer, holds_for, wait_until
from serve_world import LASTCALL, REFUSED, SLEEPER

# An engine's SDK in a process of its own: announces one request, then waits to be killed.
SDK = """
import json, socket, sys, time
peer = socket.socket(socket.AF_UNIX)
peer.connect(sys.argv[1])
for line in (
    {"op": "hello", "version": 1, "role": "engine", "name": "sdk", "critical": len(sys.argv) > 2},
    {"op": "request.begin", "seq": 1, "id": "r", "endpoint": "generate"},
):
    peer.sendall(json.dumps(line).encode() + b"\\n")
time.sleep(3600)
"""


def now_ms():
    return time.monotonic_ns() // 10**6


def serving(one):
    one.wait_for_log('"phase begun","phase":"serving"')


def running_shim(one):
    """A shim played by hand whose engine runs."""
    shim = one.peer(role="shim", boot="b", run=True, engine={"state": "waiting"})
    shim.expect("engine.start")
    shim.ask("engine.started", pid=4242, at_ms=now_ms())
    return shim


def last_blob(shim):
    blobs = [line["blob"] for line in shim.lines if line["op"] == "remember"]
    return blobs[-1]


def test_a_restarted_supervisor_that_finds_the_engine_ended_orders_the_exit_once(world):
    one = world()
    first = one.serve()
    shim = running_shim(one)
    serving(one)
    stop_at = now_ms()
    shim.ask("signal", name="TERM", at_ms=stop_at)
    shim.expect("engine.signal")
    blob = last_blob(shim)
    first.kill()
    first.wait()
    shim.close()
    second = one.serve()
    shim = one.peer(
        role="shim", boot="b", run=True, stop_at_ms=stop_at, blob=blob,
        engine={
            "state": "exited", "pid": 4242, "code": 0, "ordered": True, "exited_at_ms": now_ms(),
        },
    )  # fmt: skip
    assert shim.expect("exit")["code"] == 0
    assert second.wait(timeout=PATIENCE) == 0
    assert len(one.reports()) == 1


def sdk_with_a_request(one):
    sdk = subprocess.Popen([sys.executable, "-c", SDK, one.socket], stdin=subprocess.DEVNULL)
    one.processes.append(sdk)
    wait_until(lambda: one.status()["in_flight"]["requests"] == 1, "the request")
    return sdk


@pytest.mark.parametrize("draining", [False, True], ids=["serving", "draining"])
def test_requests_lost_with_the_engine_are_reported_however_late_the_shim_is(world, draining):
    one = world()
    one.serve()
    shim = running_shim(one)
    serving(one)
    sdk = sdk_with_a_request(one)
    if draining:
        shim.ask("signal", name="TERM", at_ms=now_ms())
        one.wait_for_phase("draining")
    sdk.kill()
    sdk.wait()
    holds_for(lambda: not one.reports(), 0.4)  # a shim that gets no CPU for a while
    shim.send("engine.exited", signal=9, oom=False, at_ms=now_ms())
    assert shim.expect("exit")["code"] == 1
    assert one.report()["requests"]["lost"] == 1
    assert one.report()["cause"] == ("signal" if draining else "engine_exited")


def test_requests_lost_with_the_engine_while_its_shim_was_away_are_reported(world):
    one = world()
    one.serve()
    shim = running_shim(one)
    serving(one)
    sdk = sdk_with_a_request(one)
    shim.close()
    wait_until(lambda: one.status()["engine"]["shim"] != "connected", "the shim is away")
    sdk.kill()
    sdk.wait()
    wait_until(lambda: not any(peer["connected"] for peer in one.status()["peers"]), "its end")
    shim = one.peer(
        role="shim", boot="b", run=True,
        engine={"state": "exited", "pid": 4242, "signal": 9, "exited_at_ms": now_ms()},
    )  # fmt: skip
    assert shim.expect("exit")["code"] == 1
    assert one.report()["cause"] == "engine_exited"
    assert one.report()["requests"]["lost"] == 1


def test_requests_lost_with_a_critical_process_are_reported_without_the_shim(world):
    one = world()
    one.serve()
    shim = running_shim(one)
    serving(one)
    sdk = subprocess.Popen([sys.executable, "-c", SDK, one.socket, "critical"],
                           stdin=subprocess.DEVNULL)  # fmt: skip
    one.processes.append(sdk)
    wait_until(lambda: one.status()["in_flight"]["requests"] == 1, "the request")
    sdk.kill()
    sdk.wait()
    shim.expect("engine.signal", name="TERM")
    shim.send("engine.exited", code=0, oom=False, ordered=True, at_ms=now_ms())
    assert shim.expect("exit")["code"] == 1
    assert one.report()["cause"] == "child_died"
    assert one.report()["requests"]["lost"] == 1


def test_an_engine_that_its_shim_stopped_by_the_deadline_did_not_end_by_itself(world):
    """The shim signals it alone where our own order would come too late for the deadline."""
    one = world(shutdown={"grace_period": "60s"})
    one.serve()
    shim = running_shim(one)
    serving(one)
    peer = one.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    shim.ask("signal", name="TERM", at_ms=now_ms())
    one.wait_for_phase("draining")
    shim.send("engine.exited", code=0, oom=False, ordered=True, at_ms=now_ms())
    peer.expect("cancel", ids=["r"], mode="kill", reason="grace_timeout")
    peer.ask("request.end", id="r", outcome="cancelled")
    assert shim.expect("exit")["code"] == 0
    report = one.report()
    assert (report["cause"], report["engine"]["ordered"]) == ("signal", True)
    assert report["requests"]["migrated"] == 1 and report["requests"]["engine_dead"] == 0
    assert "by itself" not in json.dumps(report) + one.log()
    assert "the engine ended on the shim's stop signal, with code 0" in one.log()


def engine_with_a_child(one):
    """Ignores TERM, and so does its child; both write their pids."""
    script = one.path("engine.sh")
    with open(script, "w") as file:
        file.write(f"trap '' TERM\n/bin/sleep 3600 &\necho $! $$ > {one.path('pids.new')}\n"
                   f"mv {one.path('pids.new')} {one.path('pids')}\nwait\n"
                   "while :; do sleep 1; done\n")  # fmt: skip
    return "/bin/sh", script


@pytest.mark.parametrize("world", [None, *REFUSED], indirect=True)
def test_a_killed_shim_leaves_nothing_behind_in_run_mode(world):
    one = world()
    run = one.run(*engine_with_a_child(one))
    serving(one)
    wait_until(lambda: os.path.exists(one.path("pids")), "the engine")
    with open(one.path("pids")) as file:
        pids = [KnownProcess(word) for word in file.read().split()]
    assert all(is_alive(pid) for pid in pids)
    run.kill()
    run.wait()
    wait_until(lambda: not any(is_alive(pid) for pid in pids), "the engine and its child are gone")
    wait_until(lambda: not one.supervisor_pid(), "the supervisor is gone")
    assert one.report()["cause"] == "shim_lost"
    assert one.report()["engine"]["state"] == "unknown"


def test_a_killed_shim_of_another_container_costs_no_process_its_life(world):
    one = world()
    serve = one.serve()
    shim = one.shim(*SLEEPER)
    serving(one)
    engine = KnownProcess(one.status()["engine"]["pid"])
    shim.kill()
    wait_until(lambda: one.reports(), "a report")
    assert is_alive(engine)
    assert one.report()["engine"]["state"] == "unknown"
    serve.send_signal(signal.SIGTERM)
    serve.wait(timeout=PATIENCE)


def fill(write_end):
    """Through an open file of our own: the flag does not apply to others that share the pipe."""
    own = os.open(f"/proc/self/fd/{write_end}", os.O_WRONLY | os.O_NONBLOCK)
    for size in (65536, 1):
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(own, b"x" * size)
    os.close(own)


def test_a_log_that_nobody_reads_does_not_stop_the_supervisor(world):
    one = world(shutdown={"grace_period": "8s"})
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
    run = subprocess.Popen(
        (LASTCALL, "run", "--config", one.write_config(), "--", *SLEEPER),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=write_end,
        start_new_session=True, env={**os.environ, "LASTCALL_TEST": one.directory},
    )  # fmt: skip
    one.processes.append(run)
    fill(write_end)
    peer = one.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    one.wait_for_phase("serving")
    run.send_signal(signal.SIGTERM)
    peer.expect("phase", phase="draining")
    peer.ask("request.end", id="r", outcome="completed")
    assert run.wait(timeout=PATIENCE) == 0
    os.close(read_end)
    os.close(write_end)


def test_a_report_waits_for_its_reader_where_the_supervisor_goes_on(world):
    """Beside its engine it stays for the next one, and the report is not the last line."""
    one = world(shutdown={"grace_period": "60s"})
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(read_end, False)
    serve = subprocess.Popen(
        (LASTCALL, "serve", "--config", one.write_config()),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=write_end,
        start_new_session=True, env={**os.environ, "LASTCALL_TEST": one.directory},
    )  # fmt: skip
    one.processes.append(serve)
    shim = one.shim(*SLEEPER)
    text = b""

    def read_on():
        nonlocal text
        with contextlib.suppress(BlockingIOError):
            text += os.read(read_end, 65536)
        return text

    wait_until(lambda: b'"phase begun","phase":"serving"' in read_on(), "it serves")
    wait_until(lambda: not (read_on(), fill(write_end))[1], "nothing fits any more")
    shim.send_signal(signal.SIGTERM)
    assert shim.wait(timeout=PATIENCE) == 0
    wait_until(lambda: b'"drain report"' in read_on(), "the report")
    serve.send_signal(signal.SIGTERM)
    wait_until(lambda: (read_on(), serve.poll())[1] == 0, "its end")
    os.close(read_end)
    os.close(write_end)


def test_cleanup_paths_never_take_the_supervisors_own_files(world):
    one = world()
    one.config["cleanup"] = {"paths": [one.path("*")]}
    run = one.run(*SLEEPER)
    serving(one)
    open(one.path("scrap"), "w").close()
    peer = Peer(one.socket)
    run.send_signal(signal.SIGTERM)
    peer.expect("cleanup")
    peer.send("cleanup.done")
    assert run.wait(timeout=PATIENCE) == 0
    peer.close()
    assert not os.path.exists(one.path("scrap"))
    assert os.path.isdir(os.path.dirname(one.socket))


def test_a_drain_with_exit_and_wait_reports_in_the_end_that_it_stopped(world):
    one = world(probes={"listen": f"127.0.0.1:{free_port()}"})
    run = one.run(*SLEEPER)
    serving(one)
    done = subprocess.run(
        [LASTCALL, "drain", "--exit", "--wait", "--admin-socket", one.admin_socket],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "stopped"
    assert run.wait(timeout=PATIENCE) == 0
