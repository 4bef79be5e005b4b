"""Processes: the shared client, exits, uncaught exceptions, fork and exec."""

import os
import subprocess
import sys

import pytest

SDK = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def run_python(code, path, **kwargs):
    environment = {**os.environ, "PYTHONPATH": SDK, "LASTCALL_SOCKET": path}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, timeout=60, capture_output=True, text=True,
        **kwargs,
    )  # fmt: skip


def test_connect_gives_one_client_a_process(supervisor, path):
    done = run_python(
        "import lastcall\n"
        "a = lastcall.connect('one', critical=True)\n"
        "assert lastcall.connect() is a\n"
        "try: lastcall.connect('two')\n"
        "except lastcall.LastcallError as error: print(error)\n",
        path,
    )
    assert "two" in done.stdout, done.stderr
    assert len(supervisor.all("hello")) == 1


def test_the_last_message_arrives_before_the_process_ends(supervisor, path):
    done = run_python(
        "import lastcall, time\n"
        "client = lastcall.connect()\n"
        "while not client.connected: time.sleep(0.01)\n"
        "client.begin('r').end()\n",
        path,
    )
    assert done.returncode == 0, done.stderr
    supervisor.wait("request.end", id="r", timeout=5)


@pytest.mark.parametrize(
    "code, reason",
    [
        ("client = lastcall.connect()\nraise KeyError('boom')", "uncaught KeyError"),
        (
            "client = lastcall.connect(critical=True)\n"
            "t = threading.Thread(target=lambda: 1 / 0, name='worker')\nt.start(); t.join()",
            "uncaught ZeroDivisionError in thread worker",
        ),
    ],
)
def test_an_uncaught_exception_is_reported_as_fatal(supervisor, path, code, reason):
    done = run_python("import lastcall, threading\n" + code, path)
    fatal = supervisor.wait("fatal", reason=reason)
    assert "Traceback" in fatal["detail"]
    assert "Traceback" in done.stderr  # the usual hook still works


@pytest.mark.parametrize(
    "error", ["Cancelled('r', 'operator')", "Rejected('r', 'draining')", "LastcallError('other')"]
)
def test_a_request_that_ends_a_thread_is_not_fatal(supervisor, path, error):
    done = run_python(
        "import lastcall, threading, time\n"
        "client = lastcall.connect(critical=True)\n"
        "while not client.connected: time.sleep(0.01)\n"
        "def work():\n"
        f"    raise lastcall.{error}\n"
        "thread = threading.Thread(target=work)\nthread.start(); thread.join()\n"
        "client.begin('last').end()",
        path,
    )
    supervisor.wait("request.end", id="last")
    assert len(supervisor.all("fatal")) == (1 if error.startswith("LastcallError") else 0)
    assert error.split("(")[0] in done.stderr  # the usual hook still works


def test_reporting_uncaught_exceptions_can_be_turned_off(supervisor, path):
    run_python(
        "import lastcall, time\n"
        "client = lastcall.connect(critical=True, report_uncaught='off')\n"
        "while not client.connected: time.sleep(0.01)\n"
        "raise KeyError('boom')",
        path,
    )
    assert supervisor.all("fatal") == []


FORK_UNDER_LOAD = """
import lastcall, os, threading, time
client = lastcall.connect()
stop = threading.Event()
def work():
    while not stop.wait(0.0001):
        with client.begin() as context: context.progress()
threads = [threading.Thread(target=work) for _ in range(4)]
for each in threads: each.start()
parent = client.begin()
for _ in range(60):
    pid = os.fork()
    if pid == 0:
        child = client.begin(parent=parent)
        parent.kill(); child.end(); parent.end()
        os._exit(0)
    deadline = time.monotonic() + 20
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        assert time.monotonic() < deadline, "the child hangs"
        time.sleep(0.001)
stop.set()
for each in threads: each.join()
assert not parent.is_stopped()
"""


def test_forking_while_other_threads_work_locks_nobody_up(supervisor, path):
    done = run_python(FORK_UNDER_LOAD, path)
    assert done.returncode == 0, done.stderr


FORK = """
import lastcall, os, time
client = lastcall.connect("parent")
context = client.begin("r")
while not client.connected: time.sleep(0.01)
pid = os.fork()
if pid == 0:
    assert not client.enabled and client.find("r") is None
    context.kill(); context.end()          # of no consequence
    client.begin("child-only").end()
    client.close()
    mine = lastcall.connect("child")
    assert mine is not client and mine.enabled
    while not mine.connected: time.sleep(0.01)
    mine.begin("c").end()
    mine.close()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
assert client.connected and not context.is_stopped()
context.end()
"""


def test_a_forked_child_is_detached_until_it_connects(supervisor, path):
    done = run_python(FORK, path)
    assert done.returncode == 0, done.stderr
    supervisor.wait("request.end", id="r", connection=1)
    supervisor.wait("request.end", id="c", connection=2)
    assert [each["name"] for each in supervisor.all("hello")] == ["parent", "child"]
    assert {each["id"] for each in supervisor.all("request.begin")} == {"r", "c"}
    assert supervisor.all("cancel") == []


def test_an_executed_program_inherits_no_descriptor(supervisor, path):
    done = run_python(
        "import lastcall, os, time\n"
        "client = lastcall.connect()\n"
        "while not client.connected: time.sleep(0.01)\n"
        "os.execv('/bin/ls', ['ls', '/proc/self/fd'])",
        path,
    )
    # 0 to 2, and the one with which ls reads the directory.
    assert len(done.stdout.split()) == 4, done.stdout


FORK_AFTER_CLOSE = """
import lastcall, os, subprocess, sys
client = lastcall.connect("engine")
while not client.connected: pass
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
client.watch(child, "core")
client.close()
child.communicate(b"\\n")
mine = [os.open("/dev/null", os.O_RDONLY) for _ in range(32)]  # they take the free numbers
pid = os.fork()
if pid == 0:
    for fd in mine: os.fstat(fd)
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
for fd in mine: os.fstat(fd)
client.watch(os.getpid(), "self")  # of a closed client: nothing is written anywhere
"""


def test_a_fork_after_the_close_leaves_other_descriptors_alone(supervisor, path):
    done = run_python(FORK_AFTER_CLOSE, path)
    assert done.returncode == 0, done.stderr
