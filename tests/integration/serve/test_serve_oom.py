"""The kernel's OOM killer, for real, in a memory cgroup of the test's own."""

import contextlib
import os
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


def run_in(world, cgroup, *command):
    one = world()
    one.wrapped = ("sh", "-c", f'echo $$ > {cgroup}/cgroup.procs && exec "$@"', "sh")
    return one, one.run(*command)


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
    assert "a process of it was killed for lack of memory (oom)" in report["detail"]
