"""Children of multiprocessing: what they send last, and how their death is reported."""

import os
import subprocess
import sys

import pytest
from test_process import SDK, run_python

PREAMBLE = """
import lastcall, multiprocessing, os, signal, sys, threading, time
def connected(**options):
    client = lastcall.connect(**options)
    while not client.connected: time.sleep(0.01)
    return client
"""


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="multiprocessing reports it no more")
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


def test_a_forked_child_of_multiprocessing_sends_its_last_messages(supervisor, path):
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


AT_THE_TOP = """
import concurrent.futures, lastcall, multiprocessing, sys, threading, time
client = lastcall.connect("server", critical=True)
def work():
    while client.enabled and not client.connected: time.sleep(0.01)
def work_critically():
    assert lastcall.connect("server", critical=True) is client
    thread = threading.Thread(target=lambda: 1 / 0, name="worker")
    thread.start(); thread.join()
    while not client.draining: time.sleep(0.01)
if __name__ == "__main__":
    how, method = sys.argv[1:]
    while not client.connected: time.sleep(0.01)
    context = multiprocessing.get_context(method)
    if how == "pool":
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
            pool.submit(work).result()
    else:
        child = context.Process(target=globals()[how])
        child.start(); child.join()
    input()
"""


@pytest.fixture
def start(path, tmp_path):
    """Starts the script above, which ends with the test."""
    script = tmp_path / "engine.py"
    script.write_text(AT_THE_TOP)
    environment = {**os.environ, "PYTHONPATH": SDK, "LASTCALL_SOCKET": path}
    started = []

    def start(*arguments):
        command = [sys.executable, str(script), *arguments]
        started.append(subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, text=True))

    yield start
    for process in started:
        process.communicate("\n", timeout=60)
        assert process.returncode == 0


@pytest.mark.parametrize(
    "how, method", [("work", "spawn"), ("work", "forkserver"), ("pool", "spawn")]
)
def test_a_child_that_imports_a_critical_main_module_is_not_critical(
    supervisor, start, how, method
):
    start(how, method)
    supervisor.wait("hello", 2, timeout=50)
    assert [each["critical"] for each in supervisor.all("hello")] == [True, False]


def test_a_child_whose_target_asks_to_be_critical_is(supervisor, start):
    start("work_critically", "spawn")
    supervisor.wait("hello", 2, critical=True, timeout=50)
    supervisor.wait("fatal", reason="uncaught ZeroDivisionError in thread worker", timeout=50)
    supervisor.send("phase", phase="draining", deadline_at_ms=10**12)
