"""The supervisor at rest: alone (`serve`), and under `run` with an engine that sleeps."""

import time
from contextlib import ExitStack

import processes
from bench import await_that
from figures import Figure, figure, middle, number
from supervised import Run, Serve

TITLE = "supervisor, idle"
COPIES = 7
SETTLE = 3  # seconds; the recovery window of a start is 2 s


def rest(bench):
    """Memory after, and wake-ups during, a minute in which nothing happens."""
    window = 10 if bench.quick else 60
    with ExitStack() as stack:
        serves = [stack.enter_context(Serve(bench)) for _ in range(COPIES)]
        runs = [stack.enter_context(Run(bench)) for _ in range(COPIES)]
        for one in (*serves, *runs):
            one.await_serving()
        time.sleep(SETTLE)
        watched = {
            "serve": [one.pid for one in serves],
            "serve under run": [one.pid for one in runs],
            "shim under run": [one.process.pid for one in runs],
        }
        before = {pid: _counters(pid) for pids in watched.values() for pid in pids}
        time.sleep(window)
        after = {pid: _counters(pid) for pid in before}
        memory = {pid: processes.memory(pid) for pid in before}
    of = {name: [memory[pid] for pid in pids] for name, pids in watched.items()}
    for name in ("serve", "serve under run"):
        for words, key, bound in (("anonymous memory", "Anonymous", 4), ("RSS", "Rss", 16)):
            samples = [one[key] / 1024 for one in of[name]]
            yield figure(f"{words}, {name}", "MB", samples, bound=bound)
    dirty = [one["Private_Dirty"] for one in of["shim under run"]]
    yield figure("private dirty memory, shim under run", "kB", dirty, bound=150)
    for name, pids in watched.items():
        yield _wakeups(name, [(before[pid], after[pid]) for pid in pids], 60 / window)


def _counters(pid):
    return processes.wakeups(pid), processes.processor_seconds(pid)


def _wakeups(name, pairs, scale):
    """Counts of a minute; the note has the first copy's threads."""
    threads = [
        [
            (title, (count - before.get(thread, (title, 0))[1]) * scale)
            for thread, (title, count) in after.items()
        ]
        for (before, _), (after, _) in pairs
    ]
    totals = [sum(count for _, count in one) for one in threads]
    seconds = middle([after - before for (_, before), (_, after) in pairs])
    listed = ", ".join(f"{title} {number(count)}" for title, count in threads[0])
    return figure(f"wake-ups a minute, {name}", "", totals,
                  note=f"by thread: {listed}; {seconds * scale * 1e3:.1f} ms of processor",
                  )  # fmt: skip


def start(bench):
    """From before the spawn to the first 200 of /livez, asked every half a millisecond."""

    def once():
        with Serve(bench) as serve:
            await_that(serve.is_live, "answer of /livez", pause=0.0005)
            return (time.monotonic_ns() - serve.started_ns) / 1e6

    samples = [once() for _ in range(bench.rounds)]
    yield figure("start until /livez answers", "ms", samples, bound=50)


def size(bench):
    yield Figure("program, stripped", "MB", bench.stripped_size(bench.supervisor) / 1000, bound=3)


MEASUREMENTS = [rest, start, size]
