"""Hostile clients: what the dearest head costs, and what a polite client notices of a crowd."""

import contextlib
import http.client
import os
import re
import statistics
import subprocess
import threading
import time

import ingress_load as load
from figures import NotMeasured, figure, middle
from head_shapes import PLAINEST, heads
from ingress_proxies import engine, proxies
from open_streams import processor_seconds

TITLE = "hostile clients, beside nginx and HAProxy"
POLITE = b"GET /v1/models HTTP/1.1\r\nHost: h\r\n\r\n"


# --- heads


def _answered(user):
    """The status; None when it was closed without one."""
    got = b""
    while b"\r\n\r\n" not in got:
        data = user.recv(65536)
        if not data:
            return None
        got += data
    length = re.search(rb"(?i)\r\ncontent-length: (\d+)", got)
    body = len(got.partition(b"\r\n\r\n")[2])
    while length and body < int(length[1]):
        data = user.recv(65536)
        if not data:
            break
        body += len(data)
    return int(got[9:12])


def _cost(pid, port, head, count):
    """Microseconds of processor time each; over kept connections where they are kept."""
    user = None
    before = processor_seconds(pid)
    for _ in range(count):
        user = user or load.connect(port)
        user.sendall(head)
        status = _answered(user)
        if status is None or status >= 400:
            user.close()
            user = None
    taken = processor_seconds(pid) - before
    if user:
        user.close()
    return taken * 1e6 / count


def dearest_head(bench):
    """Each shape of 32 kB against one long value, through the same proxy: all that it takes of a
    processor for such a request, in user space and in the kernel, from its socket to the engine's
    and back. A head that is refused costs a connection, too."""
    count = 30 if bench.quick else 100
    shapes = heads()
    with engine(bench) as port, proxies(bench, port) as running:
        running.pop("haproxy", None)  # its buffer is 16 kB: it refuses them all
        ratios = {}
        for name, (pid, at) in running.items():
            costs = bench.alternate(
                {shape: lambda pid=pid, at=at, head=head: _cost(pid, at, head, count)
                 for shape, head in shapes.items()}, 3 if bench.quick else 5)  # fmt: skip
            base = middle(costs[PLAINEST])
            ratios[name] = {shape: middle(taken) / base for shape, taken in costs.items()}
    ours, before = ratios["lastcall"], ratios.get("before")
    order = sorted(ours, key=ours.get, reverse=True)
    note = ", ".join(f"{shape} {ours[shape]:.2f}" for shape in order[:4])
    yield figure("dearest head of 32 kB, to the plainest", "x", [ours[order[0]]], bound=3,
                 before=before and max(before.values()),
                 peers={"nginx": max(ratios["nginx"].values())}, note=note)  # fmt: skip


# --- a crowd


@contextlib.contextmanager
def _ordinary():
    """It does not run before everything else: a thread that runs first would keep others of its
    core from running, the listener of probes of its own process among them."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, parameters)


class Probe:
    """The kubelet: asks for /livez once a second, with its usual second of patience."""

    def __init__(self, port):
        self.port, self.asked, self.failed, self.worst = port, 0, 0, 0.0

    @contextlib.contextmanager
    def asking(self):
        done = threading.Event()
        thread = threading.Thread(target=self._ask_until, args=(done,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _ask_until(self, done):
        while not done.wait(1):
            began, self.asked = time.monotonic(), self.asked + 1
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1)
                connection.request("GET", "/livez")
                self.failed += connection.getresponse().status != 200
                connection.close()
            except OSError:
                self.failed += 1
            self.worst = max(self.worst, time.monotonic() - began)


def _polite(port, until):
    """Microseconds of each request on a connection of its own, one after the other."""
    taken = []
    while not until():
        began = time.monotonic_ns()
        with contextlib.suppress(OSError), load.connect(port) as user:
            user.sendall(POLITE)
            if _answered(user) == 200:
                taken.append((time.monotonic_ns() - began) / 1e3)
                continue
        taken.append(float("inf"))
    if not taken:
        raise NotMeasured("the polite client had no answer at all")
    return taken


def _for(port, seconds):
    end = time.monotonic() + seconds
    return _polite(port, lambda: time.monotonic() > end)


class Crowded:
    """What the polite client of one proxy notices, over all rounds."""

    def __init__(self, bench, port, probe=None):
        self.bench, self.port, self.probe = bench, port, probe
        self.alone, self.among, self.made = [], [], 0  # microseconds a request; connections

    def round(self, seconds):
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, sorted(cores)[:1])  # the generator, too, which inherits it
        try:
            self.alone += _for(self.port, 2)
            with self.probe.asking() if self.probe else contextlib.nullcontext():
                self._among(seconds)
        finally:
            os.sched_setaffinity(0, cores)

    def _among(self, seconds):
        words = [self.bench.hostile, str(self.port), str(seconds)]
        crowd = subprocess.Popen(words, stdout=subprocess.PIPE)
        try:
            self.among += _polite(self.port, lambda: crowd.poll() is not None)
        finally:
            crowd.wait(seconds + 20)
        self.made += int(crowd.stdout.read().split()[0])
        crowd.stdout.close()

    def slowed(self):
        return statistics.median(self.among) / statistics.median(self.alone)


def hostile_minute(bench):
    """One core makes hostile connections, another has the proxy and everything else. The minute of
    each proxy comes in parts, one after the other's: what is measured first finds a kernel without
    closed connections that wait, in which a polite client that is alone is faster."""
    seconds, rounds = (4, 3) if bench.quick else (15, 4)
    with _ordinary(), engine(bench) as port, proxies(bench, port) as running:
        probe = Probe(_probe_port(*running["lastcall"]))
        crowds = {name: Crowded(bench, at, probe if name == "lastcall" else None)
                  for name, (_, at) in running.items()}  # fmt: skip
        bench.alternate({name: lambda crowd=crowd: crowd.round(seconds)
                         for name, crowd in crowds.items()}, rounds)  # fmt: skip
    slowed = {name: crowd.slowed() for name, crowd in crowds.items()}
    ours, before = slowed.pop("lastcall"), slowed.pop("before", None)
    whole = seconds * rounds
    rates = ", ".join(f"{name} {crowd.made / whole:.0f}/s" for name, crowd in crowds.items())
    parts = f"{rounds} times {seconds} s; {rates}"
    yield figure("a crowd: polite client's median, slowed", "x", [ours], peers=slowed,
                 before=before, bound=1.5 * slowed["nginx"], note=parts)
    yield figure("a crowd: liveness probes failed", "", [probe.failed], bound=0,
                 note=f"of {probe.asked}, the slowest {probe.worst * 1e3:.0f} ms")  # fmt: skip


def _probe_port(pid, ingress):
    """Of the ports on which this process listens, the one that is not the ingress's."""
    inodes = set()
    for entry in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            found = re.match(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{entry}"))
            inodes.add(found[1] if found else "")
    with open(f"/proc/{pid}/net/tcp") as table:
        rows = [line.split() for line in table][1:]
    ports = {int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in inodes}
    [port] = ports - {ingress}
    return port


MEASUREMENTS = (dearest_head, hostile_minute)
