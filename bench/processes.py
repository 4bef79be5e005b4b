"""What /proc shows of a process: memory, processor time, wake-ups."""

import os
from pathlib import Path

from figures import NotMeasured


def _read(path):
    try:
        return Path(path).read_text()
    except OSError as error:
        raise NotMeasured(f"cannot read {path}: {error.strerror}") from error


def memory(pid):
    """kB by the names of smaps_rollup: Rss, Anonymous, Private_Dirty, ..."""
    lines = _read(f"/proc/{pid}/smaps_rollup").splitlines()[1:]
    return {line.split(":")[0]: int(line.split()[1]) for line in lines}


def _threads(pid):
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError as error:
        raise NotMeasured(f"process {pid} is gone") from error


def processor_seconds(pid):
    """The time of all threads that live, in the scheduler's nanoseconds."""
    return sum(
        int(_read(f"/proc/{pid}/task/{thread}/schedstat").split()[0]) for thread in _threads(pid)
    ) / 1e9


def with_children(pid):
    """It and those that it has started itself."""
    return [pid, *map(int, _read(f"/proc/{pid}/task/{pid}/children").split())]


def wakeups(pid):
    """{thread: (name, how often it went to sleep by itself)}; an idle thread wakes as often."""
    result = {}
    for thread in _threads(pid):
        status = dict(
            line.split(":\t", 1) for line in _read(f"/proc/{pid}/task/{thread}/status").splitlines()
        )
        result[thread] = (status["Name"], int(status["voluntary_ctxt_switches"]))
    return result


def children(pid):
    """{pid: path of the program}."""
    found = {}
    for child in _read(f"/proc/{pid}/task/{pid}/children").split():
        try:
            found[int(child)] = os.readlink(f"/proc/{child}/exe")
        except OSError:
            continue  # ended meanwhile
    return found


def child_with(pid, program):
    wanted = os.path.realpath(program)
    for child, path in children(pid).items():
        if os.path.realpath(path) == wanted:
            return child
    return None
