"""An environment that fails: file systems and system calls."""

import os
import signal

import pytest
from mounts import full_tmpfs, in_own_mounts
from serve_peer import PATIENCE, holds_for, wait_until
from serve_world import DENY_SYSCALLS, SLEEPER, STUBBORN, is_stopped

LONG = bool(os.environ.get("LASTCALL_TEST_LONG"))


def serving(one):
    one.wait_for_log('"phase begun","phase":"serving"')


def test_a_read_only_root_is_enough(world):
    one = world(shutdown={"grace_period": "20s", "deregister_timeout": "6s"})
    os.mkdir(one.path("reg"))
    one.config["identity"] = {"advertise": "http://10.0.0.7:8080"}
    one.config["discovery"] = [{"file": {"directory": one.path("reg")}}]
    one.wrapped = in_own_mounts(
        f"mount --bind {one.directory} {one.directory}\nmount -o remount,bind,ro /"
    )
    script = f"touch /ro-probe && touch {one.path('writable')}; exec sleep 3600"
    run = one.run("/bin/sh", "-c", script)
    serving(one)
    wait_until(lambda: one.get("/readyz")[0] == 200, "ready")
    run.send_signal(signal.SIGTERM)
    assert run.wait(timeout=PATIENCE) == 0
    assert not os.path.exists(one.path("writable"))
    assert [r["state"] for r in one.report()["registries"]] == ["confirmed"]


def test_a_host_without_proc_is_told_what_it_lacks(world):
    one = world()
    one.wrapped = in_own_mounts("mount -t tmpfs none /proc")
    assert one.serve().wait(timeout=PATIENCE) == 1
    assert "cannot listen on" in one.log()
    assert "/proc is not mounted" in one.log()


def test_a_full_disk_costs_the_record_and_not_the_drain(world):
    one = world()
    one.wrapped = in_own_mounts(full_tmpfs(one.path("a")))
    process = one.serve()
    one.wait_for_log("lastcall serves")
    one.admin_socket = f"/proc/{process.pid}/root{one.admin_socket}"
    one.operator().ask("drain", exit=False)
    one.wait_for_phase("drained")
    assert "cannot record this stop: a restarted supervisor would not know of it" in one.log()
    assert one.operator().ask("resume")["changed"] is True


def test_a_registry_on_a_full_disk_does_not_hold_the_stop(world):
    one = world()
    one.config["identity"] = {"advertise": "http://10.0.0.7:8080"}
    one.config["discovery"] = [{"file": {"directory": one.path("reg")}}]
    one.wrapped = in_own_mounts(full_tmpfs(one.path("reg")))
    run = one.run(*SLEEPER)
    serving(one)
    wait_until(lambda: one.status()["registries"][0].get("error"), "an error is shown")
    assert one.get("/readyz")[0] == 503
    run.send_signal(signal.SIGTERM)
    assert run.wait(timeout=PATIENCE) == 0


OUTCOMES = {
    0: lambda one, run: run.send_signal(signal.SIGTERM),
    1: lambda one, run: os.kill(one.status()["engine"]["pid"], signal.SIGKILL),
    137: lambda one, run: run.send_signal(signal.SIGTERM),
}


def ends_as_without_the_fault(one, code, **environment):
    ready = one.path("ready")
    engine = SLEEPER if code != 137 else [w.format(ready=ready) for w in STUBBORN]
    run = one.run(*engine, **environment)
    one.wait_for_phase("serving")
    if code == 137:
        wait_until(lambda: os.path.exists(ready), "it ignores TERM")
    peer = one.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    peer.ask("request.end", id="r", outcome="completed")
    peer.close()  # connected clients are waited for, half of the time that an engine has to end
    OUTCOMES[code](one, run)
    assert run.wait(timeout=PATIENCE) == code
    wait_until(lambda: not one.processes_left(), "no process is left")


@pytest.mark.parametrize("level", ["info", "debug"])
@pytest.mark.parametrize("code", OUTCOMES)
def test_a_log_that_takes_nothing_changes_no_exit_code(world, code, level):
    one = world(shutdown={"grace_period": "4s"}, log={"level": level})
    one.wrapped = ("sh", "-c", 'exec "$@" >/dev/full 2>&1', "sh")
    ends_as_without_the_fault(one, code)
    assert one.log() == ""


@pytest.mark.parametrize("code", OUTCOMES)
def test_a_log_that_may_not_grow_changes_no_exit_code(world, code):
    """By RLIMIT_FSIZE: the kernel sends SIGXFSZ for each line."""
    one = world(shutdown={"grace_period": "4s"})
    one.wrapped = ("sh", "-c", 'ulimit -f 0 && exec "$@"', "sh")
    ends_as_without_the_fault(one, code)
    assert one.log() == ""


@pytest.mark.parametrize("code", OUTCOMES)
def test_a_termination_message_that_finds_no_room_changes_no_exit_code(world, code):
    one = world(shutdown={"grace_period": "4s"})
    message = one.path("t/message")
    one.wrapped = in_own_mounts(f"{full_tmpfs(one.path('t'))}\n: > {message}")
    ends_as_without_the_fault(one, code, LASTCALL_TERMINATION_LOG=message)
    assert one.report()["exit_code"] == code
    assert f"cannot write the termination message to {message}: No space left" in one.log()


@pytest.mark.parametrize("error", ["EPERM", "ENOSYS"])
def test_refused_system_calls_change_nothing(world, error):
    one = world()
    one.wrapped = (DENY_SYSCALLS, error)
    one.config["health"]["checks"] = [{"name": "probe", "exec": {"command": ["/bin/true"]}}]
    one.config["cleanup"] = {"hooks": [
        {"name": "good", "command": ["/bin/echo", "fine"]},
        {"name": "slow", "command": ["/bin/sh", "-c", "setsid sleep 6543 & wait"],
         "timeout": "300ms"},
    ]}  # fmt: skip
    run = one.run("/bin/sh", "-c", "setsid sleep 3600 & exec sleep 3600")
    serving(one)
    run.send_signal(signal.SIGTERM)
    assert run.wait(timeout=PATIENCE) == 0
    hooks = one.report()["cleanup"]["hooks"]
    assert (hooks["outcome"], hooks["detail"]) == (
        "timed_out", "slow: killed: it did not end in time")  # fmt: skip
    assert '"hook":"good","line":"fine"' in one.log()
    wait_until(lambda: not one.processes_left(), "no process is left")


def test_a_supervisor_that_was_stopped_in_serving_goes_on(world):
    one = world(health={"unresponsive_after": "1s"})
    engine = one.run_engine("--rate", "20")
    pid = one.supervisor_pid()
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: is_stopped(pid), "it is stopped")
    holds_for(lambda: is_stopped(pid), 10 if LONG else 4)
    os.kill(pid, signal.SIGCONT)
    wait_until(lambda: one.status()["health"]["verdict"] == "healthy", "healthy again")
    engine.send_signal(signal.SIGTERM)
    assert engine.wait(timeout=PATIENCE) == 0


def test_a_supervisor_that_was_stopped_in_a_drain_keeps_the_drain(world):
    """For longer than a check may take, and than an engine may be unresponsive."""
    one = world(shutdown={"grace_period": "60s"}, health={"unresponsive_after": "1s"})
    engine = one.run_engine("--rate", "20")
    peer = one.peer()
    peer.ask("endpoint.register", endpoint="generate")
    peer.ask("request.begin", id="r", endpoint="generate")
    engine.send_signal(signal.SIGTERM)
    one.wait_for_phase("draining")
    before, pid = one.status(), one.supervisor_pid()
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: is_stopped(pid), "it is stopped")
    seconds = 10 if LONG else 2.5
    holds_for(lambda: is_stopped(pid) and engine.poll() is None, seconds)
    os.kill(pid, signal.SIGCONT)
    after = one.status()
    assert one.supervisor_pid() == pid
    for key in ("phase", "cause", "mode", "deadline_at_ms"):
        assert after[key] == before[key], key
    assert after["deadline_left_ms"] <= before["deadline_left_ms"] - 1000 * seconds
    assert after["in_flight"]["requests"] == 1
    holds_for(lambda: engine.poll() is None, 0.3)  # nor does what was late end it now
    peer.ask("request.end", id="r", outcome="completed")
    assert engine.wait(timeout=PATIENCE) == 0
    assert (one.report()["requests"]["completed"], one.report()["requests"]["lost"]) == (1, 0)
