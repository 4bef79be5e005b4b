"""The supervisor killed, stopped for a while, and stopped for good, in each phase.

A stop that was under way keeps phase, cause and deadline; the engine is not touched; the code is
the one of a stop without the fault.
"""

import os
import signal
import threading
import time

import pytest
from in_time import unless_late
from known_process import KnownProcess, is_alive
from serve_peer import holds_for, wait_until
from serve_phases import PHASES, Held

MODES = ("run", "beside")


@pytest.fixture(params=MODES)
def held(request, world):
    """Makes worlds that are held in a phase; a kubelet does not outlive the test."""
    made = []

    def make(phase, **shutdown):
        made.append(Held(world, phase, request.param, **shutdown))
        return made[-1]

    yield make
    for one in made:
        one.let_go()


def is_back(one, before):
    """The next life has taken its place: shim and SDK are connected, every request is known."""
    status = one.status()
    return (
        status["engine"].get("shim") == "connected"
        and status["phase"] == before["phase"]
        and status["in_flight"]["requests"] == before["in_flight"]["requests"]
        and [p["name"] for p in status["peers"] if p["connected"]] == ["held"]
    )


def same_story(before, now):
    assert now["phase"] == before["phase"]
    assert now["engine"]["pid"] == before["engine"]["pid"]
    for key in ("cause", "mode", "deadline_at_ms"):
        assert now.get(key) == before.get(key), key


def patient(question):
    """A supervisor that is just coming back does not answer yet."""

    def ask():
        try:
            return question()
        except (AssertionError, OSError):
            return None

    return ask


def test_a_phase_that_cannot_be_entered_leaves_no_kubelet(world, monkeypatch):
    made = []

    def make(**config):
        made.append(world(**config))
        return made[-1]

    before = set(threading.enumerate())
    monkeypatch.setattr(Held, "_enter", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Held(make, "serving", "beside")
    assert set(threading.enumerate()) <= before
    assert not made[0].supervisor_pid()


@pytest.mark.parametrize("phase", PHASES)
def test_killed_it_comes_back_in_the_same_phase_with_the_same_deadline(held, phase):
    one = held(phase)
    first = one.stop_supervisor(signal.SIGKILL)
    wait_until(lambda: one.one.supervisor_pid() not in (0, first), "the next life")
    wait_until(patient(lambda: is_back(one, one.entered)), "it is back")
    same_story(one.entered, one.status())
    holds_for(lambda: one.status()["phase"] == phase, 0.3)  # it does not end by ignorance
    if phase == "serving":
        one.term()
        one.one.wait_for_phase("draining")  # the report counts what ends from the stop on
    one.go_on()
    one.ends_with(0)
    report = one.one.report()
    assert report["cause"] == "signal" and report["mode"] == "graceful"
    assert report["exit_code"] == 0
    assert report["requests"]["lost"] == 0
    assert report["requests"]["completed"] == (1 if "request" in one.phase.holds else 0)


@pytest.mark.parametrize("phase", PHASES)
def test_stopped_for_a_while_it_goes_on_where_it_was(held, phase):
    one = held(phase)
    supervisor = one.stop_supervisor(signal.SIGSTOP)
    # Longer than the shim waits for an ack: a TERM meanwhile finds a supervisor that is gone.
    wait_until(lambda: True, pause=1.3)
    os.kill(supervisor, signal.SIGCONT)
    same_story(one.entered, one.status())
    one.go_on()
    one.ends_with(0)
    assert one.one.report()["cause"] == "signal"
    assert one.one.report()["requests"]["lost"] == 0


@pytest.mark.plain_build
@pytest.mark.parametrize("phase", PHASES)
def test_stopped_for_good_the_shim_finishes_alone_by_the_deadline(held, phase):
    def ended():
        one = held(phase, grace_period="4s", cleanup_reserve="2s", deregister_timeout="4s")
        engine = KnownProcess(one.entered["engine"]["pid"])
        one.stop_supervisor(signal.SIGSTOP)
        began = time.monotonic()
        if not one.phase.is_in_stop:
            one.term()
        one.make("go")  # what the engine needs to obey; nothing ends its request
        code = one.shim.wait(timeout=20)
        took = time.monotonic() - began
        assert not is_alive(engine)
        # The alternative to D, 5 s after the engine's exit, would be later than 6.5 s.
        return code, took < 6.5

    # KILL is due 250 ms after TERM where the supervisor counts as present.
    good = (0, True)
    assert unless_late(ended, lambda end: end[0] in (0, 137) and end != good, tries=5) == good


def after_the_engines_end(one, fault, supervisor):
    """The supervisor, stopped before it, receives it late, in its next life, or never."""
    one.one.wait_for_log("the command ended with ")
    if fault == "killed":
        os.kill(supervisor, signal.SIGKILL)
    elif fault == "stopped for a while":
        os.kill(supervisor, signal.SIGCONT)


FAULTS = ("killed", "stopped for a while", "stopped for good")


@pytest.mark.parametrize("fault", FAULTS)
def test_an_ordered_end_that_the_supervisor_missed_is_a_clean_one(held, fault):
    one = held("cleaning_up")
    supervisor = one.stop_supervisor(signal.SIGSTOP)
    one.make("go")
    after_the_engines_end(one, fault, supervisor)
    assert one.shim.wait(timeout=20) == 0
    if fault != "stopped for good":
        assert [report["exit_code"] for report in one.one.reports()] == [0]
        assert one.one.report()["cause"] == "signal"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_death_that_the_supervisor_missed_is_fatal(held, fault):
    one = held("serving")
    supervisor = one.stop_supervisor(signal.SIGSTOP)
    os.kill(one.entered["engine"]["pid"], signal.SIGKILL)
    after_the_engines_end(one, fault, supervisor)
    assert one.shim.wait(timeout=20) == 1
    if fault != "stopped for good":
        assert one.one.report()["cause"] == "engine_exited"
    if fault == "stopped for a while":
        assert one.one.report()["requests"]["lost"] == 1


def test_stopped_for_good_an_engine_that_does_not_obey_is_killed_at_the_deadline(held):
    one = held("cleaning_up", grace_period="4s", cleanup_reserve="2s")
    engine = KnownProcess(one.entered["engine"]["pid"])
    one.stop_supervisor(signal.SIGSTOP)
    assert one.shim.wait(timeout=20) == 137
    assert not is_alive(engine)
