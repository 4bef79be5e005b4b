"""What every topic uses: where the programs are, how long it may take, and how rounds go.

Subjects are measured in alternation, one round after the other, so that whatever else the machine
does falls on all of them; which one begins changes from round to round.
"""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from figures import NotMeasured

PATIENCE = 20  # seconds that anything awaited may take


PROGRAMS = {
    "lastcall": "supervisor/cli/lastcall",
    "supervisor": "supervisor/libexec/lastcall/lastcall",
    "router": "router/lastcall-router",
    "shim": "shim/lastcall-shim",
    "child": "bench/bench_child",
    "parent": "bench/bench_parent",
    "core": "bench/bench_core",
    "fleet": "bench/bench_fleet",
    "cancel": "bench/bench_cancel",
    "hostile": "bench/bench_hostile",
    "relay": "bench/bench_relay",
}


def missing_programs(build):
    return [place for place in PROGRAMS.values() if shutil.which(Path(build) / place) is None]


class Bench:
    def __init__(self, build, quick, threads=1, before=None):
        self.quick = quick
        self.before = before and str(Path(before).resolve() / PROGRAMS["lastcall"])
        self.threads = threads  # of each proxy
        self.rounds = 7 if quick else 15
        place = {name: str(Path(build).resolve() / path) for name, path in PROGRAMS.items()}
        self.lastcall, self.shim = place["lastcall"], place["shim"]
        self.supervisor = place["supervisor"]  # what the launcher becomes
        self.child, self.parent, self.core = place["child"], place["parent"], place["core"]
        self.cancel, self.hostile = place["cancel"], place["hostile"]
        self.relay, self.fleet = place["relay"], place["fleet"]
        self.router = place["router"]
        # The folder has a short path, whatever TMPDIR is: the path of a Unix socket has at most 107
        # bytes.
        self.scratch = Path(tempfile.mkdtemp(prefix="lastcall-bench-", dir="/tmp"))

    def close(self):
        shutil.rmtree(self.scratch, ignore_errors=True)

    def alternate(self, subjects, rounds=None):
        """{name: measure()} to {name: [result of each round]}."""
        results = {name: [] for name in subjects}
        order = list(subjects)
        for _ in range(rounds or self.rounds):
            for name in order:
                results[name].append(subjects[name]())
            order = order[1:] + order[:1]
        return results

    def stripped_size(self, program):
        """In kB, as it ships."""
        copy = self.scratch / "stripped"
        output(["strip", "-o", str(copy), str(program)])
        return copy.stat().st_size / 1000


def output(command, timeout=60):
    """What the command prints, or NotMeasured."""
    need(command[0])
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired as late:
        raise NotMeasured(f"{command[0]} did not end within {timeout} s") from late
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()[-1:] or ["nothing on stderr"]
        words = " ".join(map(str, command[:6]))
        raise NotMeasured(f"'{words}' ended with {done.returncode}: {said[0]}")
    return done.stdout


def need(program):
    """The path of a program."""
    place = shutil.which(program)
    if place is None:
        raise NotMeasured(f"{program} is not there")
    return place


def await_that(true, what, patience=PATIENCE, pause=0.005):
    """The first result that counts as true."""
    deadline = time.monotonic() + patience
    while True:
        result = true()
        if result:
            return result
        if time.monotonic() > deadline:
            raise NotMeasured(f"no {what} within {patience} s")
        time.sleep(pause)


def put_first():
    """True if this process, and what it starts, now runs before everything else on the machine.

    Inits put their child into a session of its own or not, and the kernel's autogroups turn that
    into milliseconds on a busy machine (not in a container, whose processes are in one group).
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    return True


def machine():
    model = [
        line.split(":", 1)[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith(("model name", "Model"))
    ]
    return {
        "cpu": model[0] if model else os.uname().machine,
        "cores": len(os.sched_getaffinity(0)),
        "kernel": os.uname().release,
        "load": round(os.getloadavg()[0], 2),
    }
