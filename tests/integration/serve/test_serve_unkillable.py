"""Children that no KILL ends, as one in a hung driver's call: nothing of the supervisor waits."""

import os
import signal
import subprocess
import sys
import tempfile

import pytest
from in_time import unless_late
from serve_peer import PATIENCE, wait_until
from serve_world import SLEEPER

SCRIPT = os.path.join(os.path.dirname(__file__), "unkillable.py")


@pytest.fixture
def stuck():
    """(words of a command that gets stuck, the file at which it does)."""
    with tempfile.TemporaryDirectory() as folder:
        held = os.path.join(folder, "held")
        os.mkfifo(held)
        holder = os.open(held, os.O_RDWR)
        probe = subprocess.Popen([sys.executable, SCRIPT, held], stdout=subprocess.PIPE)
        may_trace = probe.stdout.readline() == b"stuck\n"
        probe.kill()
        probe.stdout.close()
        if may_trace:
            yield f"exec {sys.executable} {SCRIPT} {held}", os.path.join(folder, "now")
        os.close(holder)  # the tracers end, and let go of the dead processes
        probe.wait(PATIENCE)
    if not may_trace:
        pytest.skip("ptrace is forbidden here")


def test_an_exec_check_that_cannot_be_killed_holds_nothing_up(world, stuck):
    command, now = stuck
    script = f"test -e {now} || exit 0; {command}"
    check = {"name": "gpu", "timeout": "300ms", "exec": {"command": ["/bin/sh", "-c", script]}}
    one = world(health={"interval": "500ms", "checks": [check]}, shutdown={"grace_period": "20s"})
    run = one.run(*SLEEPER)
    one.wait_for_phase("serving")
    open(now, "w").close()
    one.wait_for_log("check fails")
    # Rounds go on, and none starts a second one beside the first.
    unended = "its last run was killed and has not ended"
    wait_until(lambda: unended in str(one.status()["health"]), "a next round")
    assert one.get("/livez")[0] == 200
    assert one.status()["health"]["verdict"] in ("busy", "unresponsive")
    run.send_signal(signal.SIGTERM)
    assert run.wait(PATIENCE) == 0
    assert one.report()["cause"] == "signal"


def test_a_hook_that_cannot_be_killed_has_overrun_and_the_next_one_runs(world, stuck):
    command, _ = stuck

    def stopped():
        one = world()
        one.config["cleanup"] = {"hooks": [
            {"name": "flush", "timeout": "1s", "command": ["/bin/sh", "-c", command]},
            {"name": "next", "command": ["/bin/touch", one.path("next")]},
        ]}  # fmt: skip
        run = one.run(*SLEEPER)
        one.wait_for_phase("serving")
        run.send_signal(signal.SIGTERM)
        assert run.wait(PATIENCE) == 0
        return one

    # The machine is too slow for this test if the hook was killed before it was stuck.
    one = unless_late(stopped, lambda end: '"hook":"flush","line":"stuck"' not in end.log())
    assert '"hook":"flush","line":"stuck"' in one.log()
    hooks = one.report()["cleanup"]["hooks"]
    assert (hooks["outcome"], hooks["detail"]) == (
        "timed_out", "flush: killed: it did not end in time")  # fmt: skip
    assert os.path.exists(one.path("next"))
