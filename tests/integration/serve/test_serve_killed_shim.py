"""The shim is killed beside a supervisor: noticed at once, deregistered, fatal; then the next one.

A handle on its process shows it at once, though another process holds the shim's socket open.
Kernels before 6.5 give none: there the connection's end shows it, after the second that a shim has
to come back.
"""

import ctypes
import os
import signal
import sys

import pytest
from in_time import in_time
from known_process import KnownProcess, kill
from serve_peer import PATIENCE, wait_until
from serve_world import DENY_SYSCALLS, REFUSED, SLEEPER

PIDFD_GETFD = 438
# The engine takes copies of all sockets that its parent has, and keeps them.
HOLDER = f"""if True:
    import ctypes, os, sys, time
    libc = ctypes.CDLL(None, use_errno=True)
    shim = os.pidfd_open(os.getppid())
    links = f"/proc/{{os.getppid()}}/fd"
    held = [libc.syscall({PIDFD_GETFD}, shim, int(fd), 0) for fd in os.listdir(links)
            if os.readlink(f"{{links}}/{{fd}}").startswith("socket:")]
    assert held and min(held) >= 0, os.strerror(ctypes.get_errno())
    open(sys.argv[1], "w").close()
    time.sleep(3600)
"""


def may_take_descriptors():
    """Of its parent, as the engine does: a process of one user, or one that may trace."""
    own = os.pidfd_open(os.getppid())
    try:
        copy = ctypes.CDLL(None).syscall(PIDFD_GETFD, own, 0, 0)
        if copy >= 0:
            os.close(copy)
        return copy >= 0
    finally:
        os.close(own)


@pytest.fixture
def beside(world):
    """A supervisor with a registry of files, beside which containers are started and killed."""
    one = world(log={"level": "debug"}, identity={"advertise": "http://127.0.0.1:1"})
    one.registry = one.path("instances")
    os.mkdir(one.registry)
    one.config["discovery"] = [{"file": {"directory": one.registry}}]

    def begin(wrapped=()):
        one.wrapped = wrapped
        one.process = one.serve()
        return one

    return begin


def event(one, kind):
    """When this was last reported to the core."""
    steps = [record for record in one.records() if record["msg"] == "step"]
    return [step["at_ms"] for step in steps if step["event"]["type"] == kind][-1]


def fatal_stop(one):
    """The time of a step that no event of its own brought: when the stop began."""
    began = [step for step in one.records()
             if step["msg"] == "step" and "cause=shim_lost" in str(step["actions"])]  # fmt: skip
    return [step["at_ms"] for step in began if step["event"]["type"] != "shim_hello"][-1]


def killed(one, *command, held=None):
    """One container's life; when its shim had ended."""
    count = len(one.reports()) + 1
    if held and os.path.exists(held):
        os.unlink(held)
    shim = one.shim(*command)
    one.wait_for_log('"phase begun","phase":"serving"', count)
    wait_until(lambda: os.listdir(one.registry), "it is registered")
    if held:
        wait_until(lambda: os.path.exists(held), "the engine holds the shim's socket")
    engine = one.status()["engine"]["pid"]
    ended = kill(KnownProcess(shim.pid))
    wait_until(lambda: len(one.reports()) == count, "the report")
    wait_until(lambda: os.listdir(one.registry) == [], "it has left the registry")
    os.kill(engine, signal.SIGKILL)  # alive still: a container's end is not the supervisor's doing
    return ended


def was_fatal(one):
    for report in one.reports():
        assert (report["cause"], report["mode"], report["exit_code"]) == ("shim_lost", "fatal", 1)
        assert report["engine"] == {"state": "unknown", "oom": False, "detail": "its shim is gone"}
        [registry] = report["registries"]
        # A busy machine may take longer than a fatal stop waits for the report of it.
        assert registry["name"] == "file" and registry["state"] in ("confirmed", "failed")
    one.wait_for_log("ready for the next engine", len(one.reports()))
    one.process.send_signal(signal.SIGTERM)
    assert one.process.wait(timeout=PATIENCE) == 0, "it had nothing to stop any more"


def test_a_killed_shim_is_noticed_at_once_though_its_socket_is_held(beside):
    if not may_take_descriptors():
        pytest.skip("this host lets no process copy a descriptor of another")
    one = beside()
    held = one.path("held")

    def took():
        ended = killed(one, sys.executable, "-c", HOLDER, held, held=held)
        return event(one, "shim_gone") - ended

    in_time(took, 100)
    assert '"shim_disconnected"' not in one.log(), "its connection was open all the time"
    was_fatal(one)


@pytest.mark.parametrize("error", REFUSED)
def test_a_killed_shim_without_a_pidfd_is_lost_after_a_second(beside, error):
    one = beside((DENY_SYSCALLS, error))

    def took():
        ended = killed(one, *SLEEPER)
        return fatal_stop(one) - ended

    in_time(took, 1_500, least=950)
    assert '"process_watched":false' in one.log() and '"shim_gone"' not in one.log()
    was_fatal(one)
