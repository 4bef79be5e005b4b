"""From a cancel at the supervisor to the callback in the engine, beside raw Unix sockets.

An operator's line goes to the supervisor, which notifies each engine that has a request of that
root. Raw is the same way without any protocol: a line to a relay, which writes one as long as a
cancel to each receiver. Sender and clock are the same; rounds of both take turns, and both come
either back to back, or each after a pause, as clients leave: then both find cold caches and cores
asleep.
"""

import contextlib
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import await_that
from figures import Figure, NotMeasured, spread
from supervised import Serve
from wire import encode

TITLE = "a cancel, from the operator's line to the engine's callback"
HERE = Path(__file__).parent
SDK = HERE.parent / "sdk/python"
CHUNKS = 8
STATES = (("each after a pause", 0.02), ("back to back", 0))


def _cancel_line(number):
    return encode([{"op": "cancel", "root": f"round-{number}", "reason": "operator"}])


class _Ends:
    """Processes that report instants on their standard output."""

    def __init__(self):
        self.processes = []
        self.environment = {"PYTHONPATH": str(SDK)}

    def start(self, *words):
        environment = {**os.environ, **self.environment}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE,
                 "stderr": subprocess.DEVNULL}  # fmt: skip
        self.processes.append(subprocess.Popen(words, env=environment, **pipes))

    def instants(self):
        found = [process.stdout.read(8) for process in self.processes]
        if any(len(each) < 8 for each in found):
            raise NotMeasured("a far end has ended")
        return [struct.unpack("q", each)[0] for each in found]

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()


class Raw(_Ends):
    def __init__(self, bench, count):
        super().__init__()
        path = str(Path(bench.scratch) / f"relay-{count}-{time.monotonic_ns()}")
        self.relay = subprocess.Popen([bench.cancel, "relay", path, str(count)])
        await_that(lambda: os.path.exists(path), "the relay")
        for _ in range(count):
            self.start(bench.cancel, "receiver", path)
        # The relay accepts the sender last, so it has to wait until the others are connected.
        await_that(lambda: _is_in_read(self.processes), "the receivers")
        self.sender = socket.socket(socket.AF_UNIX)
        self.sender.connect(path)

    def round(self, number):
        line = _cancel_line(number)
        at = time.monotonic_ns()
        self.sender.sendall(line)
        return [(instant - at) / 1e3 for instant in self.instants()]

    def close(self):
        self.sender.close()
        super().close()
        self.relay.kill()
        self.relay.wait()


def _is_in_read(processes):
    for process in processes:
        with open(f"/proc/{process.pid}/stat", encoding="latin-1") as file:
            if file.read().rpartition(")")[2].split()[0] != "S":
                return False
    return True


class Supervised(_Ends):
    def __init__(self, bench, serve, count, command):
        super().__init__()
        self.operator = serve.operator()
        self.count = count
        for number in range(count):
            self.start(*command, str(serve.engine_socket), f"peer-{number}")

    def begin(self, rounds):
        """The requests of that many rounds; what begins and ends them is not part of a cancel."""
        self._tell(b"." * rounds)
        await_that(lambda: self._live() == self.count * rounds, "requests of these rounds")

    def end(self):
        self._tell(b"e")
        await_that(lambda: self._live() == 0, "ends")

    def round(self, number):
        line = _cancel_line(number)
        at = time.monotonic_ns()
        self.operator.send_bytes(line)
        return [(instant - at) / 1e3 for instant in self.instants()]

    def _tell(self, words):
        for process in self.processes:
            os.write(process.stdin.fileno(), words)

    def _live(self):
        return self.operator.ask({"op": "status"})["in_flight"]["requests"]

    def close(self):
        super().close()
        self.operator.close()


def _compare(bench, count, command, rounds, pause_s=0):
    """Microseconds, ours and raw, of rounds that took turns."""
    ours, raw = [], []
    with Serve(bench) as serve:
        serve.await_serving()
        supervised, relayed = Supervised(bench, serve, count, command), Raw(bench, count)
        try:
            number = 0
            for _ in range(CHUNKS):
                supervised.begin(rounds)
                for _ in range(rounds):
                    time.sleep(pause_s)
                    ours += supervised.round(number)
                    number += 1
                supervised.end()
                for each in range(rounds):
                    time.sleep(pause_s)
                    raw += relayed.round(each)
        finally:
            supervised.close()
            relayed.close()
    warm = count * rounds // 4
    return ours[warm:], raw[warm:]


def _figure(name, ours, raw, share, factor):
    value = statistics.quantiles(ours, n=100)[share - 1]
    peer = statistics.quantiles(raw, n=100)[share - 1]
    return Figure(name, "us", value, spread(ours), {"raw": peer}, bound=factor * peer)


def one_engine(bench):
    rounds = 20 if bench.quick else 60
    for state, pause_s in STATES:
        ours, raw = _compare(bench, 1, [bench.cancel, "engine"], rounds, pause_s)
        yield _figure(f"C++, one engine, {state}: median", ours, raw, 50, 1.5)


def many_engines(bench):
    rounds = 5 if bench.quick else 20
    for state, pause_s in STATES:
        ours, raw = _compare(bench, 64, [bench.cancel, "engine"], rounds, pause_s)
        yield _figure(f"C++, 64 engines, {state}: p99", ours, raw, 99, 2)


def python_engine(bench):
    rounds = 20 if bench.quick else 60
    command = [sys.executable, str(HERE / "programs/cancel_engine.py")]
    for state, pause_s in STATES:
        ours, raw = _compare(bench, 1, command, rounds, pause_s)
        yield _figure(f"Python asyncio, one engine, {state}: median", ours, raw, 50, 5)


# --- beside NVIDIA Dynamo


class Dynamo(_Ends):
    """A worker, and its caller, which cancels by `stop_generating`."""

    def __init__(self, bench, python):
        super().__init__()
        self.environment = {"DYN_FILE_KV": tempfile.mkdtemp(dir=bench.scratch), "DYN_LOG": "off"}
        self.start(python, str(HERE / "programs/dynamo_worker.py"))
        self.start(python, str(HERE / "programs/dynamo_caller.py"))
        self.worker, self.caller = self.processes
        self._await_bytes(1)

    def begin(self, rounds):
        os.write(self.caller.stdin.fileno(), b"." * rounds)
        self._await_bytes(rounds)

    def round(self):
        os.write(self.caller.stdin.fileno(), b"c")
        at, told = (struct.unpack("q", _exactly(end.stdout, 8))[0]
                    for end in (self.caller, self.worker))  # fmt: skip
        return (told - at) / 1e3

    def _await_bytes(self, count):
        _exactly(self.caller.stdout, count)


def _exactly(pipe, count):
    found = pipe.read(count)
    if len(found) < count:
        raise NotMeasured("Dynamo has ended")
    return found


def _beside_dynamo(bench, python, rounds, pause_s):
    """Microseconds of each cancel, ours and Dynamo's, of rounds that took turns."""
    ours, theirs = [], []
    command = [python, str(HERE / "programs/cancel_engine.py")]
    with Serve(bench) as serve, contextlib.ExitStack() as stack:
        serve.await_serving()
        supervised, dynamo = Supervised(bench, serve, 1, command), Dynamo(bench, python)
        stack.callback(supervised.close)
        stack.callback(dynamo.close)
        for chunk in range(CHUNKS):
            supervised.begin(rounds)
            dynamo.begin(rounds)
            time.sleep(0.1)
            for number in range(chunk * rounds, (chunk + 1) * rounds):
                time.sleep(pause_s)
                ours += supervised.round(number)
            for _ in range(rounds):
                time.sleep(pause_s)
                theirs.append(dynamo.round())
            supervised.end()
    warm = CHUNKS * rounds // 4
    return ours[warm:], theirs[warm:]


def dynamo(bench):
    """A Python engine of either, with the same interpreter, which LASTCALL_BENCH_DYNAMO names."""
    python = os.environ.get("LASTCALL_BENCH_DYNAMO")
    if not python:
        raise NotMeasured("LASTCALL_BENCH_DYNAMO names no Python with ai-dynamo-runtime")
    for state, pause_s in STATES:
        ours, theirs = _beside_dynamo(bench, python, 20 if bench.quick else 60, pause_s)
        for share, factor, word in ((50, 0.95, "median"), (99, 1, "p99")):
            of_ours, of_theirs = (statistics.quantiles(taken, n=100)[share - 1]
                                  for taken in (ours, theirs))  # fmt: skip
            yield Figure(f"beside Dynamo, {state}: {word}", "us", of_ours, spread(ours),
                         {"stop_generating": of_theirs}, bound=factor * of_theirs)  # fmt: skip


MEASUREMENTS = [one_engine, many_engines, python_engine, dynamo]
