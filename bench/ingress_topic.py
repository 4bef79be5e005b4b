"""The ingress beside nginx and HAProxy: same load, same run, each with one worker."""

import select
import socket
import threading
import time

import processes
from figures import NotMeasured, figure, middle
from ingress_proxies import engine, proxies

TITLE = "the ingress, beside other proxies"
CONNECTIONS = 64
STREAMS = 256
EVENTS = 20
BODY = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"hello"}]}'
REQUEST = (b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
           b"Content-Length: %d\r\n\r\n" % len(BODY)) + BODY  # fmt: skip
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENT = b"d0\r\ndata: " + b"x" * 200 + b"\n\n\r\n"


def _compared(name, unit, results, bound):
    peers = {peer: middle(taken) for peer, taken in results.items() if peer != "lastcall"}
    return figure(name, unit, results["lastcall"], peers=peers,
                  bound=bound(peers) if bound else None)  # fmt: skip


def _unary(pid, port, requests):
    """Microseconds of processor time a request."""
    poll, users = select.epoll(), {}
    for _ in range(CONNECTIONS):
        user = socket.create_connection(("127.0.0.1", port))
        user.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        users[user.fileno()] = user
        poll.register(user, select.EPOLLIN)
    before = processes.processor_seconds(pid)
    for user in users.values():
        user.sendall(REQUEST)
    answered = 0
    while answered < requests:
        for fd, _ in poll.poll(20) or [(0, 0)]:
            if not fd or b"choices" not in users[fd].recv(65536):
                raise NotMeasured("an answer is missing or not whole")
            answered += 1
            users[fd].sendall(REQUEST)
    taken = processes.processor_seconds(pid) - before
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


def _streams(listener, pid, port):
    """(microseconds of processor time an event, kB an idle stream)"""
    memory = processes.memory(pid)["Private_Dirty"]
    users, inner = [], []
    for _ in range(STREAMS):
        user = socket.create_connection(("127.0.0.1", port))
        user.sendall(REQUEST)
        users.append(user)
        connection, _ = listener.accept()
        inner.append(connection)
    for connection in inner:
        _take_request(connection)
        connection.sendall(HEAD)
    time.sleep(0.2)
    before = processes.processor_seconds(pid)
    for _ in range(EVENTS):
        for connection in inner:
            connection.sendall(EVENT)
        time.sleep(0.01)
    wanted = EVENTS * EVENT.count(b"x")
    for user in users:
        user.settimeout(20)
        got = 0
        while got < wanted:
            got += user.recv(65536).count(b"x")
    event = (processes.processor_seconds(pid) - before) * 1e6 / STREAMS / EVENTS
    idle = (processes.memory(pid)["Private_Dirty"] - memory) / STREAMS
    for one in users + inner:
        one.close()
    return event, idle


def streams(bench):
    """Open streams: what an event costs, and what a stream that says nothing holds."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        listener.settimeout(20)
        with proxies(bench, listener.getsockname()[1]) as running:
            results = bench.alternate(
                {name: lambda at=at: _streams(listener, *at) for name, at in running.items()}, 7
            )
    events = {name: [event for event, _ in taken] for name, taken in results.items()}
    # The first round of each: later ones find the memory of the one before.
    idle = {name: [taken[0][1]] for name, taken in results.items()}
    yield _compared("relayed event", "us", events, lambda peers: 1.5 * min(peers.values()))
    yield _compared("idle stream", "kB", idle, lambda peers: peers["nginx"])


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
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        listener.settimeout(20)
        with proxies(bench, listener.getsockname()[1]) as running:
            results = bench.alternate(
                {name: lambda at=at: _gone(listener, at[1]) for name, at in running.items()},
                50 if bench.quick else 200,
            )
    yield _compared("client gone to engine closed", "us", results,
                    lambda peers: 1.2 * peers["haproxy"])  # fmt: skip


def _gone(listener, port):
    user = socket.create_connection(("127.0.0.1", port))
    user.sendall(REQUEST)
    inner, _ = listener.accept()
    _take_request(inner)
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


MEASUREMENTS = (unary, streams, gone)
