#!/usr/bin/python3
"""Many lifecycles of `lastcall run` with faults, beside busy cores:

    tests/integration/shim/chaos.py --seconds 600       # LASTCALL_BUILD_DIR names another build
    tests/integration/shim/chaos.py --seed 7 --count 1  # one of them again

Each seed is one lifecycle: an engine that obeys its stop signal sooner or later, or never, workers
around it, requests that end or do not, a stop, and up to three faults in it: a
process that hangs for a while (supervisor, shim, engine, or all of them), a supervisor that
is killed, a second signal. Whatever happens there, three things must hold:

1. the code is 0 where the engine had ended by itself before its KILL was due, and 137 where it
   never did;
2. the shim uses next to no processor: what it waits for, it sleeps for;
3. it ends by its deadline, and nothing outlives it.

With --storms one in eight has chains of forks around its engine, too. They take whatever processor
they find, so 2 and 3 mean nothing there but for a machine of their own; 1 must hold all the same.

What does not hold is printed with its seed, and its folder is kept. The exit code is 1 then.
"""

import argparse
import contextlib
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, ".."), os.path.join(HERE, "../serve")]

from known_process import monotonic_ms  # noqa: E402
from serve_peer import PATIENCE, wait_until  # noqa: E402
from serve_world import BUILD, World  # noqa: E402

FORK_STORM = os.path.abspath(os.path.join(BUILD, "tests/helpers/fork_storm"))
MOST_PROCESSOR_MS = 400  # of the shim; it spun for 950 once
# Between the engine's last note and the end of its process, on cores that are busy.
LAST_BREATH_MS = 300
# Beyond the deadline: for processes that were killed there, the last lines of the log, busy cores.
LATE_MS = 3_000

ENGINE = """
import os, signal, subprocess, sys, time
trace, delay, workers, storm = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
notes = os.open(trace, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def note(what):
    now_ms = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000000
    os.write(notes, b"%s %d\\n" % (what.encode(), now_ms))
def end(*_):
    note("term")
    if delay >= 0:
        time.sleep(delay / 1000)
        note("exit")
        os._exit(3)
signal.signal(signal.SIGTERM, end)
for _ in range(workers):
    subprocess.Popen(["/bin/sleep", "3600"])
if storm:
    subprocess.Popen([storm, "2000"])
note("ready")
while True:
    time.sleep(0.1)  # a signal that comes just before a pause() would not end that
"""


class Plan:
    """The lifecycle that one seed stands for."""

    def __init__(self, seed, storms):
        dice = random.Random(seed)
        self.grace_ms = dice.choice((1_600, 2_400, 4_000))
        self.obeys = dice.random() < 0.8
        self.delay_ms = dice.choice((0, 0, 20, 100, 300, 700)) if self.obeys else -1
        self.workers = dice.choice((0, 0, 1, 4))
        self.storm = dice.random() < 0.125 and storms
        self.requests = [dice.choice((0, 100, 500, None)) for _ in range(dice.choice((0, 0, 3)))]
        self.by_operator = dice.random() < 0.2
        kinds = ("freeze serve", "freeze shim", "freeze engine", "freeze all", "kill serve", "term")
        self.faults = sorted(
            (dice.uniform(0, self.grace_ms), dice.choice(kinds), dice.uniform(5, 1_200))
            for _ in range(dice.choice((0, 1, 1, 2, 3)))
        )

    def __str__(self):
        faults = ", ".join(f"{kind} at {at:.0f} ms for {length:.0f}"
                           for at, kind, length in self.faults)  # fmt: skip
        engine = f"ends after {self.delay_ms} ms" if self.obeys else "ignores its signal"
        return (f"grace {self.grace_ms} ms, engine {engine}, {self.workers} workers"
                f"{', a storm of forks' if self.storm else ''}, requests {self.requests}, "
                f"{'drain --exit' if self.by_operator else 'TERM'}; "
                f"{faults or 'no fault'}")  # fmt: skip


class Lifecycle:
    def __init__(self, seed, folder, storms):
        self.seed, self.plan, self.storms = seed, Plan(seed, storms), storms
        self.one = World(folder, shutdown={
            "grace_period": f"{self.plan.grace_ms}ms", "cleanup_reserve": "1s",
            "deregister_timeout": "100ms", "late_accept": "0ms",
            "cancel_settle": "50ms"})  # fmt: skip
        self.one.config["health"]["checks"] = []
        self.frozen_ms = 0

    def notes(self):
        """{what: when the engine noted it first}"""
        with contextlib.suppress(FileNotFoundError), open(self.one.path("trace")) as file:
            return {what: int(at) for what, at in reversed([line.split() for line in file])}
        return {}

    def start(self):
        plan = self.plan
        self.shim = self.one.run(
            sys.executable, "-c", ENGINE, self.one.path("trace"), str(plan.delay_ms),
            str(plan.workers), FORK_STORM if plan.storm else "",
        )  # fmt: skip
        self.pidfd = os.pidfd_open(self.shim.pid)
        wait_until(lambda: "ready" in self.notes(), "the engine runs")
        self.one.wait_for_log('"phase begun","phase":"serving"')
        self.engine = self.one.status()["engine"]["pid"]
        self.peer = self.one.peer() if plan.requests else None
        for number, _ in enumerate(plan.requests):
            self.peer.ask("request.begin", id=f"r{number}", endpoint="generate")

    def stop(self):
        self.stopped_at = monotonic_ms()
        if self.plan.by_operator:
            operator = self.one.operator()
            operator.send("drain", seq=1, exit=True)
        else:
            self.shim.send_signal(signal.SIGTERM)

    def pids(self, kind):
        whose = kind.partition(" ")[2]
        serve = self.one.supervisor_pid() if whose in ("serve", "all") else 0
        chosen = {"serve": [serve], "shim": [self.shim.pid], "engine": [self.engine],
                  "all": [serve, self.engine, self.shim.pid]}[whose]  # fmt: skip
        return [pid for pid in chosen if pid]

    @staticmethod
    def signal_all(pids, number):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def ends_within(self, ms):
        """Its status is left to be collected: its processor time is in it until then."""
        end = select.poll()  # of each thread its own
        end.register(self.pidfd, select.POLLIN)
        return bool(end.poll(max(ms, 0)))

    def sleep_until(self, at_ms):
        """False: the shim has ended before."""
        return not self.ends_within(at_ms - monotonic_ms())

    def disturb(self):
        for at, kind, length in self.plan.faults:
            if not self.sleep_until(self.stopped_at + at):
                return
            if kind == "term":
                self.shim.send_signal(signal.SIGTERM)
            elif kind == "kill serve":
                self.signal_all(self.pids(kind), signal.SIGKILL)
            else:
                pids = self.pids(kind)
                began = monotonic_ms()
                self.signal_all(pids, signal.SIGSTOP)
                self.ends_within(length)
                self.signal_all(pids, signal.SIGCONT)
                self.frozen_ms += monotonic_ms() - began

    def end_requests(self):
        ending = [(after, number) for number, after in enumerate(self.plan.requests)
                  if after is not None]  # fmt: skip
        for after, number in sorted(ending):
            if self.sleep_until(self.stopped_at + after):
                with contextlib.suppress(OSError):
                    self.peer.send("request.end", id=f"r{number}", outcome="completed")

    def run(self):
        self.start()
        self.stop()
        others = threading.Thread(target=self.end_requests)
        others.start()
        self.disturb()
        assert self.ends_within(1_000 * (PATIENCE + 10)), "the shim does not end"
        self.ended_at = monotonic_ms()
        others.join()
        self.processor_ms = processor_ms(self.shim.pid)
        self.code = self.shim.wait()
        os.close(self.pidfd)
        return list(self.findings())

    def findings(self):
        plan, notes = self.plan, self.notes()
        due = self.stopped_at + plan.grace_ms
        margin = min(1_000, plan.grace_ms / 8)
        if not plan.obeys and self.code != 137:
            yield f"code {self.code}, expected 137: the engine never ends by itself"
        ended = notes.get("exit")
        if ended and ended < due - margin - LAST_BREATH_MS and self.code != 0:
            yield (f"code {self.code}, expected 0: the engine ended {due - margin - ended:.0f} ms "
                   "before its KILL was due")  # fmt: skip
        if self.code not in (0, 137):
            yield f"code {self.code}, expected 0 or 137"
        if self.storms:
            return
        if self.processor_ms > MOST_PROCESSOR_MS:
            yield f"the shim took {self.processor_ms} ms of processor"
        late = self.ended_at - due - self.frozen_ms
        if late > LATE_MS:
            yield f"it ended {late:.0f} ms after its deadline"
        left = [pid for pid in self.one.processes_left() if pid != self.shim.pid]
        if left:
            yield f"{len(left)} processes outlive it"


def processor_ms(pid):
    """The processor time of the process alone, from what is left of it until it is waited for."""
    with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1_000 // os.sysconf("SC_CLK_TCK")


def live(seed, storms):
    """(findings, processor time of the shim); keeps the folder where there are any."""
    folder = tempfile.mkdtemp(prefix=f"chaos-{seed}-")
    cycle = Lifecycle(seed, folder, storms)
    try:
        found = cycle.run()
    except (AssertionError, OSError) as error:
        found = [f"could not be run: {error}"]
    finally:
        cycle.one.close()
    if found:
        print(f"seed {seed}: {'; '.join(found)}\n  {cycle.plan}\n  {folder}", flush=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return bool(found), getattr(cycle, "processor_ms", 0), getattr(cycle, "code", None)


@contextlib.contextmanager
def busy_cores(count):
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def run(seeds, jobs, busy, storms=False, until=None):
    """(lifecycles, failed, the dearest shim in ms, {code: how often})"""
    done, failed, dearest, codes = 0, 0, 0, {}

    def one(seed):
        return live(seed, storms) if until is None or time.monotonic() < until else None

    with busy_cores(busy), ThreadPoolExecutor(jobs) as pool:
        for result in pool.map(one, seeds):
            if result is not None:
                done, failed = done + 1, failed + result[0]
                dearest = max(dearest, result[1])
                codes[result[2]] = codes.get(result[2], 0) + 1
    return done, failed, dearest, codes


def main():
    parser = argparse.ArgumentParser(description="lifecycles with faults, beside busy cores")
    parser.add_argument("--seed", type=int, default=1, help="the first one; 1")
    parser.add_argument("--count", type=int, default=0, help="of lifecycles; or --seconds")
    parser.add_argument("--seconds", type=float, default=60, help="how long it begins new ones; 60")
    parser.add_argument("--jobs", type=int, default=6, help="lifecycles at a time; 6")
    parser.add_argument("--idle", action="store_true", help="without busy cores")
    parser.add_argument("--storms", action="store_true", help="with chains of forks")
    options = parser.parse_args()
    most = options.count or 100_000
    until = None if options.count else time.monotonic() + options.seconds
    busy = 0 if options.idle else len(os.sched_getaffinity(0))
    seeds = range(options.seed, options.seed + most)
    done, failed, dearest, codes = run(seeds, options.jobs, busy, options.storms, until)
    by_code = ", ".join(f"{code} {count}x" for code, count in sorted(codes.items(), key=str))
    print(f"{done} lifecycles, {failed} with findings; codes {by_code}; dearest shim {dearest} ms")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
