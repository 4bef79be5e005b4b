"""`lastcall run` is killed at some moment: nothing of it stays."""

import os
import signal

import pytest
from serve_peer import wait_until
from serve_world import SLEEPER

MOMENTS = {
    "its supervisor was started": lambda one: one.supervisor_pid(),
    "its supervisor listens": lambda one: "lastcall serves" in one.log(),
    "its supervisor knows it": lambda one: '"shim connected"' in one.log(),
    "its engine runs": lambda one: '"engine started"' in one.log(),
}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("lap", range(2))
def test_a_run_that_is_killed_leaves_nothing_behind(world, moment, lap):
    one = world()
    run = one.run(*SLEEPER)
    wait_until(lambda: MOMENTS[moment](one), moment)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    wait_until(lambda: not one.supervisor_pid(), "no supervisor is left")


def test_a_stop_that_the_supervisor_has_ended_is_no_crash_of_it(world):
    for _ in range(6):
        one = world()
        run = one.run(*SLEEPER)
        one.wait_for_log('"phase begun","phase":"serving"')
        run.send_signal(signal.SIGTERM)
        assert run.wait(timeout=20) == 0
        log = one.log()
        assert "lastcall shutdown complete" in log
        assert "starting it again" not in log
        assert not one.processes_left()
