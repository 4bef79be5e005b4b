"""A process that cannot start a thread, for a moment or for good."""

import contextlib
import os
import subprocess
import sys
import threading

import pytest
from strict_supervisor import eventually


def refuse_threads(monkeypatch, prefix):
    """No such thread can be started until the list that this returns has been emptied."""
    start, refused = threading.Thread.start, [True]

    def refuse(thread):
        if refused and thread.name.startswith(prefix):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    return refused


@pytest.fixture
def no_threads(monkeypatch):
    return refuse_threads(monkeypatch, "lastcall-")


@pytest.fixture
def no_thread_at_all(monkeypatch):
    return refuse_threads(monkeypatch, "lastcall")


def test_without_a_thread_everything_is_answered_in_order(caplog, supervisor, no_threads, client):
    called = []
    client.on_deregister(lambda: called.append("deregister"))
    client.on_cleanup(lambda seconds: called.append("cleanup"))
    client.on_cleanup(lambda seconds: 1 / 0)
    client.on_phase(called.append)
    eventually(lambda: client.connected)
    supervisor.send("deregister", seq=1)
    supervisor.wait("deregistered")
    supervisor.send("phase", phase="draining", deadline_at_ms=10**12)
    supervisor.send("cleanup", deadline_at_ms=0, seq=2)
    supervisor.wait("cleanup.done")
    supervisor.wait("ack", seq=2)
    assert called[-3:] == ["deregister", "draining", "cleanup"]
    for name in ("deregister", "cleanup"):
        assert caplog.text.count(f"no thread for the {name} callbacks: can't start") == 1
    assert caplog.text.count("no thread for the phase callbacks") <= 1  # once, at the welcome


def test_health_is_asked_again_once_there_are_threads(caplog, supervisor, no_threads, client):
    eventually(lambda: client.connected)
    ran_on = []
    client.on_health(lambda: ran_on.append(threading.current_thread().name))
    for number in (1, 2):
        supervisor.send("health.check", seq=number)
        supervisor.wait("ack", seq=number)
    assert ran_on == [] and caplog.text.count("health callbacks") == 1
    no_threads.clear()
    supervisor.send("health.check")
    assert supervisor.wait("health")["status"] == "healthy"
    assert ran_on == ["lastcall-health"]


def pids_held():
    """The ids of the processes to which this one has descriptors."""
    held = []
    for fd in os.listdir("/proc/self/fdinfo"):
        with contextlib.suppress(OSError), open(f"/proc/self/fdinfo/{fd}") as lines:
            held += [line.split()[1] for line in lines if line.startswith("Pid:")]
    return held


def test_a_watch_that_no_thread_could_serve_can_be_made_again(supervisor, no_threads, client):
    eventually(lambda: client.connected)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    with pytest.raises(RuntimeError, match="new thread"):
        client.watch(child, "core")
    assert client._watcher._children == {} and str(child.pid) not in pids_held()
    no_threads.clear()
    client.watch(child, "core")
    assert str(child.pid) in pids_held()
    child.kill()
    child.wait(20)
    supervisor.wait("fatal", reason="core died")


def test_without_its_own_thread_a_client_is_as_one_without_a_supervisor(
    caplog, no_thread_at_all, make_client, monkeypatch
):
    monkeypatch.setattr("lastcall.link._THREAD_RETRY", 0)
    client = make_client(critical=True)
    client.register_endpoint("generate")
    client.on_deregister(lambda: None)
    with client.request("r", endpoint="generate") as context:
        assert not context.is_stopped()
    with client.request("admitted", admit=True):
        pass  # at once
    assert not client.connected
    assert caplog.text.count("no thread for the lastcall connection") == 1
    assert caplog.text.count("child processes are not watched") == 1
    client.close()


def test_a_client_connects_once_its_thread_can_be_started(
    supervisor, no_thread_at_all, make_client, monkeypatch
):
    monkeypatch.setattr("lastcall.link._THREAD_RETRY", 0)
    client = make_client()
    client.register_endpoint("generate")
    no_thread_at_all.clear()
    with client.request("r", endpoint="generate"):
        supervisor.wait("endpoint.register", endpoint="generate")
        supervisor.wait("request.begin", id="r")
    supervisor.wait("request.end", id="r")


def test_an_engine_that_may_start_no_process_and_no_thread_goes_on(path):
    """With the limit of a real user: root has none."""
    program = """
import os, resource
os.setgid(65534)
os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
import lastcall
client = lastcall.connect(socket="SOCKET")
with client.request("r"):
    pass
print("served", client.connected)
"""
    if os.getuid() != 0:
        pytest.skip("needs root, to become a user without processes")
    where = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    done = subprocess.run(
        [sys.executable, "-c", program.replace("SOCKET", path)], check=False, timeout=30,
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": where},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "served False\n"), done.stderr
