"""The router: what relaying costs beside others, and how long a stream stalls when it moves.

The pauses are those that a client sees behind a router in front of two demo engines, each under
`lastcall run` with an ingress: one has all streams, then it dies, drains or freezes, and all of
them go on at the other.
"""

import contextlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import typing
from pathlib import Path

import ingress_load as load
import processes
from bench import PATIENCE, await_that, need, output
from core_topic import benchmarked
from dynamo_fleet import START, DynamoFleet, python_of_dynamo
from figures import NotMeasured, figure, middle
from ingress_proxies import ENGINE, HAPROXY, LASTCALL, ONE_WORKER, engine, start, streaming_engine
from ingress_topic import CONNECTIONS, HEAD, REQUEST, unary_cost
from local_ports import free_port, listens
from open_streams import OpenStreams, cost, processor_seconds

TITLE = "the router, beside others, and the pause of a stream that moves"
DEMO = Path(__file__).resolve().parents[1] / "examples/demo_engine/demo_engine.py"
ROUTER = """\
listen: 127.0.0.1:{port}
operators: 127.0.0.1:0
workers: [{{static: {{urls: ["http://127.0.0.1:{engine}"], model: m}}}}]
migration: {{by: text}}  # the engines of this page answer no probe
"""
# This request is not for a stream, because sglang-router answers a stream in parts.
BODY = b'{"model":"m","messages":[{"role":"user","content":"hello"}]}'
UNARY = (b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
         b"Content-Length: %d\r\n\r\n" % len(BODY)) + BODY  # fmt: skip
CHUNK = json.dumps({
    "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
    "choices": [{"index": 0, "delta": {"content": "word "}, "logprobs": None,
                 "finish_reason": None}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
}).encode()  # fmt: skip
EVENT = b"%x\r\ndata: %b\n\n\r\n" % (len(CHUNK) + 8, CHUNK)


@contextlib.contextmanager
def _fronts(bench, engine_port, with_sglang=True):
    """{name: (pid, port)} of one thread each, in front of the same engine."""
    started = {}
    with contextlib.ExitStack() as stack:
        for name, program, text, words in (
            ("router", bench.router, ROUTER, ("--config", "{config}")),
            ("ingress", bench.lastcall, LASTCALL, ("serve", "--config", "{config}")),
            ("haproxy", "haproxy", HAPROXY, ("-db", "-f", "{config}")),
            ("sglang-router", os.environ.get("LASTCALL_BENCH_SGLANG"), "", (
                "-m", "sglang_router.launch_router", "--host", "127.0.0.1", "--port", "{port}",
                "--policy", "round_robin", "--log-level", "error", "--worker-urls",
                f"http://127.0.0.1:{engine_port}")),
        ):  # fmt: skip
            if program is None or (name == "sglang-router" and not with_sglang):
                continue
            process, port = start(bench, program, text, words, engine=engine_port, threads=1,
                                  haproxy_tls="", lastcall_tls="")  # fmt: skip
            stack.callback(process.wait, PATIENCE)
            stack.callback(process.kill)
            if name == "sglang-router":
                await_that(lambda port=port: _answers(port), "sglang-router answers")
            started[name] = (process.pid, port)
        yield started


def _answers(port):
    """Whether it has found its worker healthy."""
    with socket.create_connection(("127.0.0.1", port)) as user:
        user.sendall(b"GET /v1/models HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        user.settimeout(PATIENCE)
        return user.recv(100).startswith(b"HTTP/1.1 200 ")


def _beside(name, unit, results, **more):
    peers = {peer: middle(taken) for peer, taken in results.items() if peer != "router"}
    return figure(name, unit, results["router"], peers=peers, **more)


def unary(bench):
    """Small requests on kept connections."""
    requests = 2_000 if bench.quick else 5_000
    with engine(bench) as port, _fronts(bench, port) as running:
        results = bench.alternate(
            {name: lambda at=at: unary_cost(*at, requests, UNARY) for name, at in running.items()},
            7,
        )
    yield _beside("small request", "us", results, bound=1.15 * middle(results["ingress"]))


def _opened(listener, port):
    return OpenStreams(listener, port, 256, REQUEST)


def events(bench):
    """Streams that the router could let go on elsewhere: it reads each event."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        listener.settimeout(PATIENCE)
        # sglang-router asks its worker for its health first, and this engine does not answer that.
        with _fronts(bench, listener.getsockname()[1], with_sglang=False) as running:
            results = bench.alternate(
                {name: lambda at=at: cost(listener, at, _opened, HEAD + EVENT, EVENT, 20)
                 for name, at in running.items()}, 7)  # fmt: skip
    costs = {name: [event for event, _ in taken] for name, taken in results.items()}
    held = {name: [taken[0][1]] for name, taken in results.items()}
    best = min(1.15 * middle(costs["ingress"]), middle(costs["haproxy"]))
    yield _beside("256 streams: relayed event", "us", costs, bound=best)
    yield _beside("256 streams: a stream with an event", "kB", held,
                  bound=1.15 * middle(held["ingress"]))  # fmt: skip


def how_much(bench):
    """Requests a second and events a second, cores shared by all."""
    with engine(bench) as port, _fronts(bench, port) as running:
        results = bench.alternate(
            {name: lambda at=at: load.requests_a_second(bench, at[1], CONNECTIONS, 1) / 1e3
             for name, at in running.items()}, 5)  # fmt: skip
    bound = 0.85 * middle(results["ingress"])
    if "sglang-router" in results:
        bound = max(bound, 5 * middle(results["sglang-router"]))
    yield _beside("requests a second, cores shared", "k", results, bound=bound, at_least=True)
    # sglang-router lets no stream of this engine through.
    with streaming_engine(bench) as port, _fronts(bench, port, with_sglang=False) as running:
        results = bench.alternate(
            {name: lambda at=at: _flood(*at) for name, at in running.items()},
            7 if bench.quick else 15)  # fmt: skip
    costs = {name: [cost for cost, _ in taken] for name, taken in results.items()}
    rates = {name: [rate for _, rate in taken] for name, taken in results.items()}
    bound = min(1.15 * middle(costs["ingress"]), middle(costs["haproxy"]))
    yield _beside("256 streams at once: an event", "us", costs, bound=bound)
    yield _beside("256 streams: events a second, cores shared", "k", rates,
                  bound=0.85 * middle(rates["ingress"]), at_least=True)  # fmt: skip


def _flood(pid, port):
    """(microseconds of processor time an event, thousands of events a second)"""
    streams, events = 256, 50
    before = processor_seconds(pid)
    rate = load.events_a_second(port, streams, events)
    return (processor_seconds(pid) - before) * 1e6 / streams / events, rate / 1e3


def first_byte(bench):
    """What each adds, to one request after the other on one kept connection."""
    for name, behind, ask, with_sglang in (
        ("a request", engine, lambda port: load.round_trips(port, UNARY, 200), True),
        ("the first byte", streaming_engine,
         lambda port: load.times_to_first_byte(port, 100), False),
    ):  # fmt: skip
        with behind(bench) as port, _fronts(bench, port, with_sglang) as running:
            ways = {"direct": port, **{one: at[1] for one, at in running.items()}}
            results = bench.alternate(
                {one: lambda at=at, ask=ask: middle(ask(at)) for one, at in ways.items()},
                12 if bench.quick else 40)  # fmt: skip
        direct = middle(results.pop("direct"))
        added = {one: [taken - direct for taken in rounds] for one, rounds in results.items()}
        yield _beside(f"added to {name}, median", "us", added,
                      bound=1.15 * middle(added["ingress"]))  # fmt: skip


# --- the pause of a stream that moves

RATE = 50.0
STREAMS = 8
STALL = 0.5
WORKER = """\
identity: {{model: demo}}
shutdown: {{grace_period: 6s, late_accept: 0s, hand_off: early}}
health: {{checks: []}}
probes: {{listen: "127.0.0.1:{probes}"}}
ipc: {{socket: "{folder}/s", admin_socket: "{folder}/a/s"}}
ingress: {{listen: "127.0.0.1:{port}", upstream: "127.0.0.1:{engine}"}}
"""
FRONT = """\
listen: 127.0.0.1:{port}
operators: 127.0.0.1:{operators}
workers: [{{file: {{directory: "{folder}/registry"}}}}]
migration: {{stall: {stall}ms}}
shutdown: {{late_accept: 0ms, grace_period: 1s}}
"""


class Worker:
    """A demo engine, under `lastcall run` with an ingress or by itself."""

    def __init__(self, bench, rate=RATE, is_supervised=True):
        self.bench, self.folder = bench, Path(tempfile.mkdtemp(dir=bench.scratch))
        self.engine, self.port = free_port(), free_port()
        words = [sys.executable, str(DEMO), "--port", str(self.engine), "--rate", str(rate)]
        if is_supervised:
            (self.folder / "a").mkdir()
            self.config = self.folder / "lastcall.yaml"
            self.config.write_text(WORKER.format(
                folder=self.folder, port=self.port, engine=self.engine, probes=free_port()))
            words = [bench.lastcall, "run", "--config", str(self.config), "--", *words]
        else:
            self.port = self.engine
        environment = {key: value for key, value in os.environ.items() if key != "LASTCALL_SOCKET"}
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env=environment)  # fmt: skip
        for port in (self.engine, self.port):
            await_that(lambda port=port: listens(port), "the worker listens")

    def engine_pid(self):
        told = output([self.bench.lastcall, "status", "--config", str(self.config), "-o", "json"])
        return json.loads(told)["engine"]["pid"]

    def name_in(self, registry):
        path = registry / f"{self.port}.json"
        url = f"http://127.0.0.1:{self.port}"
        text = json.dumps({"instance_id": 7, "advertise": url, "model": "demo"})
        path.with_suffix(".tmp").write_text(text)
        path.with_suffix(".tmp").rename(path)

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait(PATIENCE)
        for child in processes.with_children(os.getpid())[1:]:
            if f"--port\0{self.engine}\0" in Path(f"/proc/{child}/cmdline").read_text():
                os.kill(child, signal.SIGKILL)


class Front:
    def __init__(self, bench, stall=STALL):
        self.folder = Path(tempfile.mkdtemp(dir=bench.scratch))
        self.registry = self.folder / "registry"
        self.registry.mkdir()
        self.port, self.operators = free_port(), free_port()
        config = self.folder / "router.yaml"
        config.write_text(FRONT.format(port=self.port, operators=self.operators,
                                       folder=self.folder, stall=int(stall * 1000)))  # fmt: skip
        self.process = subprocess.Popen([bench.router, "--config", str(config)],
                                        stdin=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)  # fmt: skip
        await_that(lambda: listens(self.port), "the router listens")
        self.at_rest = processes.memory(self.process.pid)["Private_Dirty"]

    def workers(self):
        with socket.create_connection(("127.0.0.1", self.operators), PATIENCE) as wire:
            wire.sendall(b"GET /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            text = b""
            while data := wire.recv(65536):
                text += data
        return int(float(text.split(b"\nlastcall_router_workers ")[1].split()[0]))

    def close(self):
        self.process.kill()
        self.process.wait(PATIENCE)


class Streams:
    """Many clients of one thread: the times at which each had an event, and its words."""

    def __init__(self, port, count, tokens):
        body = json.dumps({"model": "demo", "stream": True, "max_tokens": tokens,
                           "messages": [{"role": "user", "content": "x"}]}).encode()  # fmt: skip
        sent = (b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
                b"Content-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%b" % (len(body), body))  # fmt: skip
        self.poll, self.users, self.got, self.times = select.epoll(), {}, {}, {}
        for _ in range(count):
            user = socket.create_connection(("127.0.0.1", port))
            user.sendall(sent)
            fd = user.fileno()
            self.users[fd], self.got[fd], self.times[fd] = user, bytearray(), []
            self.poll.register(user, select.EPOLLIN)

    def read(self, seconds):
        """What comes within this time; ended streams are left alone."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            for fd, _ in self.poll.poll(left):
                data = self.users[fd].recv(65536)
                if not data:
                    self.poll.unregister(fd)
                    continue
                self.got[fd] += data
                if b"word" in data:
                    self.times[fd].append(time.monotonic())

    def last(self):
        return max(times[-1] for times in self.times.values())

    def pauses(self, since, until, interval, from_then_on=False):
        """Milliseconds: for each stream the longest time without a word that ended between these.

        Counted from the word before, or from `since` on.
        """
        found = []
        for fd, times in self.times.items():
            begun = [max(a, since) if from_then_on else a for a in times]
            gaps = [b - a for a, b in zip(begun, times[1:]) if since <= b <= until]
            is_late = times[-1] < until - 2 * interval - 0.2
            if not gaps or is_late or b"event: error" in self.got[fd]:
                raise NotMeasured("a stream has not gone on")
            found.append(1e3 * max(gaps))
        return found

    def must_be_right(self):
        for got in self.got.values():
            words = [int(found) for found in re.findall(rb"word(\d+)", bytes(got))]
            if words != list(range(len(words))):
                raise NotMeasured("a stream has lost or repeated a word")

    def close(self):
        for user in self.users.values():
            user.close()
        self.poll.close()


@contextlib.contextmanager
def _two_workers(bench, count, worker, tokens=100_000, stall=STALL, settle=0.6):
    """(first worker, router, streams): all streams are at the first, and the second is known."""
    with contextlib.ExitStack() as stack:
        old, new, front = worker(), worker(), Front(bench, stall)
        for each in (old, new, front):
            stack.callback(each.close)
        old.name_in(front.registry)
        await_that(lambda: front.workers() == 1, "the router knows the first")
        streams = Streams(front.port, count, tokens)
        stack.callback(streams.close)
        streams.read(settle)
        new.name_in(front.registry)
        await_that(lambda: front.workers() == 2, "the router knows the second")
        yield old, front, streams


class Pause(typing.NamedTuple):
    """Of one stream, in milliseconds beyond one token interval.

    The token that the engine was making when it was struck is made anew: what had passed of it is
    part of the whole pause, whoever goes on with the stream.
    """

    whole: float  # since the token before
    from_strike: float


def _pauses_of(streams, struck):
    now, interval = time.monotonic(), 1 / RATE
    whole, from_strike = ([pause - 1e3 * interval for pause in
                           streams.pauses(struck, now, interval, from_then_on)]
                          for from_then_on in (False, True))  # fmt: skip
    return list(map(Pause, whole, from_strike))


def _one_pause(bench, strike, after, share):
    """The pause of each stream.

    The engine is struck when this share of an interval has passed since a token.
    """
    with _two_workers(bench, STREAMS, lambda: Worker(bench)) as (old, _, streams):
        pid = old.engine_pid()
        streams.read(0.2)
        streams.read(1 / RATE - (time.monotonic() - streams.last()) + share / RATE)
        struck = time.monotonic()
        strike(old, pid)
        streams.read(after)
        pauses = _pauses_of(streams, struck)
        streams.must_be_right()
        if strike is _freeze:
            os.kill(pid, signal.SIGCONT)
        return pauses


def _kill(_, pid):
    os.kill(pid, signal.SIGKILL)


def _drain(worker, _):
    worker.process.send_signal(signal.SIGTERM)


def _freeze(_, pid):
    os.kill(pid, signal.SIGSTOP)


def pauses(bench):
    """Each round has engines, a router and streams of its own, and strikes later in an interval."""
    rounds = 3 if bench.quick else 7
    interval = 1e3 / RATE
    for name, strike, after, less, bound in (
        ("engine killed", _kill, 1.0, 0, 20),
        ("SIGTERM, early hand-off", _drain, 3.0, 0, interval + 5),
        ("engine frozen, beyond migration.stall", _freeze, 1.5, 1e3 * STALL, 20),
    ):
        pauses = [pause for number in range(rounds)
                  for pause in _one_pause(bench, strike, after, (number + 0.5) / rounds)
                  ]  # fmt: skip
        taken = [pause.whole - less for pause in pauses]
        yield figure(f"{name}: pause beyond one token, median", "ms", taken, bound=bound)
        if strike is _kill:
            yield figure(f"{name}: the same, counted from the kill", "ms",
                         [pause.from_strike for pause in pauses], bound=bound)  # fmt: skip
        yield figure(f"{name}: the longest of {len(taken)}", "ms", [max(taken)])


# --- beside NVIDIA Dynamo

DYNAMO_STALL = 1  # seconds, of its stream timeout


def _dynamo_pause(bench, sent, after, share):
    """The same of Dynamo: its frontend, and two engines of its own at the same pace."""
    port = free_port()
    with contextlib.ExitStack() as stack:
        fleet = DynamoFleet(bench, port, RATE, DYNAMO_STALL)
        stack.callback(fleet.close)
        await_that(lambda: _brings_words(port), "word of Dynamo", START)
        streams = Streams(port, STREAMS, 100_000)
        stack.callback(streams.close)
        streams.read(0.6)
        fleet.add_engine()
        streams.read(1.5)
        streams.read(1 / RATE - (time.monotonic() - streams.last()) + share / RATE)
        struck = time.monotonic()
        fleet.engines[0].send_signal(sent)
        # When its grace is over, Dynamo's worker cuts what runs.
        deadline = struck + PATIENCE
        while sent == signal.SIGTERM and fleet.engines[0].poll() is None:
            if time.monotonic() > deadline:
                raise NotMeasured("Dynamo's engine has not ended")
            streams.read(0.1)
        streams.read(after)
        return _pauses_of(streams, struck)


def _brings_words(port):
    """A stream of one word; before its model is whole it refuses."""
    with contextlib.suppress(OSError), contextlib.closing(Streams(port, 1, 2)) as one:
        one.read(0.3)
        return any(one.times.values())
    return False


def beside_dynamo(bench):
    """The same pauses in turns with Dynamo's; of a frozen engine with what each waits for first."""
    python_of_dynamo()
    rounds = 2 if bench.quick else 5
    for name, strike, sent, after in (
        ("engine killed", _kill, signal.SIGKILL, 2.0),
        ("SIGTERM", _drain, signal.SIGTERM, 4.0),
        ("engine frozen", _freeze, signal.SIGSTOP, 8.0),
    ):
        taken = {"router": [], "Dynamo": []}
        for number in range(rounds):
            share = (number + 0.5) / rounds
            taken["router"] += _one_pause(bench, strike, after, share)
            taken["Dynamo"] += _dynamo_pause(bench, sent, after, share)
        for counted, place in (("", "whole"), (", counted from the strike", "from_strike")):
            ours, peers = ([getattr(pause, place) for pause in taken[one]]
                           for one in ("router", "Dynamo"))  # fmt: skip
            for word, of in (("median", middle), ("longest", max)):
                yield figure(f"beside Dynamo, {name}: pause beyond one token{counted}, {word}",
                             "ms", [of(ours)], peers={"Dynamo": of(peers)},
                             bound=of(peers) / 2)  # fmt: skip


def crowd(bench):
    """1,000 streams of one bare engine that is killed."""
    count, rate = (300 if bench.quick else 1000), 1.0
    with _two_workers(bench, count, lambda: Worker(bench, rate, False), 1000, 20.0,
                      settle=6.0) as (old, front, streams):  # fmt: skip
        struck = time.monotonic()
        old.process.kill()
        streams.read(5.0)
        # All tokens come together, once a second, so the moment in that second at which the engine
        # dies shows nothing about the router.
        found = streams.pauses(struck, time.monotonic(), 1 / rate, from_then_on=True)
        taken = [pause - 1e3 / rate for pause in found]
        streams.must_be_right()
        held = processes.memory(front.process.pid)["Private_Dirty"] - front.at_rest
    yield figure(f"{count} streams of a killed engine: pause beyond one token, median", "ms", taken)
    yield figure(f"{count} streams of a killed engine: the longest", "ms", [max(taken)], bound=1000)
    yield figure(f"{count} streams: memory a stream, moved", "kB", [held / count])


# --- a rollout

REPLICA = """\
identity: {{model: m, advertise: "http://127.0.0.1:{port}"}}
shutdown: {{grace_period: 10s, late_accept: 200ms}}
health: {{checks: []}}
probes: {{listen: "127.0.0.1:0"}}
ipc: {{socket: "{folder}/s", admin_socket: "{folder}/a/s"}}
ingress: {{listen: "127.0.0.1:{port}", upstream: "127.0.0.1:{engine}"}}
discovery: [{{file: {{directory: "{registry}"}}}}]
"""


def _replica(bench, registry):
    """`lastcall run` with nginx as its engine, that registers by itself."""
    folder, port, inner = Path(tempfile.mkdtemp(dir=bench.scratch)), free_port(), free_port()
    (folder / "a").mkdir()
    (folder / "lastcall.yaml").write_text(
        REPLICA.format(folder=folder, port=port, engine=inner, registry=registry))
    (folder / "nginx.conf").write_text(
        ENGINE.format(folder=folder, port=inner, workers=ONE_WORKER))
    words = [bench.lastcall, "run", "--config", str(folder / "lastcall.yaml"), "--",
             need("/usr/sbin/nginx"), "-p", str(folder), "-c", str(folder / "nginx.conf"),
             "-e", str(folder / "early.log")]  # fmt: skip
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    await_that(lambda: _is_named(registry, port), "it registers")
    return process


def _is_named(registry, port):
    return any(f":{port}" in each.read_text() for each in registry.glob("*.json"))


class Users(threading.Thread):
    """Small requests on kept connections, one after the other, until it has to end."""

    def __init__(self, port, count):
        super().__init__(daemon=True)
        self.port, self.count, self.ends = port, count, threading.Event()
        self.answered, self.wrong = 0, []

    def run(self):
        poll, users = select.epoll(), {}
        for _ in range(self.count):
            self.ask(poll, users, socket.create_connection(("127.0.0.1", self.port)))
        while users:
            for fd, _ in poll.poll(PATIENCE):
                user = users.pop(fd)
                said = user.recv(65536)
                if not said.startswith(b"HTTP/1.1 200 ") or b"choices" not in said:
                    self.wrong.append(said[:100])
                self.answered += 1
                poll.unregister(fd)
                if b"onnection: close" in said or not said:
                    user.close()
                    user = socket.create_connection(("127.0.0.1", self.port))
                if not self.ends.is_set():
                    self.ask(poll, users, user)

    @staticmethod
    def ask(poll, users, user):
        users[user.fileno()] = user
        poll.register(user, select.EPOLLIN)
        user.sendall(UNARY)


def rollout(bench):
    """Three replicas are replaced, one after the other, under small requests."""
    with contextlib.ExitStack() as stack:
        front = Front(bench)
        stack.callback(front.close)
        replicas = [_replica(bench, front.registry) for _ in range(3)]
        stack.callback(lambda: [each.kill() for each in replicas if each.poll() is None])
        await_that(lambda: front.workers() == 3, "the router knows all three")
        users = Users(front.port, 16)
        users.start()
        for place in range(3):
            replicas.append(_replica(bench, front.registry))
            replicas[place].send_signal(signal.SIGTERM)
            if replicas[place].wait(PATIENCE) != 0:
                raise NotMeasured("a replica did not end with 0")
        await_that(lambda: users.answered >= (2_000 if bench.quick else 10_000), "enough requests")
        users.ends.set()
        users.join(PATIENCE)
        for each in replicas[3:]:
            each.terminate()
            each.wait(PATIENCE)
    yield figure(f"rollout of 3, {users.answered} requests: not answered with 200", "",
                 [len(users.wrong)], bound=0)  # fmt: skip


# --- a large fleet

CHOICES = {"choose_any": ("a choice", 1000), "choose_by_key": ("a choice by affinity", 1000),
           "choose_by_key_with_a_tenth_skipped":
               ("a choice by affinity, a tenth of them skipped", 1000),
           "choose_by_key_after_news": ("a choice by affinity after news", None),
           "choose_with_a_tenth_skipped": ("a choice, a tenth of them skipped", 1000),
           "look_up": ("what else a request asks", 1000),
           "burst": ("as many changes", 100)}  # fmt: skip


def fleet(bench):
    """A choice, and news of workers, by the code alone; and the same as a process meets it."""
    for (name, unit), taken in benchmarked(bench, bench.fleet).items():
        kind, count = name.split("/")[:2]
        what, bound = CHOICES[kind]
        yield figure(f"{count} workers: {what}", unit, taken, bound=bound)
    count, rounds = 1000, 3 if bench.quick else 7
    taken, held = zip(*[_burst(bench, count) for _ in range(rounds)], strict=True)
    yield figure(f"{count} files of workers come at once: until all are known", "ms", taken)
    yield figure(f"{count} files of workers: processor time", "ms", [cpu for _, cpu in held],
                 bound=100)  # fmt: skip
    yield figure(f"{count} workers: memory a worker", "kB", [kept for kept, _ in held], bound=10)


def _burst(bench, count):
    """(milliseconds until all are known, (kB each, milliseconds of processor time))"""
    front = Front(bench)
    try:
        front.workers()
        made = front.folder / "made"
        made.mkdir()
        for number in range(count):
            url = f"http://127.1.{number // 250}.{1 + number % 250}:8000"
            text = json.dumps({"instance_id": number, "advertise": url, "model": "demo"})
            (made / f"{number}.json").write_text(text)
        spent, began = processor_seconds(front.process.pid), time.monotonic()
        for path in made.iterdir():
            path.rename(front.registry / path.name)
        await_that(lambda: front.workers() == count, "all workers")
        took = 1e3 * (time.monotonic() - began)
        cpu = 1e3 * (processor_seconds(front.process.pid) - spent)
        held = processes.memory(front.process.pid)["Private_Dirty"] - front.at_rest
        return took, (held / count, cpu)
    finally:
        front.close()


MEASUREMENTS = (unary, events, how_much, first_byte, pauses, beside_dynamo, crowd, rollout, fleet)
