"""Requests over the wire: what they cost the supervisor, and how fast a cancel reaches them all.

One peer announces N requests of one root and keeps them; with them in flight, pairs of begin and
end are written in one batch; then an operator cancels the root. The peer ends them all, announces
them again with another root, as a root that was cancelled is remembered, and a stop's grace period
runs out on them (this only where there is a target).

A supervisor for each round: what a heap keeps of an earlier round would hide what a request takes.
"""

import json
import time

import processes
from figures import NotMeasured, figure
from supervised import Serve
from wire import encode

TITLE = "requests, over the wire"
ROOT = "bench-root"
SIZES = (1_000, 10_000, 100_000)
PAIRS = 20_000
BOUNDS = {10_000: {"cancel": 100, "grace": 100, "memory": 1.0}}  # ms, kB


def _id(kind, number):
    """36 bytes, as a UUID has."""
    return f"{kind}-{number:034d}"


def _begin(request, **more):
    return {"op": "request.begin", "id": request, "endpoint": "generate", "model": "m", **more}


def _end(request, outcome):
    return {"op": "request.end", "id": request, "outcome": outcome}


class Batches:
    """All that is written with N in flight, made once."""

    def __init__(self, count, pairs):
        self.count, self.pairs = count, pairs
        self.ids = [_id("r", number) for number in range(count)]
        self.begins = encode(_begin(one, root=ROOT) for one in self.ids)
        self.begins_again = encode(_begin(one, root=f"{ROOT}-again") for one in self.ids)
        self.ends = encode(_end(one, "cancelled") for one in self.ids)
        short = [_id("p", number) for number in range(pairs)]
        self.short = b"".join(encode([_begin(one), _end(one, "completed")]) for one in short)


def _barrier(peer):
    """All lines before it were applied when it is acked."""
    peer.ask({"op": "endpoint.register", "endpoint": "generate"})


def _cost(serve, peer, batch):
    """(processor seconds, wall seconds) of the supervisor for a batch."""
    used, before = processes.processor_seconds(serve.pid), time.monotonic()
    peer.send_bytes(batch)
    _barrier(peer)
    return processes.processor_seconds(serve.pid) - used, time.monotonic() - before


def _receive(peer, ids):
    """The instant (ns) of the read that brought the last of their cancels."""
    lines, found, at = [], 0, 0
    while found < len(ids):
        at, line = peer.next_line()
        lines.append(line)
        found += line.count(b'"r-')
    told = [one for line in lines for one in json.loads(line).get("ids", [])]
    if sorted(told) != ids:
        raise NotMeasured(f"{len(set(told))} of {len(ids)} requests were cancelled")
    return at


def _operator_cancels(serve, peer, ids):
    """Milliseconds from the operator's line to the last id."""
    operator = serve.operator()
    before = time.monotonic_ns()
    operator.send({"op": "cancel", "root": ROOT, "reason": "operator"})
    at = _receive(peer, ids)
    operator.close()
    return (at - before) / 1e6


def _grace_ends(serve, peer, ids):
    """Milliseconds from the instant at which a stop has to cancel what still runs."""
    budgets = peer.welcome["budgets"]
    operator = serve.operator()
    operator.ask({"op": "drain", "exit": True})
    deadline = peer.await_op("phase", phase="draining")["deadline_at_ms"]
    at = _receive(peer, ids)
    operator.close()
    return at / 1e6 - (deadline - budgets["cleanup_reserve_ms"] - budgets["cancel_settle_ms"])


def _round(serve, batches, with_grace):
    serve.await_serving()
    peer = serve.engine_peer()
    try:
        _barrier(peer)
        before = processes.memory(serve.pid)["Anonymous"]
        peer.send_bytes(batches.begins)
        _barrier(peer)
        taken = processes.memory(serve.pid)["Anonymous"] - before
        used, wall = _cost(serve, peer, batches.short)
        result = {
            "memory": taken / batches.count,
            "cpu": used / batches.pairs * 1e6,
            "per_core": batches.pairs / used / 1e3,
            "wall": batches.pairs / wall / 1e3,
            "cancel": _operator_cancels(serve, peer, batches.ids),
        }
        if with_grace:
            peer.send_bytes(batches.ends + batches.begins_again)
            _barrier(peer)
            result["grace"] = _grace_ends(serve, peer, batches.ids)
        return result
    finally:
        peer.close()


ROWS = {
    "cancel": ("operator cancels, all told", "ms"),
    "grace": ("grace is over, all told", "ms"),
    "memory": ("anonymous memory a request", "kB"),
    "cpu": ("begin and end, processor time", "us"),
    "per_core": ("begin and end, a core-second", "k"),
    "wall": ("begin and end, a second", "k"),
}


def _measurement(count):
    bounds = BOUNDS.get(count, {})

    def measure(bench):
        batches = Batches(count, PAIRS // 4 if bench.quick else PAIRS)
        rounds = []
        for _ in range(7):
            with Serve(bench, "grace_period: 2s") as serve:
                rounds.append(_round(serve, batches, with_grace="grace" in bounds))
        for key, (name, unit) in ROWS.items():
            if key in rounds[0]:
                samples = [one[key] for one in rounds]
                yield figure(f"{count:>6} in flight: {name}", unit, samples, bound=bounds.get(key))

    measure.__name__ = f"{count} in flight"
    return measure


MEASUREMENTS = [_measurement(count) for count in SIZES]
