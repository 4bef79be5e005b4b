"""What a process uses, as the kernel counts it."""

import contextlib
import os


def open_descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def kinds_of_descriptors(pid):
    """What each descriptor is open to, but for one that is closed meanwhile."""
    kinds = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            kinds.append(os.readlink(f"/proc/{pid}/fd/{name}"))
    return kinds


def threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def anonymous(pid):
    """kB of memory that no file backs."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        [line] = [line for line in file if line.startswith("Anonymous:")]
    return int(line.split()[1])


def children(pid):
    """{pid: state} of its children, zombies (Z) among them."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="latin-1") as file:
                state, parent = file.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == pid:
            found[int(entry)] = state
    return found
