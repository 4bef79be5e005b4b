"""Engines that restart for ever, beside one supervisor: nothing of them is left in it."""

import json
import os
import random
import signal
import socket
import sys
import time
from datetime import datetime

import pytest
from serve_peer import PATIENCE, Peer, connect, wait_until
from serve_world import BUILD, SLEEPER

LONG = bool(os.environ.get("LASTCALL_TEST_LONG"))
CONVERSATIONS = 10_000 if LONG else 300
PROCESSES = 4_000 if LONG else 60
FAST_EXIT = os.path.abspath(os.path.join(BUILD, "tests/helpers/fast_exit"))
QUIET = {"shutdown": {"after_stop": "rearm"}, "health": {"interval": "10s"},
         "log": {"level": "error"}}  # fmt: skip


def usage(pid):
    """Descriptors, zombies among its children, resident KiB."""
    with open(f"/proc/{pid}/status") as file:
        resident = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    zombies = 0
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        zombies += fields[0] == "Z" and int(fields[1]) == pid
    return len(os.listdir(f"/proc/{pid}/fd")), zombies, resident


def has_not_grown(one, serve, warm):
    wait_until(lambda: one.status()["phase"] == "starting", "ready for the next one")
    assert serve.poll() is None
    wait_until(lambda: usage(serve.pid)[0] <= warm[0] + 2, "no descriptor is left open")
    after = usage(serve.pid)
    assert after[1] == 0
    if "ASAN_OPTIONS" not in os.environ:  # sanitizers keep what was freed for a while
        assert after[2] <= warm[2] + 1024, f"{warm} before, {after} after"


@pytest.mark.plain_build
@pytest.mark.timeout(3600 if LONG else 180)
def test_engines_that_restart_for_ever_leave_nothing_in_the_supervisor(world):
    """Each engine ends by itself, and now and then its shim is killed in the middle."""
    one = world(**QUIET)
    serve = one.serve()
    wait_until(lambda: os.path.exists(one.socket), "it listens")
    warm = None
    for i in range(PROCESSES):
        shim = one.shim("/bin/true" if i % 7 else sys.executable, *([] if i % 7 else ["-c", ""]))
        if i % 10 == 3:
            shim.kill()  # somewhere between its start and its end
        assert shim.wait(timeout=PATIENCE) in ((1, -signal.SIGKILL) if i % 10 == 3 else (1,))
        one.processes.remove(shim)
        if i == PROCESSES // 3:
            warm = usage(serve.pid)
    has_not_grown(one, serve, warm)


# --- the same without processes: what one conversation costs is then next to nothing


def starts(one, boot):
    """A shim of this boot, as soon as the supervisor is done with the last."""

    def taken():
        try:
            return Peer(one.socket, role="shim", boot=boot, engine={"state": "waiting"})
        except (AssertionError, OSError):
            return None

    shim = wait_until(taken, "a place for the next shim", pause=0)
    shim.expect("engine.start")
    shim.ask("engine.started", pid=4242, at_ms=1)
    return shim


def comes_back(one, shim, boot):
    shim.close()
    return Peer(one.socket, role="shim", boot=boot, engine={"state": "running", "pid": 4242})


def loses_an_sdk(one):
    sdk = Peer(one.socket)
    sdk.ask("endpoint.register", endpoint="generate")
    sdk.ask("request.begin", id="r", endpoint="generate")
    sdk.close()


def says_garbage(one):
    stranger = connect(one.socket)
    stranger.sendall(b"\x00{]\n" * 3)
    stranger.close()


def passes_what_nobody_asked_for(one):
    stranger = connect(one.socket)
    read_end, write_end = os.pipe()
    hello = json.dumps({"op": "hello", "version": 1, "role": "engine", "name": "x"}) + "\n"
    socket.send_fds(stranger, [hello.encode()], [read_end, write_end])
    stranger.close()
    os.close(read_end)
    os.close(write_end)


@pytest.mark.plain_build
@pytest.mark.timeout(3600 if LONG else 180)
def test_conversations_that_fail_at_any_point_leave_nothing_in_the_supervisor(world):
    one = world(**QUIET)
    serve = one.serve()
    wait_until(lambda: os.path.exists(one.socket), "it listens")
    chance = random.Random(20_000)
    warm = None
    for i in range(CONVERSATIONS):
        boot = f"boot{i}"
        shim = starts(one, boot)
        for fault in chance.sample((loses_an_sdk, says_garbage, passes_what_nobody_asked_for), 2):
            if chance.random() < 0.2:
                fault(one)
        if chance.random() < 0.2:
            shim = comes_back(one, shim, boot)
        if chance.random() < 0.1:
            with pytest.raises(AssertionError):  # busy
                Peer(one.socket, role="shim", boot="another", engine={"state": "waiting"})
        shim.send("engine.exited", code=i % 3, oom=False, at_ms=2)
        assert shim.expect("exit")["code"] == 1
        shim.close()
        if i == CONVERSATIONS // 3:
            warm = usage(serve.pid)
    has_not_grown(one, serve, warm)


# --- each end is seen, at once


def test_an_engine_that_ends_at_once_is_told_exactly_once_every_time(world):
    one = world(shutdown={"after_stop": "rearm"})
    one.serve()
    wait_until(lambda: os.path.exists(one.socket), "it listens")
    for i in range(40):
        assert one.shim(FAST_EXIT, str(i + 1)).wait(timeout=PATIENCE) == 1
    wait_until(lambda: len(one.reports()) == 40, "a report of each")
    assert [report["engine"]["code"] for report in one.reports()] == list(range(1, 41))
    assert {report["cause"] for report in one.reports()} == {"engine_exited"}


def test_the_end_of_a_shim_is_an_event_that_no_timer_has_to_find(world):
    """Most of them within 100 ms: something that looks now and then would find few so soon."""
    one = world(shutdown={"after_stop": "rearm"})
    one.serve()
    wait_until(lambda: os.path.exists(one.socket), "it listens")
    soon = []
    for i in range(10):
        shim = one.shim(*SLEEPER)
        wait_until(lambda: one.log().count('"phase begun","phase":"serving"') > i, "serving")
        killed = time.time()
        shim.kill()
        shim.wait()
        wait_until(lambda: len(one.reports()) > i, "the report")
        [*_, gone] = [r for r in one.records() if r["msg"] == "the shim's process is gone"]
        soon.append(datetime.fromisoformat(gone["ts"]).timestamp() - killed < 0.1)
    assert sum(soon) >= 5, soon
