"""Supervisor and engine in PID namespaces of their own, as two containers of one pod: neither has a
number for the other's processes, and what the socket reports for the shim is pid 0."""

import os
import signal
import subprocess

import pytest
from serve_peer import PATIENCE, wait_until
from serve_world import SLEEPER

OWN_NAMESPACE = ("unshare", "--pid", "--fork", "--mount-proc")


def first_process_of(unshare):
    """PID 1 of the new namespace, by its number here."""
    path = f"/proc/{unshare.pid}/task/{unshare.pid}/children"

    def find():
        with open(path) as file:
            return file.read().split()

    [pid] = wait_until(find, "the namespace has a process")
    return int(pid)


def kill_in(unshare, number):
    os.kill(first_process_of(unshare), number)


@pytest.fixture
def pod(world):
    if subprocess.run([*OWN_NAMESPACE, "true"], check=False).returncode != 0:
        pytest.skip("this host allows no PID namespaces")
    one = world()
    one.wrapped = OWN_NAMESPACE
    one.supervisor = one.serve()
    one.container = one.shim(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    numbers = [os.readlink(f"/proc/{first_process_of(each)}/ns/pid")
               for each in (one.supervisor, one.container)]  # fmt: skip
    assert len({*numbers, os.readlink("/proc/self/ns/pid")}) == 3
    return one


def test_a_shim_of_a_sibling_namespace_is_obeyed_and_stopped(pod):
    kill_in(pod.container, signal.SIGTERM)
    assert pod.container.wait(timeout=PATIENCE) == 0
    assert pod.report()["cause"] == "signal"
    kill_in(pod.supervisor, signal.SIGTERM)
    assert pod.supervisor.wait(timeout=PATIENCE) == 0
    wait_until(lambda: not pod.processes_left(), "no process is left")


def test_a_killed_shim_of_a_sibling_namespace_is_lost(pod):
    kill_in(pod.container, signal.SIGKILL)
    wait_until(lambda: pod.reports(), "the report")
    assert pod.report()["cause"] == "shim_lost"
    assert "the shim's process is gone" in pod.log(), "by its pidfd"
    kill_in(pod.supervisor, signal.SIGTERM)
    assert pod.supervisor.wait(timeout=PATIENCE) == 0
