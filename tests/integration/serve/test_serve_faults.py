"""An environment that fails: file systems and system calls."""

import os
import signal

import pytest
from mounts import full_tmpfs, in_own_mounts
from serve_peer import PATIENCE, holds_for, wait_until
from serve_world import DENY_SYSCALLS, SLEEPER, is_stopped


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
