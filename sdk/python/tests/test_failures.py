"""What reaches the supervisor as fatal: guarded blocks, tasks, child processes, their opt-outs."""

import asyncio
import concurrent.futures
import os
import signal
import subprocess
import sys

import pytest
from strict_supervisor import eventually
from test_process import SDK, run_python

import lastcall

PREAMBLE = """
import lastcall, multiprocessing, os, signal, sys, threading, time
def connected(**options):
    client = lastcall.connect(**options)
    while not client.connected: time.sleep(0.01)
    return client
"""


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
     asyncio.CancelledError()],
)  # fmt: skip
def test_a_guard_lets_pass_what_is_no_failure(supervisor, client, harmless):
    eventually(lambda: client.connected)
    with pytest.raises(type(harmless)):
        with client.guard("x"):
            raise harmless
    client.begin("last").end()
    supervisor.wait("request.end")
    assert supervisor.all("fatal") == []


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
def test_a_child_that_dies_is_fatal_and_still_its_starters_to_reap(
    supervisor, client, code, words
):
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


def test_what_ends_while_the_supervisor_cleans_up_is_expected(supervisor, client):
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


def test_other_things_cannot_be_watched(client):
    with pytest.raises(TypeError, match="expected a task"):
        client.watch("engine")


def test_without_a_supervisor_nothing_is_watched():
    client = lastcall.Client("x", socket="")
    assert client.watch(os.getpid())() is None and client._watcher is None
    with pytest.raises(KeyError):
        with client.guard("x"):
            raise KeyError


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="multiprocessing tells nobody any more")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_an_exception_in_a_child_of_multiprocessing_reaches_the_supervisor(
    supervisor, path, tmp_path, method
):
    script = tmp_path / "engine.py"
    script.write_text(PREAMBLE + f"""
def core():
    connected(name="core")
    raise ValueError("engine core failed")
if __name__ == "__main__":
    connected(name="server")
    child = multiprocessing.get_context({method!r}).Process(target=core, name="EngineCore")
    child.start(); child.join()
""")
    environment = {**os.environ, "PYTHONPATH": SDK, "LASTCALL_SOCKET": path}
    subprocess.run([sys.executable, str(script)], env=environment, timeout=60)
    fatal = supervisor.wait("fatal")
    assert fatal["reason"] == "uncaught ValueError in MainThread"
    assert "engine core failed" in fatal["detail"] and "in core" in fatal["detail"]


def test_a_guarded_target_of_multiprocessing_reaches_the_supervisor(supervisor, path):
    run_python(PREAMBLE + """
def core():
    client = connected(name="core")
    with client.guard("engine core"): raise ValueError("boom")
child = multiprocessing.get_context("fork").Process(target=core)
child.start(); child.join()
""", path)
    assert "boom" in supervisor.wait("fatal", reason="engine core failed: ValueError")["detail"]


def test_a_forked_child_of_multiprocessing_says_its_last_words(supervisor, path):
    done = run_python(PREAMBLE + """
def work():
    client = connected(name="child")
    for _ in range(500): client.begin().end()
child = multiprocessing.get_context("fork").Process(target=work)
child.start(); child.join()
""", path)
    assert done.returncode == 0, done.stderr
    supervisor.wait("request.end", 500)


DIES = """
def work(how):
    if how == "segv": os.kill(os.getpid(), signal.SIGSEGV)
    if how == "term": os.kill(os.getpid(), signal.SIGTERM)
    if how == "exit": os._exit(9)
client = connected({options})
child = multiprocessing.get_context("fork").Process(target=work, args=({how!r},), name="core")
child.start()
if {how!r} in ("segv", "exit") and {wait}:
    while client._session._fatal is None: time.sleep(0.01)
child.join()
client.begin("last").end()
"""


@pytest.mark.parametrize("how, words", [("segv", "SIGSEGV"), ("exit", "exited with 9")])
def test_a_critical_process_reports_its_children_by_itself(supervisor, path, how, words):
    code = PREAMBLE + DIES.format(options="critical=True", how=how, wait=True)
    done = run_python(code, path)
    assert done.returncode == 0, done.stderr
    assert words in supervisor.wait("fatal", reason="child process core died")["detail"]


@pytest.mark.parametrize(
    "options, how",
    [
        ("critical=True", "term"),
        ("critical=True", "fine"),
        ("critical=True, report_uncaught='off'", "exit"),
        ("", "exit"),
    ],
)
def test_children_are_not_reported_by_others_or_when_that_is_turned_off(
    supervisor, path, options, how
):
    code = PREAMBLE + DIES.format(options=options, how=how, wait=False)
    assert run_python(code, path).returncode == 0
    supervisor.wait("request.end", id="last")
    assert supervisor.all("fatal") == []


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
