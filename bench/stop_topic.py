"""How fast a stop goes where nothing has to be waited for, and a supervisor's next life begins:
`lastcall run` with a tiny engine.
"""

import os
import signal
import time

from figures import NotMeasured, figure
from supervised import Run
from wire import encode

TITLE = "stops, under run"
SETTLE = 0.05  # seconds after the first sight of `serving`
LIVE = 10_000


def _expect(code, run):
    if run.ended() != code:
        raise NotMeasured(f"'run' ended with {run.process.returncode} instead of {code}")


def engine_killed(bench):
    """SIGKILL at the engine to the exit of `run` with 1; nothing to clean up."""

    def once():
        with Run(bench) as run:
            run.await_serving()
            time.sleep(SETTLE)
            before = time.monotonic_ns()
            os.kill(run.engine, signal.SIGKILL)
            _expect(1, run)
            return (time.monotonic_ns() - before) / 1e6

    samples = [once() for _ in range(bench.rounds)]
    yield figure("engine killed until exit 1", "ms", samples, bound=20)


def last_request(bench):
    """The `request.end` that empties the drain, written, to TERM in the engine; then to exit 0.

    In between the supervisor asks the peer to clean up, which it answers at once.
    """
    taken = [_drain(bench) for _ in range(bench.rounds)]
    yield figure("last request's end until TERM", "ms", [term for term, _ in taken], bound=5)
    yield figure("last request's end until exit 0", "ms", [exit for _, exit in taken])


def _drain(bench):
    with Run(bench) as run:
        run.await_serving()
        peer = run.engine_peer()
        peer.ask({"op": "endpoint.register", "endpoint": "generate"})
        peer.ask({"op": "request.begin", "id": "last", "endpoint": "generate"})
        run.terminate()
        peer.await_op("phase", phase="draining")
        time.sleep(SETTLE)
        before = time.monotonic_ns()
        peer.send({"op": "request.end", "id": "last", "outcome": "completed"})
        peer.await_op("cleanup")
        peer.send({"op": "cleanup.done"})
        told = run.next_instant()
        _expect(0, run)
        after = time.monotonic_ns()
        peer.close()
        return (told - before) / 1e6, (after - before) / 1e6


def stop_begins(bench):
    """TERM at the shim until a peer has read that phase 1 has begun."""

    def once():
        with Run(bench) as run:
            run.await_serving()
            peer = run.engine_peer()
            peer.ask({"op": "request.begin", "id": "r", "endpoint": "generate"})
            time.sleep(SETTLE)
            before = time.monotonic_ns()
            run.terminate()
            told, line = peer.next_line()
            peer.send({"op": "request.end", "id": "r", "outcome": "completed"})
            peer.await_op("cleanup")
            peer.send({"op": "cleanup.done"})
            _expect(0, run)
            peer.close()
            if b'"deregistering"' not in line:
                raise NotMeasured(f"the first line of the stop is {line!r}")
            return (told - before) / 1e6

    yield figure("TERM at the shim until phase 1", "ms", [once() for _ in range(bench.rounds)],
                 bound=2)  # fmt: skip


def next_life(bench):
    """SIGKILL at the supervisor until its next life knows all requests again.

    The shim starts it again, the peer dials as SDKs do, and announces what it has in one batch.
    """
    ids = [f"r-{number:034d}" for number in range(LIVE)]
    begins, again = (
        encode({"op": "request.begin", "id": one, "endpoint": "generate", **more} for one in ids)
        for more in ({}, {"resumed": True})
    )

    def once():
        with Run(bench) as run:
            run.await_serving()
            peer = run.engine_peer()
            peer.send_bytes(begins)
            peer.ask({"op": "endpoint.register", "endpoint": "generate"})
            before = time.monotonic_ns()
            os.kill(run.pid, signal.SIGKILL)
            peer.close()
            peer = run.engine_peer(live=LIVE)
            peer.send_bytes(again)
            peer.ask({"op": "endpoint.register", "endpoint": "generate"})
            after = time.monotonic_ns()
            operator = run.operator()
            known = operator.ask({"op": "status"})["in_flight"]["requests"]
            operator.close()
            peer.close()
            if known != LIVE:
                raise NotMeasured(f"{known} of {LIVE} requests are known again")
            return (after - before) / 1e6

    yield figure(f"supervisor killed until {LIVE} requests known", "ms",
                 [once() for _ in range(min(bench.rounds, 7))], bound=500)  # fmt: skip


STARTS = 100
INSTANT_US = 100  # after posix_spawn(3) has returned: the kernel has begun to replace the image


def first_instants(bench):
    """TERM to a `run` that has just been started: how many of the starts it ends.

    Child and parent sleep or run on different cores, so that the child is never kept from running.
    """
    folder = bench.scratch / "first"
    folder.mkdir(exist_ok=True)
    config = folder / "config.yaml"
    config.write_text(f'ipc: {{socket: "{folder}/i.sock", admin_socket: "{folder}/a/a.sock"}}\n'
                      'probes: {listen: "127.0.0.1:0"}\nhealth: {checks: []}\n')  # fmt: skip
    command = [bench.lastcall, "run", "--config", str(config), "--", bench.child, "signals"]
    silent = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]

    def ended_by_it(_):
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {max(cores)})
        child = os.posix_spawn(command[0], command, os.environ, file_actions=silent)
        os.sched_setaffinity(0, {min(cores)})
        time.sleep(INSTANT_US / 1e6)
        os.sched_setaffinity(0, cores)
        os.kill(child, signal.SIGTERM)
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])

    lost = sum(map(ended_by_it, range(STARTS)))
    yield figure(f"TERM {INSTANT_US} us after the start of run, lost of {STARTS}", "", [lost],
                 bound=0)  # fmt: skip


MEASUREMENTS = [engine_killed, last_request, stop_begins, next_life, first_instants]
