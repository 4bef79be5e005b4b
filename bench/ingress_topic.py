"""The ingress beside nginx and HAProxy: same load, same run, each with as many threads."""

import contextlib
import os
import re
import resource
import select
import signal
import socket
import ssl
import statistics
import subprocess
import time

import ingress_load as load
from bench import need
from figures import NotMeasured, figure, middle, of_peers
from ingress_proxies import certificate, engine, proxies, relay, streaming_engine
from open_streams import OpenStreams, cost, processor_seconds

TITLE = "the ingress, beside other proxies"
CONNECTIONS = 64
STREAMS = {256: 20, 2000: 8}  # and how many events each of them gets
BODY = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"hello"}]}'
REQUEST = (b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
           b"Content-Length: %d\r\n\r\n" % len(BODY)) + BODY  # fmt: skip
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENT = b"d0\r\ndata: " + b"x" * 200 + b"\n\n\r\n"


def _compared(name, unit, results, bound):
    peers, before = of_peers(results)
    return figure(name, unit, results["lastcall"], peers=peers, before=before,
                  bound=bound(peers) if bound else None)  # fmt: skip


def unary_cost(pid, port, requests, sent=REQUEST):
    """Microseconds of processor time a request."""
    poll, users = select.epoll(), {}
    for _ in range(CONNECTIONS):
        user = socket.create_connection(("127.0.0.1", port))
        user.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        users[user.fileno()] = user
        poll.register(user, select.EPOLLIN)
    before = processor_seconds(pid)
    for user in users.values():
        user.sendall(sent)
    answered = 0
    while answered < requests:
        for fd, _ in poll.poll(20) or [(0, 0)]:
            if not fd or b"choices" not in users[fd].recv(65536):
                raise NotMeasured("an answer is missing or not whole")
            answered += 1
            users[fd].sendall(sent)
    taken = processor_seconds(pid) - before
    for user in users.values():
        user.close()
    poll.close()
    return taken * 1e6 / answered


def unary(bench):
    """Small requests on kept connections."""
    requests = 2_000 if bench.quick else 5_000
    with engine(bench) as port, proxies(bench, port) as running:
        results = bench.alternate(
            {name: lambda at=at: unary_cost(*at, requests) for name, at in running.items()}, 7
        )
    yield _compared("small request", "us", results, lambda peers: 1.5 * min(peers.values()))


def _over_tls(address):
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    return trusting.wrap_socket(socket.create_connection(address))


def _of_streams(bench, count, pem):
    """{name: [(event, idle stream) of each round]}"""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < 2 * count + 256:
        raise NotMeasured(f"{count} streams need more than {hard} descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        listener.settimeout(20)
        connect = _over_tls if pem else socket.create_connection

        def opened(listener, port):
            return OpenStreams(listener, port, count, REQUEST, connect)

        with proxies(bench, listener.getsockname()[1], pem=pem) as running:
            return bench.alternate(
                {name: lambda at=at: cost(listener, at, opened, HEAD, EVENT, STREAMS[count])
                 for name, at in running.items()}, 7)  # fmt: skip


def _stream_figures(bench, count, pem=None):
    results = _of_streams(bench, count, pem)
    kind = "TLS streams" if pem else "streams"
    events = {name: [event for event, _ in taken] for name, taken in results.items()}
    # Only the first round of each proxy counts: a later one finds the memory of the one before.
    idle = {name: [taken[0][1]] for name, taken in results.items()}
    yield _compared(f"{count} {kind}: relayed event", "us", events,
                    lambda peers: 1.5 * min(peers.values()))  # fmt: skip
    if bench.threads == 1:  # else nginx has several processes, which share memory
        yield _compared(f"{count} {kind}: idle stream", "kB", idle, lambda peers: peers["nginx"])


def streams(bench):
    """Open streams: what an event costs, and what a silent stream holds."""
    for count in [256] if bench.quick else STREAMS:
        yield from _stream_figures(bench, count)


def tls_streams(bench):
    """The same with clients that speak TLS."""
    yield from _stream_figures(bench, 256, certificate(bench))


# --- how much and how soon


@contextlib.contextmanager
def _cores(bench, may_share=False):
    """A core for each thread of a proxy, others for everything else: (the proxies', their text).

    With too few of them everything shares all: how much goes through then shows what the work costs
    beside its load, which costs the same whichever proxy it is; how soon would show nothing.
    """
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) <= bench.threads:
        if not may_share:
            raise NotMeasured(f"{len(cores)} cores are not enough to tell a proxy from its load")
        yield None, ", cores shared"
        return
    os.sched_setaffinity(0, cores[bench.threads : 2 * bench.threads])
    try:
        yield cores[: bench.threads], ""
    finally:
        os.sched_setaffinity(0, cores)


def _most(name, unit, results):
    thousands = {one: [value / 1e3 for value in taken] for one, taken in results.items()}
    peers, before = of_peers(thousands)
    return figure(name, unit, thousands["lastcall"], peers=peers, before=before,
                  bound=0.8 * max(peers.values()), at_least=True)  # fmt: skip


def throughput(bench):
    """As much as goes through, each proxy with the same cores."""
    with _cores(bench, may_share=True) as (cores, how):
        with engine(bench) as port, proxies(bench, port, cores) as running:
            results = bench.alternate(
                {name: lambda at=at: load.requests_a_second(bench, at[1], CONNECTIONS, 1)
                 for name, at in running.items()}, 7)  # fmt: skip
        yield _most(f"requests a second{how}", "k", results)
        with streaming_engine(bench) as port, proxies(bench, port, cores) as running:
            results = bench.alternate(
                {name: lambda at=at: load.events_a_second(at[1], 256, 50)
                 for name, at in running.items()}, 7 if bench.quick else 31)  # fmt: skip
        yield _most(f"256 streams: events a second{how}", "k", results)


def _percentile(samples, share):
    return statistics.quantiles(samples, n=100)[share - 1]


def _added(name, direct, results, share):
    """What a proxy adds to what the engine takes by itself, at this percentile of each round."""
    base = middle([_percentile(samples, share) for samples in direct])
    added = {one: [_percentile(samples, share) - base for samples in rounds]
             for one, rounds in results.items()}  # fmt: skip
    return _compared(name, "us", added, lambda peers: 1.2 * min(peers.values()))


def latency(bench):
    """One request after the other, so that nothing waits for anything but its own way.

    Short rounds and many of them: what disturbs a machine lasts longer than a round.
    """
    rounds = 20 if bench.quick else 80
    with _cores(bench) as (cores, _):
        with engine(bench) as port, proxies(bench, port, cores) as running:
            ways = {"direct": (0, port), **running}
            results = bench.alternate(
                {name: lambda at=at: load.round_trips(at[1], REQUEST, 200)
                 for name, at in ways.items()}, rounds)  # fmt: skip
        direct = results.pop("direct")
        yield _added("added to a request, median", direct, results, 50)
        yield _added("added to a request, p99", direct, results, 99)
        with streaming_engine(bench) as port, proxies(bench, port, cores) as running:
            ways = {"direct": (0, port), **running}
            results = bench.alternate(
                {name: lambda at=at: load.times_to_first_byte(at[1], 100)
                 for name, at in ways.items()}, rounds)  # fmt: skip
        direct = results.pop("direct")
        yield _added("added to the first byte, median", direct, results, 50)
        yield _added("added to the first byte, p99", direct, results, 99)


PACES = (("back to back", 0), ("each after 2 ms", 0.002))


def kept(bench):
    """One kept connection, and no core for any process alone, as on a small machine.

    Back to back all cores are awake. After a pause they sleep, and the process that is woken pays
    for that. A relay that does nothing shows how much of it no proxy can avoid.
    """
    rounds = 12 if bench.quick else 40
    asked = (
        ("a request", engine, lambda at, pause: load.round_trips(at, REQUEST, 100, pause)),
        ("the first byte", streaming_engine,
         lambda at, pause: load.times_to_first_byte(at, 50, pause_s=pause)),
    )  # fmt: skip
    for pace, pause in PACES:
        for what, started, ask in asked:
            with started(bench) as port, proxies(bench, port) as running, \
                 relay(bench, port) as bare:  # fmt: skip
                ways = {"direct": port, "bare": bare, **{n: at[1] for n, at in running.items()}}
                results = bench.alternate(
                    {name: lambda at=at, ask=ask: ask(at, pause) for name, at in ways.items()},
                    rounds)  # fmt: skip
            direct, bare = results.pop("direct"), results.pop("bare")
            least = middle([_percentile(s, 50) for s in bare]) - middle(
                [_percentile(s, 50) for s in direct])  # fmt: skip
            item = _added(f"kept, {pace}: added to {what}, median", direct, results, 50)
            item.note = f"a relay that does nothing adds {least:.3g} us"
            yield item


def system_calls(bench):
    """The system calls of a small request on a kept connection, as strace counts them."""
    requests = 500
    with engine(bench) as port, proxies(bench, port) as running:
        counts = {name: [_calls(bench, *at, requests)] for name, at in running.items()}
    # Among them are a few that make the connection, or read random numbers for ids.
    yield _compared("system calls a kept request", "", counts,
                    lambda peers: 1.05 * min(peers.values()))  # fmt: skip


def _calls(bench, pid, port, requests):
    load.round_trips(port, REQUEST, 20)  # the engine's connection is there
    summary = bench.scratch / "calls"
    tracer = subprocess.Popen([need("strace"), "-f", "-c", "-o", str(summary), "-p", str(pid)],
                              stderr=subprocess.PIPE)  # fmt: skip
    tracer.stderr.readline()  # attached
    load.round_trips(port, REQUEST, requests)
    tracer.send_signal(signal.SIGINT)
    tracer.wait(20)
    tracer.stderr.close()
    total = re.search(r"^100.00 +\S+ +(?:\d+ +)?(\d+).* total$", summary.read_text(), re.MULTILINE)
    if not total:
        raise NotMeasured("strace has told no sum")
    return int(total[1]) / requests


# --- clients that leave


def take_request(connection):
    connection.settimeout(20)
    got = b""
    while not got.endswith(BODY):
        data = connection.recv(65536)
        if not data:
            raise NotMeasured("the request did not arrive whole")
        got += data


def gone(bench):
    """The client's close to the end of the engine's connection, which is silent.

    Long rounds: once a second the kernel keeps a process waiting for a millisecond, and a p99 of
    100 is the worst of them.
    """
    for kind, begun in (("request", False), ("stream", True)):
        with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
            listener.settimeout(20)
            with proxies(bench, listener.getsockname()[1]) as running:
                rounds = [_gone_round(bench, listener, running, begun) for _ in range(7)]
        for share, name in ((50, "median"), (99, "p99")):
            results = {one: [_percentile(taken[one], share) for taken in rounds] for one in running}
            yield _compared(f"client of a {kind} gone to engine closed, {name}", "us", results,
                            lambda peers: 1.2 * peers["haproxy"])  # fmt: skip


def _gone_round(bench, listener, running, begun):
    """{name: [microseconds]}; within a round each takes turns, too."""
    count = 200 if bench.quick else 300
    return bench.alternate({name: lambda at=at: _gone(listener, at[1], begun)
                            for name, at in running.items()}, count)  # fmt: skip


def _gone(listener, port, begun):
    user = socket.create_connection(("127.0.0.1", port))
    user.sendall(REQUEST)
    inner, _ = listener.accept()
    take_request(inner)
    if begun:
        inner.sendall(HEAD + EVENT)
        user.settimeout(20)
        if not user.recv(65536):  # not the whole event: HAProxy keeps one back for 200 ms
            raise NotMeasured("the response has not begun")
    time.sleep(0.002)  # the proxy is at rest again
    before = time.monotonic_ns()
    user.close()
    try:
        said = inner.recv(1)
    except ConnectionResetError:  # an end as good as another
        said = b""
    taken = time.monotonic_ns() - before
    inner.close()
    if said:
        raise NotMeasured("the engine's connection said something")
    return taken / 1e3


MEASUREMENTS = (unary, system_calls, streams, tls_streams, throughput, latency, kept, gone)
