"""Engines that restart for ever, beside one supervisor: nothing of them is left in it."""

import itertools
import json
import os
import random
import signal
import socket
import statistics
import sys
import time
from datetime import datetime

import pytest
from serve_peer import PATIENCE, Peer, connect, wait_until
from serve_usage import anonymous, children, kinds_of_descriptors, open_descriptors, threads
from serve_world import BUILD, SLEEPER

LONG = bool(os.environ.get("LASTCALL_TEST_LONG"))
CONVERSATIONS = 10_000 if LONG else 300
PROCESSES = 10_000 if LONG else 60
SUPERVISORS = 500 if LONG else 20
SHORT = 12  # laps that show everything but memory, of which a sanitizer keeps what was freed
FAST_EXIT = os.path.abspath(os.path.join(BUILD, "tests/helpers/fast_exit"))
# The supervisor remembers a peer that went away for this window. With a short one its memory
# depends less on the pace of the test.
QUIET = {"shutdown": {"after_stop": "rearm"}, "health": {"interval": "10s"},
         "log": {"level": "error"}, "ipc": {"reconnect_window": "100ms"}}  # fmt: skip


def laps(many):
    return pytest.mark.parametrize(
        "count", [SHORT, pytest.param(many, marks=pytest.mark.plain_build)], ids=["few", "many"]
    )


def with_children(world):
    """A supervisor that starts a process for each engine, and one more for each stop."""
    one = world(**QUIET)
    script = ("/bin/sh", "-c")
    one.config["health"]["checks"] = [
        {"name": "checked", "exec": {"command": [*script, f"echo >> {one.path('checked')}"]}}
    ]
    one.config["cleanup"] = {"hooks": [
        {"name": "cleaned", "command": [*script, f"echo >> {one.path('cleaned')}"]}
    ]}  # fmt: skip
    return one


def ran(one, name):
    """How often that child ran."""
    return os.path.getsize(one.path(name)) if os.path.exists(one.path(name)) else 0


def has_grown(samples):
    """By more than a page in each of the last four sixths, and by much in all of them: kB.

    What is still settling grows in the first ones. A buffer that grows once, or a path that a busy
    machine takes for the first time, grows in one of them, however large it is; medians, so that a
    single lap which took more does not count.
    """
    sixth = len(samples) // 6
    at = [statistics.median(samples[n * sixth : (n + 1) * sixth]) for n in range(6)]
    steps = [after - before for before, after in itertools.pairwise(at[1:])]
    return min(steps) > 4 and sum(steps) > 0.02 * at[1]


class Watched:
    """The supervisor over all laps."""

    def __init__(self, one, serve, count):
        self.one, self.serve, self.count = one, serve, count
        self.samples = []
        self.descriptors = None

    def lap(self, number):
        if number % max(1, self.count // 300) == 0:
            self.samples.append(anonymous(self.serve.pid))
        if number == self.count // 3:
            self.rest()
            self.descriptors = open_descriptors(self.serve.pid)  # with that of `status` or without

    def rest(self):
        def is_for_the_next():  # whose one check may pass before it is there
            status = self.one.status()
            return status["engine"]["shim"] == "none" and status["phase"] in ("starting", "serving")

        wait_until(is_for_the_next, "ready for the next one")
        wait_until(lambda: not children(self.serve.pid), "no child is left, no zombie either")

    def has_not_grown(self):
        self.rest()
        assert self.serve.poll() is None
        wait_until(lambda: open_descriptors(self.serve.pid) <= self.descriptors, "none left open")
        assert self.count == SHORT or not has_grown(self.samples), str(self.samples)


def test_growth_is_told_apart_from_what_settles_and_from_noise():
    noise = random.Random(1)

    def memory(a_lap, settled=0):
        return [2000 + a_lap * n - settled * 0.8**n + noise.uniform(-8, 8) for n in range(60)]

    assert not has_grown(memory(0)) and not has_grown(memory(0, settled=800))
    assert has_grown(memory(2.5)) and has_grown(memory(10, settled=800))
    pages = [1424 + 4 * (n // 40) for n in range(300)]
    assert not has_grown(pages[:250] + [page + 64 for page in pages[250:]])


def ends_somehow(one, chance):
    """An engine, which ends by itself or is killed, or its shim is, in the middle of anything."""
    fate = chance.choices(("by itself", "slowly", "shim killed", "engine killed"), (6, 1, 2, 2))[0]
    delay = chance.uniform(0, 0.05)
    if fate == "by itself":
        assert one.shim("/bin/true").wait(timeout=PATIENCE) == 1
    elif fate == "slowly":
        assert one.shim(sys.executable, "-c", "").wait(timeout=PATIENCE) == 1
    elif fate == "shim killed":
        shim = one.shim("/bin/sleep", "0.3")
        wait_until(lambda: True, pause=delay)
        shim.kill()
        assert shim.wait(timeout=PATIENCE) in (-signal.SIGKILL, 1)
    else:
        shim = one.shim("/bin/sleep", "30")
        engine = next(iter(wait_until(lambda: children(shim.pid), "the engine")))
        wait_until(lambda: True, pause=delay)
        os.kill(engine, signal.SIGKILL)
        assert shim.wait(timeout=PATIENCE) == 1
    one.processes.pop()


@pytest.mark.timeout(7200 if LONG else 180)
@laps(PROCESSES)
def test_engines_that_restart_for_ever_leave_nothing_in_the_supervisor(world, count):
    one = with_children(world)
    serve = one.serve()
    wait_until(lambda: os.path.exists(one.socket), "it listens")
    watched, chance = Watched(one, serve, count), random.Random(30_000 + count)
    for number in range(count):
        ends_somehow(one, chance)
        watched.lap(number)
    watched.has_not_grown()
    assert ran(one, "checked") >= count // 2 and ran(one, "cleaned") >= count // 2


def without_pidfds(pid):
    return [kind for kind in kinds_of_descriptors(pid) if kind != "anon_inode:[pidfd]"]


@pytest.mark.timeout(3600 if LONG else 180)
@laps(SUPERVISORS)
def test_supervisors_that_are_killed_for_ever_leave_nothing_in_the_shim(world, count):
    """In a stop, where the next one is started after 0.1 s each time."""
    one = world(shutdown={"grace_period": "1h", "drain_unknown": "1h", "second_signal": "force"})
    run = one.run(*SLEEPER)
    one.wait_for_phase("serving")
    run.send_signal(signal.SIGTERM)
    one.wait_for_phase("draining")
    deadline = one.status()["deadline_at_ms"]
    samples, used = [], None
    for number in range(count):
        supervisor = one.supervisor_pid()
        os.kill(supervisor, signal.SIGKILL)
        wait_until(lambda before=supervisor: one.supervisor_pid() not in (0, before), "the next")
        one.wait_for_phase("draining")
        samples.append(anonymous(run.pid))
        if number == count // 3:
            used = len(without_pidfds(run.pid))
    status = one.status()
    assert status["deadline_at_ms"] == deadline
    assert set(children(run.pid)) == {one.supervisor_pid(), status["engine"]["pid"]}
    # One pidfd is the engine's, once the shim has looked at its tree; to look it opens others.
    wait_until(lambda: len(kinds_of_descriptors(run.pid)) - len(without_pidfds(run.pid)) <= 1)
    wait_until(lambda: len(without_pidfds(run.pid)) <= used, "none is left of those that died")
    assert threads(run.pid) == 1
    assert count == SHORT or not has_grown(samples), str(samples)
    run.send_signal(signal.SIGTERM)
    assert run.wait(timeout=PATIENCE) == 0


# --- the same without processes: one conversation then costs next to nothing


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


def sends_junk(one):
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


@pytest.mark.timeout(3600 if LONG else 180)
@laps(CONVERSATIONS)
def test_conversations_that_fail_at_any_point_leave_nothing_in_the_supervisor(world, count):
    one = with_children(world)
    serve = one.serve()
    wait_until(lambda: os.path.exists(one.socket), "it listens")
    watched = Watched(one, serve, count)
    chance = random.Random(20_000)
    for i in range(count):
        boot = f"boot{i}"
        shim = starts(one, boot)
        for fault in chance.sample((loses_an_sdk, sends_junk, passes_what_nobody_asked_for), 2):
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
        watched.lap(i)
    watched.has_not_grown()
    assert ran(one, "checked") >= count // 2 and ran(one, "cleaned") >= count // 2


# --- each end is seen, at once


def test_an_engine_that_ends_at_once_is_reported_exactly_once_every_time(world):
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


GONE = {"shim disconnected", "the shim's process is gone"}


def test_only_a_shim_that_ends_before_its_engine_is_warned_of(world):
    """After its engine's end it has nothing left to do."""
    one = world(shutdown={"after_stop": "rearm"})
    one.serve()
    wait_until(lambda: os.path.exists(one.socket), "it listens")
    shim = one.shim(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    shim.send_signal(signal.SIGTERM)
    assert shim.wait(timeout=PATIENCE) == 0
    one.wait_for_log("the shim's process is gone")
    assert {r["level"] for r in one.records() if r["msg"] in GONE} == {"INFO"}
    shim = one.shim(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"', 2)
    shim.kill()
    shim.wait()
    one.wait_for_log("the shim's process is gone", 2)
    assert GONE <= {r["msg"] for r in one.records() if r["level"] == "WARNING"}


def test_a_second_outage_after_a_replacement_is_fatal_again(world):
    """What the first engine had failed and passed is nothing to its successors."""
    one = world(health={"failure_threshold": 2})
    bad = one.path("bad")
    check = {"command": ["/bin/sh", "-c", f"test ! -e {bad}"]}
    one.config["health"]["checks"] = [{"name": "probe", "exec": check}]
    one.serve()
    for outage in (1, 2):
        shim = one.shim(*SLEEPER)
        one.wait_for_log('"phase begun","phase":"serving"', outage)
        assert one.status()["health"]["verdict"] == "healthy"
        with open(bad, "w"):
            pass
        assert shim.wait(timeout=PATIENCE) == 1
        wait_until(lambda n=outage: len(one.reports()) == n, "its report")
        os.unlink(bad)
        one.wait_for_log("ready for the next engine", outage)
    assert [report["cause"] for report in one.reports()] == ["dead", "dead"]
    assert one.log().count('"verdict":"dead"') == 2, "each outage is reported once"
