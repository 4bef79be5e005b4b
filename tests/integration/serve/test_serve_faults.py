"""An environment that fails: file systems, system calls, and engines that restart for ever."""

import os
import signal
import sys

import pytest
from mounts import full_tmpfs, in_own_mounts
from serve_peer import PATIENCE, holds_for, wait_until
from serve_world import DENY_SYSCALLS, SLEEPER, is_stopped

RESTARTS = 10_000 if os.environ.get("LASTCALL_TEST_LONG") else 60


def serving(one):
    one.wait_for_log('"phase begun","phase":"serving"')


def test_a_read_only_root_is_enough(world):
    one = world()
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


def test_a_full_disk_costs_the_record_and_not_the_drain(world):
    one = world()
    one.wrapped = in_own_mounts(full_tmpfs(one.path("e")))
    one.serve()
    one.wait_for_log("lastcall serves")
    one.operator().ask("drain", exit=False)
    one.wait_for_phase("drained")
    assert "a restart would not know of this stop" in one.log()
    assert one.operator().ask("resume")["changed"] is True


def test_a_registry_on_a_full_disk_does_not_hold_the_stop(world):
    one = world()
    one.config["identity"] = {"advertise": "http://10.0.0.7:8080"}
    one.config["discovery"] = [{"file": {"directory": one.path("reg")}}]
    one.wrapped = in_own_mounts(full_tmpfs(one.path("reg")))
    run = one.run(*SLEEPER)
    serving(one)
    wait_until(lambda: one.status()["registries"][0].get("error"), "an error is told")
    assert one.get("/readyz")[0] == 503
    run.send_signal(signal.SIGTERM)
    assert run.wait(timeout=PATIENCE) == 0


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
    holds_for(lambda: is_stopped(pid), 10 if os.environ.get("LASTCALL_TEST_LONG") else 4)
    os.kill(pid, signal.SIGCONT)
    wait_until(lambda: one.status()["health"]["verdict"] == "healthy", "healthy again")
    engine.send_signal(signal.SIGTERM)
    assert engine.wait(timeout=PATIENCE) == 0


def usage(pid):
    """Descriptors, zombies among its children, resident KiB."""
    with open(f"/proc/{pid}/status") as file:
        resident = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    zombies = 0
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        zombies += fields[0] == "Z" and int(fields[1]) == pid
    return len(os.listdir(f"/proc/{pid}/fd")), zombies, resident


@pytest.mark.timeout(3600 if RESTARTS > 1_000 else 180)
def test_engines_that_restart_for_ever_leave_nothing_in_the_supervisor(world):
    """Each engine ends by itself, and now and then its shim is killed in the middle."""
    one = world(shutdown={"after_stop": "rearm"}, health={"interval": "10s"},
                log={"level": "error"})  # fmt: skip
    serve = one.serve()
    wait_until(lambda: os.path.exists(one.socket), "it listens")
    warm = None
    for i in range(RESTARTS):
        shim = one.shim("/bin/true" if i % 7 else sys.executable, *([] if i % 7 else ["-c", ""]))
        if i % 10 == 3:
            shim.kill()  # somewhere between its start and its end
        assert shim.wait(timeout=PATIENCE) in ((1, -signal.SIGKILL) if i % 10 == 3 else (1,))
        one.processes.remove(shim)
        if i == RESTARTS // 3:
            warm = usage(serve.pid)
    wait_until(lambda: one.status()["phase"] == "starting", "ready for the next one")
    assert serve.poll() is None

    def settled():
        return usage(serve.pid)[0] <= warm[0] + 2

    wait_until(settled, "no descriptor is left open")
    descriptors, zombies, resident = usage(serve.pid)
    assert zombies == 0
    if "ASAN_OPTIONS" not in os.environ:  # sanitizers keep what was freed for a while
        after = (descriptors, zombies, resident)
        assert resident <= warm[2] + 1024, f"{warm} before, {after} after"
