"""Processes that a test has read the numbers of, and that may have ended since.

Numbers are used again, after 32 767 others on a small machine, which a whole run of the tests needs
minutes for. A number together with its start (proc(5), field 22) names one process for as long as
the machine is up.
"""

import os
import select
import signal
import time
from typing import NamedTuple


class Stat(NamedTuple):
    name: str
    state: str
    parent: int
    session: int
    started: int  # in clock ticks since the machine has started


class KnownProcess(int):
    """The number of a process that lived when this was made, usable as a number."""

    started: int

    def __new__(cls, pid, started=None):
        self = super().__new__(cls, pid)
        if started is None:
            facts = stat_of(int(self))
            if facts is None:
                raise ProcessLookupError(f"there is no process {pid}")
            started = facts.started
        self.started = started
        return self


def stat_of(pid):
    """None when the process is gone; for a known process also when its number is a stranger's."""
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    name = text[text.index("(") + 1 : text.rindex(")")]
    fields = text[text.rindex(")") + 2 :].split()
    facts = Stat(name, fields[0], int(fields[1]), int(fields[3]), int(fields[19]))
    stranger = isinstance(pid, KnownProcess) and pid.started != facts.started
    return None if stranger else facts


def descendants_of(pid):
    """All of them, zombies too, as {KnownProcess: Stat}."""
    table = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        facts = stat_of(entry)
        if facts:
            table[KnownProcess(entry, facts.started)] = facts
    found, frontier = {}, {pid}
    while frontier:
        frontier = {p for p, facts in table.items() if facts.parent in frontier}
        found.update({p: table[p] for p in frontier})
    return found


def by_age(tree):
    """The processes of {KnownProcess: Stat}, the oldest first.

    Numbers tell no age: after 32 767 they begin again at 300. Of those that started in one tick of
    the clock the leader of a session comes before what it may have started.
    """
    return sorted(tree, key=lambda p: (tree[p].started, tree[p].session != p))


def is_alive(process):
    """A zombie is not. Takes known processes only: a bare number may be a stranger's by now."""
    assert isinstance(process, KnownProcess)
    facts = stat_of(process)
    return facts is not None and facts.state not in "ZX"


def open_process(process):
    """A pidfd of that process and of no other. ProcessLookupError if it is gone."""
    assert isinstance(process, KnownProcess)
    descriptor = os.pidfd_open(process)
    # What is open now keeps its number, so what /proc shows for the number is about it.
    if stat_of(process) is None:
        os.close(descriptor)
        raise ProcessLookupError(f"the number of process {process} is another's now")
    return descriptor


def monotonic_ms():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000_000


def end_of(process, act=None, timeout=20):
    """Does what is asked, and returns when the process had ended, in ms of CLOCK_MONOTONIC."""
    descriptor = open_process(process)
    try:
        if act:
            act()
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        assert ended.poll(timeout * 1000), f"process {process} does not end"
        return monotonic_ms()
    finally:
        os.close(descriptor)


def send(process, number):
    """As kill(2), to that process and to no other."""
    descriptor = open_process(process)
    try:
        signal.pidfd_send_signal(descriptor, number)
    finally:
        os.close(descriptor)


def kill(process):
    """SIGKILL; when it had ended."""
    return end_of(process, lambda: os.kill(process, signal.SIGKILL))
