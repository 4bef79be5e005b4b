"""Phase 3: hooks, paths and the SDK's acknowledgements; each reports how it went."""

import os
import signal
import sys

import pytest
from mounts import in_own_mounts
from serve_peer import PATIENCE, wait_until
from serve_world import SLEEPER


def stopped(one):
    """The cleanup part of the report of a graceful stop."""
    run = one.processes[0] if one.processes else one.run(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    run.send_signal(signal.SIGTERM)
    assert run.wait(timeout=PATIENCE) == 0
    return one.report()["cleanup"]


def hook(name, script, **fields):
    return {"name": name, "command": ["/bin/sh", "-c", script], **fields}


def test_a_hook_that_overruns_is_killed_with_its_children_and_the_next_one_runs(world):
    one = world()
    one.config["cleanup"] = {"hooks": [
        hook("slow", "echo begun; sleep 8765 & setsid sleep 8765 & wait", timeout="300ms"),
        hook("next", f"touch {one.path('next')}"),
    ]}  # fmt: skip
    cleanup = stopped(one)
    assert cleanup["hooks"]["outcome"] == "timed_out"
    assert "slow: killed: it did not end in time" in cleanup["hooks"]["detail"]
    assert '"hook":"slow","line":"begun"' in one.log()
    assert os.path.exists(one.path("next"))
    wait_until(lambda: not one.processes_left(), "no process is left")


def test_all_hooks_together_have_one_budget(world):
    one = world(shutdown={"grace_period": "30s", "cleanup_reserve": "10s"})
    hang = "exec sleep 8765"
    one.config["cleanup"] = {"hooks": [hook(f"h{i}", hang, timeout="1500ms") for i in range(4)]}
    cleanup = stopped(one)
    assert cleanup["hooks"]["outcome"] == "timed_out"
    assert all(f"h{i}: killed" in cleanup["hooks"]["detail"] for i in range(2))
    assert "h3: not started: no time was left" in cleanup["hooks"]["detail"]
    assert cleanup["hooks"]["ms"] < 4_000  # not 6 s
    wait_until(lambda: not one.processes_left(), "no process is left")


def test_a_hook_that_writes_without_end_does_not_flood_the_log(world):
    one = world()
    one.config["cleanup"] = {"hooks": [
        hook("flood", "seq 100000; echo last"),
        hook("next", "echo as ever"),
    ]}  # fmt: skip
    assert stopped(one)["hooks"]["outcome"] == "completed"
    records = one.records()
    lines = [each["line"] for each in records if each["msg"] == "hook output"]
    assert lines[:3] == ["1", "2", "3"] and lines[-1] == "as ever"
    assert sum(100 + len(line) for line in lines) <= 64 * 1024
    [left_out] = [each for each in records if each["msg"] == "output of a hook was left out"]
    assert left_out["hook"] == "flood"
    assert left_out["lines"] == 100_001 - len(lines[:-1])


def test_a_hook_gets_the_environment_without_the_supervisors_secrets(world):
    one = world()
    one.config["cleanup"] = {"hooks": [hook("env", f"env > {one.path('env')}")]}
    one.run(*SLEEPER, PLAIN="kept", LASTCALL_NATS_PASSWORD="hush", LASTCALL_ETCD_PASSWORD="hush",
            LASTCALL_LIFECYCLE_TOKEN="hush", LASTCALL_INGRESS_TOKEN="hush",
            LASTCALL_ADMISSION_TOKEN="hush")  # fmt: skip
    assert stopped(one)["hooks"]["outcome"] == "completed"
    with open(one.path("env")) as file:
        environment = file.read()
    assert "PLAIN=kept\n" in environment and "hush" not in environment


def test_a_hook_that_cannot_be_started_is_named(world):
    one = world()
    one.config["cleanup"] = {"hooks": [{"name": "gone", "command": ["/does/not/exist"]}]}
    cleanup = stopped(one)
    assert cleanup["hooks"]["outcome"] == "failed"
    assert "gone: cannot start /does/not/exist" in cleanup["hooks"]["detail"]


def test_a_path_that_cannot_be_removed_is_named_and_changes_no_exit_code(world):
    one = world()
    os.makedirs(one.path("ro/scratch"))
    os.mkdir(one.path("free"))
    folder = one.path("ro")
    one.wrapped = in_own_mounts(
        f"mount --bind {folder} {folder}\nmount -o remount,bind,ro {folder}"
    )
    one.config["cleanup"] = {"paths": [one.path("ro/scratch"), one.path("free")]}
    cleanup = stopped(one)
    assert cleanup["paths"]["outcome"] == "failed"
    assert "scratch: Read-only file system" in cleanup["paths"]["detail"]
    assert os.path.exists(one.path("ro/scratch"))
    assert not os.path.exists(one.path("free"))


WORKER = """
import itertools, os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.setsid()
for number in itertools.count():
    open(f"{sys.argv[1]}/lora-{number % 50}", "w").close()
    time.sleep(0.01)
"""
WITH_A_WORKER = f"""
import signal, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", {WORKER!r}, sys.argv[1]])
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
while True:
    time.sleep(0.1)  # a signal that comes just before a pause() would not end that
"""


def test_files_that_workers_write_until_their_end_are_removed_too(world):
    one = world()
    scratch = one.path("scratch")
    os.mkdir(scratch)
    one.config["cleanup"] = {"paths": [scratch + "/lora-*"]}
    one.run(sys.executable, "-c", WITH_A_WORKER, scratch)
    wait_until(lambda: len(os.listdir(scratch)) == 50, "the worker writes")
    assert stopped(one)["paths"]["outcome"] == "completed"
    assert os.listdir(scratch) == []


def test_a_path_that_a_hook_has_removed_is_no_failure(world):
    one = world()
    os.mkdir(one.path("scratch"))
    one.config["cleanup"] = {
        "hooks": [hook("rm", f"rm -r {one.path('scratch')}")],
        "paths": [one.path("scratch"), one.path("scratch/*")],
    }
    cleanup = stopped(one)
    assert cleanup["paths"] == {**cleanup["paths"], "outcome": "completed", "detail": "removed 0"}


@pytest.mark.parametrize("answers", [True, False])
def test_an_sdk_is_waited_for_within_its_budget(world, answers):
    one = world()
    run = one.run(*SLEEPER)
    peer = one.peer()
    peer.ask("endpoint.register", endpoint="generate")
    one.wait_for_log('"phase begun","phase":"serving"')
    run.send_signal(signal.SIGTERM)
    peer.expect("cleanup")
    if answers:
        peer.send("cleanup.done")
    assert run.wait(timeout=PATIENCE) == 0
    expected = "completed" if answers else "timed_out"
    assert one.report()["cleanup"]["sdk"]["outcome"] == expected


def test_an_sdk_that_reconnects_in_its_cleanup_is_waited_for(world):
    one = world(shutdown={"grace_period": "60s", "cleanup_reserve": "30s"})
    run = one.run(*SLEEPER)
    peer = one.peer(name="go-0")
    peer.ask("endpoint.register", endpoint="generate")
    one.wait_for_log('"phase begun","phase":"serving"')
    run.send_signal(signal.SIGTERM)
    peer.expect("cleanup")
    peer.close()
    again = one.peer(name="go-0")
    again.expect("cleanup")
    again.ask("cleanup.done")
    assert run.wait(timeout=PATIENCE) == 0
    assert one.report()["cleanup"]["sdk"]["outcome"] == "completed"


def test_an_sdk_that_goes_away_in_its_cleanup_is_not_waited_for(world):
    one = world(shutdown={"grace_period": "60s", "cleanup_reserve": "30s"})
    run = one.run(*SLEEPER)
    peer = one.peer()
    peer.ask("endpoint.register", endpoint="generate")
    one.wait_for_log('"phase begun","phase":"serving"')
    run.send_signal(signal.SIGTERM)
    peer.expect("cleanup")
    peer.close()
    assert run.wait(timeout=PATIENCE) == 0
    assert one.report()["cleanup"]["sdk"] == {
        **one.report()["cleanup"]["sdk"],
        "outcome": "failed",
        "detail": "'test' disconnected before cleanup.done",
    }
