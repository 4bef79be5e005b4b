"""The ingress beside nginx and HAProxy: same load, same run, each with as many threads."""

import contextlib
import os
import resource
import select
import socket
import statistics
import threading
import time

import ingress_load as load
import processes
from figures import Figure, NotMeasured, figure, middle, spread
from ingress_proxies import engine, proxies, streaming_engine

TITLE = "the ingress, beside other proxies"
CONNECTIONS = 64
STREAMS = {256: 20, 2000: 8}  # and how many events each of them gets
BODY = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"hello"}]}'
REQUEST = (b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
           b"Content-Length: %d\r\n\r\n" % len(BODY)) + BODY  # fmt: skip
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENT = b"d0\r\ndata: " + b"x" * 200 + b"\n\n\r\n"


def _compared(name, unit, results, bound):
    peers = {peer: middle(taken) for peer, taken in results.items() if peer != "lastcall"}
    return figure(name, unit, results["lastcall"], peers=peers,
                  bound=bound(peers) if bound else None)  # fmt: skip


def _processor_seconds(pid):
    return sum(processes.processor_seconds(one) for one in processes.with_children(pid))


def _unary(pid, port, requests):
    """Microseconds of processor time a request."""
    poll, users = select.epoll(), {}
    for _ in range(CONNECTIONS):
        user = socket.create_connection(("127.0.0.1", port))
        user.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        users[user.fileno()] = user
        poll.register(user, select.EPOLLIN)
    before = _processor_seconds(pid)
    for user in users.values():
        user.sendall(REQUEST)
    answered = 0
    while answered < requests:
        for fd, _ in poll.poll(20) or [(0, 0)]:
            if not fd or b"choices" not in users[fd].recv(65536):
                raise NotMeasured("an answer is missing or not whole")
            answered += 1
            users[fd].sendall(REQUEST)
    taken = _processor_seconds(pid) - before
    for user in users.values():
        user.close()
    poll.close()
    return taken * 1e6 / answered


def unary(bench):
    """Small requests on kept connections."""
    requests = 2_000 if bench.quick else 5_000
    with engine(bench) as port, proxies(bench, port) as running:
        results = bench.alternate(
            {name: lambda at=at: _unary(*at, requests) for name, at in running.items()}, 7
        )
    yield _compared("small request", "us", results, lambda peers: 1.5 * min(peers.values()))


def _streams(listener, streams, pid, port):
    """(microseconds of processor time an event, kB an idle stream)"""
    events, memory = STREAMS[streams], processes.memory(pid)["Private_Dirty"]
    users, inner = [], []
    for _ in range(streams):
        user = socket.create_connection(("127.0.0.1", port))
        user.sendall(REQUEST)
        users.append(user)
        connection, _ = listener.accept()
        inner.append(connection)
    for connection in inner:
        _take_request(connection)
        connection.sendall(HEAD)
    time.sleep(0.2)
    before = _processor_seconds(pid)
    for _ in range(events):
        for connection in inner:
            connection.sendall(EVENT)
        time.sleep(0.01)
    wanted = events * EVENT.count(b"x")
    for user in users:
        user.settimeout(20)
        got = 0
        while got < wanted:
            got += user.recv(65536).count(b"x")
    event = (_processor_seconds(pid) - before) * 1e6 / streams / events
    idle = (processes.memory(pid)["Private_Dirty"] - memory) / streams
    for one in users + inner:
        one.close()
    return event, idle


def _of_streams(bench, count):
    """{name: [(event, idle stream) of each round]}"""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < 2 * count + 256:
        raise NotMeasured(f"{count} streams need more than {hard} descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        listener.settimeout(20)
        with proxies(bench, listener.getsockname()[1]) as running:
            return bench.alternate(
                {name: lambda at=at: _streams(listener, count, *at)
                 for name, at in running.items()}, 7)  # fmt: skip


def streams(bench):
    """Open streams: what an event costs, and what a stream that says nothing holds."""
    for count in [256] if bench.quick else STREAMS:
        results = _of_streams(bench, count)
        events = {name: [event for event, _ in taken] for name, taken in results.items()}
        # The first round of each: later ones find the memory of the one before.
        idle = {name: [taken[0][1]] for name, taken in results.items()}
        yield _compared(f"{count} streams: relayed event", "us", events,
                        lambda peers: 1.5 * min(peers.values()))  # fmt: skip
        if bench.threads == 1:  # else nginx has several processes, which share memory
            yield _compared(f"{count} streams: idle stream", "kB", idle,
                            lambda peers: peers["nginx"])


# --- how much and how soon


@contextlib.contextmanager
def _apart(bench):
    """A core for each thread of a proxy, others for everything else: the cores of the proxies."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) <= bench.threads:
        raise NotMeasured(f"{len(cores)} cores are not enough to tell a proxy from its load")
    os.sched_setaffinity(0, cores[bench.threads : 2 * bench.threads])
    try:
        yield cores[: bench.threads]
    finally:
        os.sched_setaffinity(0, cores)


def _most(name, unit, results):
    peers = {peer: middle(taken) for peer, taken in results.items() if peer != "lastcall"}
    return figure(name, unit, [value / 1e3 for value in results["lastcall"]],
                  peers={peer: value / 1e3 for peer, value in peers.items()},
                  bound=0.8 * max(peers.values()) / 1e3, at_least=True)  # fmt: skip


def throughput(bench):
    """As much as goes through, each proxy with a core a thread, the same ones."""
    with _apart(bench) as cores:
        with engine(bench) as port, proxies(bench, port, cores) as running:
            results = bench.alternate(
                {name: lambda at=at: load.requests_a_second(bench, at[1], CONNECTIONS, 1)
                 for name, at in running.items()}, 7)  # fmt: skip
        yield _most("requests a second", "k", results)
        with streaming_engine(bench) as port, proxies(bench, port, cores) as running:
            results = bench.alternate(
                {name: lambda at=at: load.events_a_second(at[1], 256, 50)
                 for name, at in running.items()}, 7)  # fmt: skip
        yield _most("256 streams: events a second", "k", results)


def _percentile(samples, share):
    return statistics.quantiles(samples, n=100)[share - 1]


def _added(name, direct, results, share):
    """What a proxy adds to what the engine takes by itself, at this percentile of each round."""
    base = middle([_percentile(samples, share) for samples in direct])
    added = {one: [_percentile(samples, share) - base for samples in rounds]
             for one, rounds in results.items()}  # fmt: skip
    return _compared(name, "us", added, lambda peers: 1.2 * min(peers.values()))


def latency(bench):
    """One request after the other, so that nothing waits for anything but its own way."""
    count = 300 if bench.quick else 1_000
    with _apart(bench) as cores:
        with engine(bench) as port, proxies(bench, port, cores) as running:
            ways = {"direct": (0, port), **running}
            results = bench.alternate(
                {name: lambda at=at: load.round_trips(at[1], REQUEST, count)
                 for name, at in ways.items()}, 7)  # fmt: skip
        direct = results.pop("direct")
        yield _added("added to a request, median", direct, results, 50)
        yield _added("added to a request, p99", direct, results, 99)
        with streaming_engine(bench) as port, proxies(bench, port, cores) as running:
            ways = {"direct": (0, port), **running}
            results = bench.alternate(
                {name: lambda at=at: load.times_to_first_byte(at[1], count // 2)
                 for name, at in ways.items()}, 7)  # fmt: skip
        direct = results.pop("direct")
        yield _added("added to the first byte, median", direct, results, 50)
        yield _added("added to the first byte, p99", direct, results, 99)


# --- clients that leave


def _take_request(connection):
    connection.settimeout(20)
    got = b""
    while not got.endswith(BODY):
        data = connection.recv(65536)
        if not data:
            raise NotMeasured("the request did not arrive whole")
        got += data


def gone(bench):
    """The client's close to the end of the engine's connection, which is silent."""
    rounds = 50 if bench.quick else 200
    for kind, begun in (("request", False), ("stream", True)):
        with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
            listener.settimeout(20)
            with proxies(bench, listener.getsockname()[1]) as running:
                results = bench.alternate(
                    {name: lambda at=at, begun=begun: _gone(listener, at[1], begun)
                     for name, at in running.items()}, rounds)  # fmt: skip
        for share, name in ((50, "median"), (99, "p99")):
            values = {one: _percentile(taken, share) for one, taken in results.items()}
            ours = values.pop("lastcall")
            yield Figure(f"client of a {kind} gone to engine closed, {name}", "us", ours,
                         spread(results["lastcall"]), values, 1.2 * values["haproxy"])  # fmt: skip


def _gone(listener, port, begun):
    user = socket.create_connection(("127.0.0.1", port))
    user.sendall(REQUEST)
    inner, _ = listener.accept()
    _take_request(inner)
    if begun:
        inner.sendall(HEAD + EVENT)
        user.settimeout(20)
        while not user.recv(65536).endswith(b"\n\n\r\n"):
            pass
    seen = []

    def wait():
        try:
            said = inner.recv(1)
        except ConnectionResetError:  # an end as good as another
            said = b""
        seen.append((said, time.monotonic_ns()))

    waiter = threading.Thread(target=wait)
    waiter.start()
    time.sleep(0.002)
    before = time.monotonic_ns()
    user.close()
    waiter.join()
    inner.close()
    if seen[0][0]:
        raise NotMeasured("the engine's connection said something")
    return (seen[0][1] - before) / 1e3


MEASUREMENTS = (unary, streams, throughput, latency, gone)
