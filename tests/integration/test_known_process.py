"""A number that another process has by now is never taken for the one that a test knew."""

import os
import subprocess

import pytest
from known_process import (
    KnownProcess, Stat, by_age, descendants_of, end_of, is_alive, open_process, send, stat_of,
)  # fmt: skip


@pytest.fixture
def reused():
    """What a test knows of a process that has ended, and whose number a living stranger has."""
    with subprocess.Popen(["sleep", "100"]) as stranger:
        yield KnownProcess(stranger.pid, stat_of(stranger.pid).started - 1)
        stranger.kill()


def test_a_stranger_with_its_number_is_not_it(reused):
    assert stat_of(int(reused)) is not None
    assert stat_of(reused) is None
    assert not is_alive(reused)


@pytest.mark.parametrize("act", [open_process, end_of, lambda process: send(process, 9)])
def test_a_stranger_with_its_number_is_neither_awaited_nor_signalled(reused, act):
    with pytest.raises(ProcessLookupError):
        act(reused)
    assert is_alive(KnownProcess(int(reused)))


@pytest.mark.parametrize("act", [is_alive, open_process])
def test_a_bare_number_is_refused(act):
    with pytest.raises(AssertionError):
        act(1)


def test_a_child_is_known_until_it_is_reaped():
    child = subprocess.Popen(["sleep", "100"])
    known = KnownProcess(child.pid)
    assert is_alive(known) and descendants_of(os.getpid())[known].name == "sleep"
    assert end_of(known, child.kill) > 0
    assert not is_alive(known) and stat_of(known).state == "Z"
    child.wait()
    assert stat_of(known) is None


def test_age_is_not_read_from_numbers_that_have_begun_again():
    def process(pid, parent, session, started):
        return KnownProcess(pid, started), Stat("engine", "S", parent, session, started)

    tree = dict([process(310, 32_690, 32_700, 50), process(305, 32_690, 32_700, 51),
                 process(32_700, 32_690, 32_700, 50)])
    assert by_age(tree) == [32_700, 310, 305]
