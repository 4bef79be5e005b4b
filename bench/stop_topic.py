"""How fast a stop goes where nothing has to be waited for: `lastcall run` with a tiny engine."""

import os
import signal
import time

from figures import NotMeasured, figure
from supervised import Run

TITLE = "stops, under run"
SETTLE = 0.05  # seconds after the first sight of `serving`


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


MEASUREMENTS = [engine_killed, last_request]
