"""The kernel's OOM killer, for real, in a memory cgroup of the test's own."""

import contextlib
import os
import signal
import sys
import time

import pytest
from serve_peer import PATIENCE, wait_until

LIMIT = 256 * 1024 * 1024
EATER = "b = bytearray(1)\nwhile True: b += bytearray(16 << 20)"


def make_cgroup(name):
    """Its directory; skips where this host does not let us make one."""
    for root, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                        ("/sys/fs/cgroup", "memory.max")):  # fmt: skip
        folder = os.path.join(root, name)
        try:
            os.mkdir(folder)
            with open(os.path.join(folder, limit), "w") as file:
                file.write(str(LIMIT))
            return folder
        except OSError:
            with contextlib.suppress(OSError):
                os.rmdir(folder)
    pytest.skip("this host allows no memory cgroup")


@pytest.fixture
def memory_cgroup():
    folder = make_cgroup(f"lastcall-test-{os.getpid()}-{time.monotonic_ns()}")
    yield folder

    def removed():
        with contextlib.suppress(OSError):
            os.rmdir(folder)
        return not os.path.exists(folder)

    wait_until(removed, "the cgroup is empty")


def inside(cgroup):
    return ("sh", "-c", f'echo $$ > {cgroup}/cgroup.procs && exec "$@"', "sh")


def run_in(world, cgroup, *command):
    one = world()
    one.wrapped = inside(cgroup)
    return one, one.run(*command)


def kills(cgroup):
    for name in ("memory.events", "memory.oom_control"):
        with contextlib.suppress(OSError), open(os.path.join(cgroup, name)) as file:
            return dict(line.split() for line in file).get("oom_kill")
    return None


def test_an_engine_killed_for_lack_of_memory_is_named_so(world, memory_cgroup):
    one, run = run_in(world, memory_cgroup, sys.executable, "-c", EATER)
    assert run.wait(timeout=2 * PATIENCE) == 1
    report = one.report()
    assert report["cause"] == "engine_exited"
    assert report["engine"] == {**report["engine"], "signal": 9, "oom": True}
    assert "the engine was killed for lack of memory (oom)" in report["detail"]
    assert '"oom":true' in one.log()


def test_an_engine_that_ends_because_its_worker_was_killed_is_named_so(world, memory_cgroup):
    script = f'{sys.executable} -c "{EATER}"; exit 3'
    one, run = run_in(world, memory_cgroup, "/bin/sh", "-c", script)
    assert run.wait(timeout=2 * PATIENCE) == 1
    report = one.report()
    assert report["engine"] == {**report["engine"], "code": 3, "oom": True}
    assert "one of its processes was killed for lack of memory (oom)" in report["detail"]


@pytest.mark.parametrize("struck", [True, False], ids=["out of memory", "a plain kill"])
def test_a_kill_that_takes_the_shim_too_is_named_by_the_supervisor(world, memory_cgroup, struck):
    one = world()
    one.serve()
    one.wrapped = inside(memory_cgroup)
    waits = f"while [ ! -e {one.path('go')} ]; do sleep 0.02; done"
    eats = f'{waits}; exec {sys.executable} -c "{EATER}"'
    shim = one.shim("/bin/sh", "-c", eats)
    one.wait_for_log("engine started")
    engine = one.status()["engine"]["pid"]
    # Stopped, it reports no more of its engine's end than one that the kernel kills with it.
    shim.send_signal(signal.SIGSTOP)
    if struck:
        with open(one.path("go"), "w"):
            pass
        wait_until(lambda: kills(memory_cgroup) == "1", "the kernel has killed")
    shim.kill()
    wait_until(lambda: one.reports(), "the report")
    with contextlib.suppress(ProcessLookupError):
        os.kill(engine, signal.SIGKILL)
    report = one.report()
    assert report["cause"] == "shim_lost"
    assert report["detail"] == (
        "the engine's container was killed for lack of memory (oom)"
        if struck
        else "the engine container's shim is gone"
    )
    assert report["engine"] == {**report["engine"], "state": "unknown", "oom": struck}
    assert ('"oom":true' in one.log()) is struck
