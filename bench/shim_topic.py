"""The shim as a plain init, beside tini and dumb-init as Debian ships them.

All of them run the same child in the same way. tini gets -s, as the shim is a subreaper by itself
when it is not PID 1; dumb-init cannot be one, so the orphans are left to each as PID 1 of a PID
namespace where that is allowed.
"""

import signal
import subprocess
import time

import processes
from bench import PATIENCE, need, output
from figures import NotMeasured, figure, middle

TITLE = "shim, as a plain init"
SETTLE = 0.2  # seconds for the last page of a start to be touched
ORPHANS = 1000


def _inits(bench):
    return {
        "lastcall": [bench.shim, "--"],
        "tini": [need("tini"), "-s", "--"],
        "dumb-init": [need("dumb-init"), "--"],
    }


def _peers(results, names=("tini", "dumb-init")):
    return {name: middle(results[name]) for name in names}


def _microseconds(text):
    return middle([int(line) for line in text.split()]) / 1000


def memory(bench):
    """Resident and private dirty memory of an init whose child has started and sleeps."""

    def idle(init):
        command = [*init, bench.child, "signals"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            try:
                process.stdout.read(8)
                time.sleep(SETTLE)
                return processes.memory(process.pid)
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(PATIENCE)

    inits = _inits(bench)
    taken = bench.alternate({n: lambda i=i: idle(i) for n, i in inits.items()}, rounds=7)
    resident = {name: [one["Rss"] for one in all] for name, all in taken.items()}
    dirty = {name: [one["Private_Dirty"] for one in all] for name, all in taken.items()}
    peers = _peers(resident)
    yield figure("RSS, idle", "kB", resident["lastcall"], peers=peers, bound=peers["tini"])
    yield figure("private dirty memory, idle", "kB", dirty["lastcall"], peers=_peers(dirty),
                 bound=150)  # fmt: skip


def latency(bench):
    """kill(2) at the init to the child's return from sigwaitinfo(2)."""
    count = str(60 if bench.quick else 200)
    child = [bench.child, "signals"]

    def signals(init):
        return _microseconds(output([bench.parent, "signals", count, *init, *child]))

    subjects = {**_inits(bench), "no init": []}
    taken = bench.alternate({n: lambda i=i: signals(i) for n, i in subjects.items()})
    peers = _peers(taken)
    yield figure("signal forwarded", "us", taken["lastcall"], peers=peers,
                 bound=min(peers.values()) * 1.1 + 5,
                 note=f"without any init {middle(taken['no init']):.1f} us")  # fmt: skip


def startup(bench):
    """What an init adds to spawn and wait of a static program that ends at once."""
    count = str(20 if bench.quick else 40)

    def spawns(init):
        return _microseconds(output([bench.parent, "spawn", count, *init, bench.child, "exit"]))

    subjects = {**_inits(bench), "no init": []}
    taken = bench.alternate({n: lambda i=i: spawns(i) for n, i in subjects.items()})
    added = {
        name: [with_it - plain for with_it, plain in zip(taken[name], taken["no init"])]
        for name in _inits(bench)
    }
    peers = _peers(added)
    yield figure("start and end, added", "us", added["lastcall"], peers=peers, bound=peers["tini"],
                 note=f"without any init {middle(taken['no init']):.0f} us")  # fmt: skip


def orphans(bench):
    """All end at once, when SIGCHLDs merge; a missed one stays a zombie."""
    inits, prefix, note = _inits(bench), ["unshare", "--pid", "--fork", "--kill-child"], ""
    if not _may_be_first(prefix):
        inits.pop("dumb-init")
        prefix, note = [], "as subreapers: a PID namespace is not allowed here"

    def reap(init):
        words = output([*prefix, *init, bench.child, "orphans", str(ORPHANS)]).split()
        return int(words[0]), int(words[1]) / 1e6

    taken = bench.alternate({n: lambda i=i: reap(i) for n, i in inits.items()}, rounds=7)
    gone = {name: [min(one[0] for one in all)] for name, all in taken.items()}
    times = {name: [one[1] for one in all] for name, all in taken.items()}
    peers = [name for name in inits if name != "lastcall"]
    yield figure(f"orphans reaped of {ORPHANS}, worst round", "", gone["lastcall"],
                 peers=_peers(gone, peers), bound=ORPHANS, at_least=True, note=note)  # fmt: skip
    yield figure("until the last one was reaped", "ms", times["lastcall"],
                 peers=_peers(times, peers))  # fmt: skip


def _may_be_first(prefix):
    try:
        output([*prefix, "true"])
    except NotMeasured:
        return False
    return True


def size(bench):
    peers = {"tini-static": bench.stripped_size(need("tini-static"))}
    yield figure("program, stripped", "kB", [bench.stripped_size(bench.shim)], peers=peers)


MEASUREMENTS = [memory, latency, startup, orphans, size]
