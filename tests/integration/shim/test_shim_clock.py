"""The wall clock may step by an hour: the shim's instants and deadlines come from another one."""

import os
import re
import signal
import subprocess

import pytest
from fake_supervisor import monotonic_ms
from shim_process import SHIM, TREE, elapsed, helper, start_engine

HOUR_MS = 3_600_000
TIME_NAMESPACE = ["--time", "--monotonic", str(HOUR_MS // 1000)]


@pytest.fixture
def elsewhere(mode):
    """Options that start a shim where CLOCK_MONOTONIC, and no other clock, is an hour ahead."""
    probe = ["unshare", "-pf", "--mount-proc", *TIME_NAMESPACE, "true"]
    if mode != "pid1" or subprocess.run(probe, check=False, capture_output=True).returncode != 0:
        pytest.skip("needs a PID and a time namespace")
    return {"program": [*TIME_NAMESPACE, SHIM]}


def test_instants_and_deadlines_follow_the_monotonic_clock(supervised, supervisor, elsewhere):
    boss = supervisor()
    process = start_engine(supervised, boss, "sleep", "100", options=["--grace", "1500ms"],
                           **elsewhere)
    before = monotonic_ms() + HOUR_MS
    process.send(signal.SIGTERM)
    line = boss.expect("signal")
    assert before <= line["at_ms"] <= monotonic_ms() + HOUR_MS
    # Nothing is ordered: its own deadline ends it, which is counted on the same clock.
    code, took = elapsed(process.wait)
    assert code in (0, 137) and took < 10_000  # there are 94 ms between TERM and KILL


def test_deadline_without_a_supervisor_is_no_hour_longer(supervised, elsewhere):
    process = supervised(helper("ignore_term"), **elsewhere,
                         options=["--supervisor-timeout", "50ms", "--grace", "1200ms"])
    process.wait_ready()
    process.is_ready()
    process.send(signal.SIGTERM)
    assert process.wait() == 1, "no supervisor ever saw it"


def test_no_other_clock_is_asked():
    """A step of the wall clock cannot matter where it is never read.

    The clock of /proc's start times is read for the age of a process alone.
    """
    asked = []
    for folder, endings in (("base", ".hpp"), ("shim", (".cpp", ".hpp"))):
        for name in sorted(os.listdir(os.path.join(TREE, folder))):
            if name.endswith(endings):
                with open(os.path.join(TREE, folder, name), encoding="utf-8") as file:
                    text = file.read()
                asked += [(f"{folder}/{name}", word) for word in re.findall(
                    r"clock_gettime\([A-Z]\w+|\w+_clock::now|\bgettimeofday\b|"
                    r"\btimerfd_create\(\w+|"
                    r"\bCLOCK_REALTIME\w*|\btime\((?:nullptr|NULL|0|&)|\bsetitimer\b|\balarm\(",
                    text)]
    assert asked == [
        ("base/clock.hpp", "clock_gettime(CLOCK_MONOTONIC"),
        ("shim/tree_watch.cpp", "clock_gettime(CLOCK_BOOTTIME"),
    ]
