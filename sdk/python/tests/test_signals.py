"""The program's signals are not taken by the SDK's threads."""

import signal
import subprocess
import sys
import threading

import pytest
from strict_supervisor import eventually
from test_process import run_python

from lastcall import threads


def mask_of(thread):
    with open(f"/proc/self/task/{thread.native_id}/status", encoding="ascii") as status:
        [word] = [line.split()[1] for line in status if line.startswith("SigBlk:")]
    return {number for number in range(1, 65) if int(word, 16) >> (number - 1) & 1}


@pytest.fixture
def child():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.communicate(b"\n")


def test_every_thread_blocks_them(supervisor, client, child):
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    eventually(lambda: client.connected)
    phases = []
    client.on_phase(phases.append)
    client.watch(child, "core")
    supervisor.send("health.check")
    supervisor.send("deregister")
    supervisor.send("cleanup", deadline_at_ms=10**12)
    supervisor.send("phase", phase="draining", deadline_at_ms=10**12)
    for answer in ("health", "deregistered", "cleanup.done"):
        supervisor.wait(answer)
    eventually(lambda: phases[-1:] == ["draining"])
    lanes = client._callbacks
    ours = [
        each._thread
        for each in (client._session._link, client._watcher, lanes.health, lanes.cleanup,
                     lanes.deregister, lanes.phase)
    ]  # fmt: skip
    wanted = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGUSR1}
    for thread in ours:  # one that ended its callback blocks them again a moment later
        eventually(lambda thread=thread: wanted <= mask_of(thread))
        assert not mask_of(thread) & {signal.SIGSEGV, signal.SIGBUS}  # they are its own faults
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


BLOCKS_AFTER_IT_CONNECTED = """
import lastcall, os, signal, threading, time
client = lastcall.connect()
blocked = []
def look(seconds): blocked.append(signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, ()))
client.on_cleanup(look)
while not client.connected: time.sleep(0.01)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
for _ in range(20):
    os.kill(os.getpid(), signal.SIGTERM)
    assert signal.sigtimedwait([signal.SIGTERM], 20)
client.register_endpoint("asks for the cleanup")
while not blocked: time.sleep(0.01)
assert blocked == [True]
"""


def test_a_signal_that_is_blocked_after_the_connect_is_the_programs(supervisor, path):
    ask = threading.Thread(
        target=lambda: supervisor.wait("endpoint.register", timeout=50)
        and supervisor.send("cleanup", deadline_at_ms=0)
    )
    ask.start()
    done = run_python(BLOCKS_AFTER_IT_CONNECTED, path)
    ask.join(60)
    assert done.returncode == 0, done.stderr


PENDING_FOR_MAIN = """
import os, signal, threading
from lastcall import callbacks, threads
taken, asked = [], threading.Event()
signal.signal(signal.SIGUSR1, lambda *_: taken.append(1))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
threads._mask_of_main = lambda: set()  # main was chosen for it and has not run yet
os.kill(os.getpid(), signal.SIGUSR1)
ours = callbacks.Callbacks()
ours.{kind}.add(lambda *_: asked.set())
ours.{ask}
assert asked.wait(20)
assert signal.sigpending() == {{signal.SIGUSR1}} and not taken
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
assert taken == [1]
"""


@pytest.mark.parametrize(
    "kind, ask",
    [("health", "check_health(print)"), ("cleanup", "clean_up(print, 0)"),
     ("deregister", "leave_registries(print)")],
)  # fmt: skip
def test_a_callback_takes_no_signal_that_is_pending_for_the_main_thread(path, kind, ask):
    done = run_python(PENDING_FOR_MAIN.format(kind=kind, ask=ask), path)
    assert done.returncode == 0, done.stderr


def test_a_thread_opens_to_signals_only_for_a_callback(supervisor, client, monkeypatch):
    opened = []

    def mask_of_main():
        opened.append(threading.current_thread().name)

    monkeypatch.setattr(threads, "_mask_of_main", mask_of_main)
    eventually(lambda: client.connected)

    def ask(count):
        supervisor.send("phase", phase="draining", deadline_at_ms=10**12)
        supervisor.send("phase", phase="cleaning_up", deadline_at_ms=10**12)
        for op in ("health.check", "deregister", "cleanup"):
            supervisor.send(op, deadline_at_ms=10**12)
        for answer in ("health", "deregistered", "cleanup.done"):
            supervisor.wait(answer, count)

    ask(1)
    assert opened == []
    for on in (client.on_health, client.on_cleanup, client.on_deregister):
        on(lambda *_: None)
    ask(2)
    assert sorted(opened) == ["lastcall-cleanup", "lastcall-deregister", "lastcall-health"]


def test_a_process_that_a_callback_starts_can_be_terminated(supervisor, client):
    eventually(lambda: client.connected)
    ends = []

    @client.on_cleanup
    def clean_up(seconds):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        child.terminate()
        try:
            ends.append(child.wait(20))
        finally:
            child.kill()
            child.communicate()

    supervisor.send("cleanup", deadline_at_ms=0)
    supervisor.wait("cleanup.done", timeout=50)
    assert ends == [-signal.SIGTERM]
