"""What reaches the supervisor as fatal: guarded blocks, tasks, child processes, their opt-outs."""

import asyncio
import concurrent.futures
import os
import select
import signal
import subprocess
import sys
import threading
import types

import pytest
from strict_supervisor import eventually

import lastcall

def exits(code):
    return [sys.executable, "-c", f"import os, signal\n{code}"]


def test_a_guarded_block_reports_what_leaves_it(supervisor, client):
    with pytest.raises(KeyError):
        with client.guard("scheduler"):
            raise KeyError("boom")
    fatal = supervisor.wait("fatal", reason="scheduler failed: KeyError")
    assert "boom" in fatal["detail"] and "Traceback" in fatal["detail"]


def test_a_guarded_function_reports_too(supervisor, client):
    @client.guard("worker")
    def worker():
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        worker()
    supervisor.wait("fatal", reason="worker failed: OSError")


def test_a_guarded_coroutine_function_reports_too(supervisor, client):
    @client.guard("loop")
    async def loop():
        await asyncio.sleep(0)
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        asyncio.run(loop())
    supervisor.wait("fatal", reason="loop failed: OSError")


@pytest.mark.parametrize(
    "harmless",
    [lastcall.Cancelled("r", "control"), lastcall.Rejected("r", "draining"), SystemExit(0),
     asyncio.CancelledError(),
     *([ExceptionGroup("tasks", [lastcall.Cancelled("r", "control")])]  # noqa: F821
       if sys.version_info >= (3, 11) else [])],
)  # fmt: skip
def test_a_guard_lets_pass_what_is_no_failure(supervisor, client, harmless):
    eventually(lambda: client.connected)
    with pytest.raises(type(harmless)):
        with client.guard("x"):
            raise harmless
    client.begin("last").end()
    supervisor.wait("request.end")
    assert supervisor.all("fatal") == []


def test_a_guard_reports_the_errors_of_the_package_that_are_no_cancels(supervisor, client):
    client.begin("live")
    with pytest.raises(lastcall.LastcallError), client.guard("scheduler"):
        client.begin("live")
    supervisor.wait("fatal", reason="scheduler failed: InvalidArgument")


def test_a_watched_task_that_fails_is_fatal(supervisor, client):
    async def engine_loop():
        raise RuntimeError("CUDA error")

    async def main():
        client.watch(asyncio.ensure_future(engine_loop()), "engine loop")
        while not supervisor.all("fatal"):
            await asyncio.sleep(0)

    eventually(lambda: client.connected)
    asyncio.run(asyncio.wait_for(main(), 20))
    fatal = supervisor.wait("fatal", reason="engine loop failed: RuntimeError")
    assert "CUDA error" in fatal["detail"] and "engine_loop" in fatal["detail"]


def test_tasks_that_return_are_cancelled_or_forgotten_are_not_fatal(supervisor, client):
    eventually(lambda: client.connected)
    async def fail():
        raise RuntimeError

    async def main():
        fine = asyncio.ensure_future(asyncio.sleep(0))
        cancelled = asyncio.ensure_future(asyncio.sleep(3600))
        forgotten = asyncio.ensure_future(fail())
        client.watch(fine)
        client.watch(cancelled)
        client.watch(forgotten)()
        cancelled.cancel()
        await asyncio.gather(fine, cancelled, forgotten, return_exceptions=True)

    asyncio.run(main())
    client.begin("last").end()
    supervisor.wait("request.end")
    assert supervisor.all("fatal") == []


def test_with_any_end_a_task_that_returns_is_fatal(supervisor, client):
    async def main():
        task = asyncio.ensure_future(asyncio.sleep(0))
        client.watch(task, "loop", any_end=True)
        await task

    asyncio.run(main())
    assert supervisor.wait("fatal", reason="loop ended")["detail"] == "returned"


def test_a_future_of_a_thread_is_watched(supervisor, client):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        client.watch(pool.submit(lambda: 1 / 0), "pool")
    supervisor.wait("fatal", reason="pool failed: ZeroDivisionError")


@pytest.mark.parametrize(
    "code, words",
    [
        ("os._exit(3)", "exited with 3"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "was ended by SIGSEGV"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL"),
    ],
)
def test_a_child_that_dies_is_fatal_and_still_its_starters_to_reap(supervisor, client, code, words):
    child = subprocess.Popen(exits(code))
    client.watch(child, "engine core")
    assert words in supervisor.wait("fatal", reason="engine core died")["detail"]
    assert child.wait(20) != 0
    assert str(child.pid) in supervisor.all("fatal")[0]["detail"]


@pytest.mark.parametrize("reaped", [False, True])
def test_a_child_that_had_died_before_is_fatal_at_once(supervisor, client, reaped):
    child = subprocess.Popen(exits("os._exit(7)"))
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    if reaped:
        child.wait()
    client.watch(child)
    assert "exited with 7" in supervisor.wait("fatal", reason="child process died")["detail"]
    child.wait()


def test_a_child_of_asyncio_is_watched_too(supervisor, client):
    async def main():
        child = await asyncio.create_subprocess_exec(*exits("input(); os._exit(5)"),
                                                     stdin=subprocess.PIPE)  # fmt: skip
        client.watch(child, "engine core")
        await child.communicate(b"\n")
        return child.returncode

    assert asyncio.run(main()) == 5
    assert "exited with 5" in supervisor.wait("fatal", reason="engine core died")["detail"]


@pytest.mark.parametrize("code", ["pass", "os.kill(os.getpid(), signal.SIGTERM)"])
def test_a_child_that_ends_on_purpose_is_not_fatal_unless_any_end_is(supervisor, client, code):
    quiet, loud = subprocess.Popen(exits(code)), subprocess.Popen(exits(code))
    client.watch(quiet, "quiet")
    quiet.wait(20)
    client.watch(loud, "loud", any_end=True)
    supervisor.wait("fatal", reason="loud died")
    loud.wait(20)
    assert len(supervisor.all("fatal")) == 1


def test_a_forgotten_child_is_not_fatal(supervisor, client):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    client.watch(child, "forgotten")()
    other = subprocess.Popen(exits("os._exit(1)"))
    child.kill()
    child.communicate()
    client.watch(other, "other")
    supervisor.wait("fatal", reason="other died")
    other.wait(20)
    assert len(supervisor.all("fatal")) == 1


def test_forgetting_a_child_that_ended_forgets_no_other(supervisor, client):
    sleep = [sys.executable, "-c", "import time; time.sleep(3600)"]
    eventually(lambda: client.connected)
    ended, other = subprocess.Popen(sleep), subprocess.Popen(sleep)
    forget = client.watch(ended, "ended")
    [number] = client._watcher._children
    ended.terminate()
    ended.wait(20)
    eventually(lambda: not client._watcher._children)
    client.watch(other, "other")
    assert list(client._watcher._children) == [number]  # the same descriptor again
    forget()
    other.kill()
    other.wait(20)
    supervisor.wait("fatal", reason="other died")


def test_a_child_is_not_taken_for_the_one_that_had_its_descriptor(supervisor, client, monkeypatch):
    sleep = [sys.executable, "-c", "import time; time.sleep(3600)"]
    seen, go = threading.Event(), threading.Event()

    class Poll:
        def __init__(self):
            self._poll = real()
            self.register = self._poll.register

        def poll(self, timeout):
            ready = self._poll.poll(timeout)
            if any(fd in client._watcher._children for fd, _ in ready):
                seen.set()
                assert go.wait(20)
            return ready

    real = select.poll
    eventually(lambda: client.connected)
    monkeypatch.setattr("lastcall.watch.select", types.SimpleNamespace(poll=Poll, POLLIN=1))
    ended, other = subprocess.Popen(sleep), subprocess.Popen(sleep)
    forget = client.watch(ended, "ended")
    [number] = client._watcher._children
    ended.kill()
    assert seen.wait(20)
    forget()
    client.watch(other, "other", any_end=True)
    assert list(client._watcher._children) == [number]
    go.set()
    supervisor.hang_up()  # time passes
    supervisor.wait("hello", connection=2)
    other.kill()
    assert "SIGKILL" in supervisor.wait("fatal", reason="other died")["detail"]
    for each in (ended, other):
        each.wait(20)


def test_an_end_while_the_supervisor_cleans_up_is_expected(supervisor, client):
    eventually(lambda: client.connected)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    client.watch(child, "engine core")
    supervisor.send("phase", phase="cleaning_up", deadline_at_ms=10**12)
    eventually(lambda: client.phase == "cleaning_up")
    child.kill()
    child.communicate()
    eventually(lambda: not client._watcher._children)
    client.begin("last").end()
    supervisor.wait("request.end")
    assert supervisor.all("fatal") == []


def test_an_uncaught_exception_while_the_supervisor_cleans_up_is_expected(supervisor, client):
    eventually(lambda: client.connected)
    supervisor.send("phase", phase="cleaning_up", deadline_at_ms=10**12)
    eventually(lambda: client.phase == "cleaning_up")
    sys.excepthook(asyncio.CancelledError, asyncio.CancelledError(), None)
    client.begin("last").end()
    supervisor.wait("request.end")
    assert supervisor.all("fatal") == []


def test_other_things_cannot_be_watched(client):
    with pytest.raises(TypeError, match="expected a task"):
        client.watch("engine")


def test_without_a_supervisor_nothing_is_watched():
    client = lastcall.Client("x", socket="")
    assert client.watch(os.getpid())() is None and client._watcher is None
    with pytest.raises(KeyError):
        with client.guard("x"):
            raise KeyError


def test_a_fork_leaves_the_watch_with_the_parent(supervisor, client):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    client.watch(child, "engine core")
    pid = os.fork()
    if pid == 0:
        os._exit(0 if client._watcher._thread is None else 1)
    assert os.waitpid(pid, 0)[1] == 0
    child.send_signal(signal.SIGKILL)
    supervisor.wait("fatal", reason="engine core died")
    child.communicate()
