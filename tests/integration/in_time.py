"""How soon something happens, without luck: both instants are of the machine's monotonic clock.

A busy machine may be late with anything. So a measurement is repeated while it is late: late once
is the machine's doing, late five times ours.
"""

import os
import select
import signal
import time


def monotonic_ms():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000_000


def end_of(pid, act=None, timeout=20):
    """Does what is asked, and tells when the process had ended, as its pidfd says.

    Open before the process ends, so that a number which is used again cannot be taken for it.
    """
    process = os.pidfd_open(pid)
    try:
        if act:
            act()
        ended = select.poll()
        ended.register(process, select.POLLIN)
        assert ended.poll(timeout * 1000), f"process {pid} does not end"
        return monotonic_ms()
    finally:
        os.close(process)


def kill(pid):
    """SIGKILL; when it had ended."""
    return end_of(pid, lambda: os.kill(pid, signal.SIGKILL))


def in_time(measure, most, least=None, tries=5):
    """Milliseconds, measured until they are in time. Too early is never the machine's doing."""
    took = []
    while not took or (took[-1] > most and len(took) < tries):
        took.append(measure())
        assert least is None or took[-1] >= least, took
    assert took[-1] <= most, f"never within {most} ms: {took}"


def unless_late(attempt, late, tries=3):
    """What an attempt gives. While `late` says of it that the machine was, another one is made.

    The last one counts as it is: what comes out wrong each time is ours.
    """
    for _ in range(tries - 1):
        result = attempt()
        if not late(result):
            return result
    return attempt()
