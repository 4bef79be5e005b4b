"""As many streams as descriptors allow, one more, and memory after many requests."""

import contextlib
import json
import os
import resource
import select
import socket
import threading

import pytest
from raw_engine import SSE_HEAD, chunk, client, metric, ok, post, served
from serve_peer import PATIENCE, wait_until
from serve_usage import anonymous, open_descriptors, threads

LONG = bool(os.environ.get("LASTCALL_TEST_LONG"))
STREAMS = 8_000 if LONG else 400
HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
# Clients get a quarter of a low limit, and of a high one what the supervisor and its sockets leave.
LIMIT = min(4 * STREAMS, 2 * STREAMS + 2568)
NEEDED = max(LIMIT, 2 * STREAMS + 1024)

enough = pytest.mark.skipif(HARD != resource.RLIM_INFINITY and HARD < NEEDED,
                            reason=f"this host allows {HARD} of {NEEDED} descriptors")  # fmt: skip


def at_most(descriptors):
    return ("sh", "-c", f'ulimit -n {descriptors} && exec "$@"', "sh")


@pytest.fixture
def descriptors():
    """This process holds both ends of every stream."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], NEEDED), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def refusal(wire):
    head, _, body = wire.until(b"}}\n").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ") and b"\r\nRetry-After: " in head, head
    return json.loads(body)["error"]


def event(number):
    return chunk(b"data: %d\n\n" % number)


@enough
def test_streams_up_to_the_limit_of_descriptors_work_and_the_next_is_refused(
    proxy, engine, descriptors
):
    one = proxy(wrapped=at_most(LIMIT), ingress={"max_connections": 10 * STREAMS})
    users, wires = [], []
    for _ in range(STREAMS):
        users.append(client(one))
        users[-1].send(post())
        wire, _ = engine.request()
        wire.until(b"}")
        wire.send(SSE_HEAD + event(0))
        wires.append(wire)
    for user in users:
        user.until(event(0))
    for _ in range(3):
        late = client(one)
        late.send(post())
        error = refusal(late)
        assert (error["type"], error["retryable"]) == ("too_many_connections", True)
        late.close()
    assert engine.connections() == STREAMS
    for wire in wires:
        wire.send(event(1))
    for user in users:
        assert user.until(event(1)) == event(1)
    users.pop().close()
    assert wires.pop().ended()
    wait_until(lambda: metric(one, "lastcall_ingress_connections", side="client") < STREAMS, "room")
    users.append(client(one))
    users[-1].send(post())
    wire, _ = engine.request()
    wire.until(b"}")
    wire.send(SSE_HEAD + event(0))
    wires.append(wire)
    users[-1].until(event(0))
    for user, wire in zip(users, wires, strict=True):
        wire.send(event(2) + b"0\r\n\r\n")
        assert user.until(b"0\r\n\r\n") == event(2) + b"0\r\n\r\n"
    wait_until(lambda: one.status()["in_flight"]["requests"] == 0, "all have ended")
    assert one.process.poll() is None


def lower(one, limit):
    """The supervisor takes no descriptor with this number or a greater one; None: any."""
    pid = supervisor(one)
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit or before[1], before[1]))


def supervisor(one):
    return one.supervisor_pid() or one.status()["supervisor"]["pid"]


# A sanitizer looks at memory through a pipe, and takes what it cannot look at for broken.
@pytest.mark.plain_build
def test_a_client_that_comes_when_no_descriptor_is_left_is_refused(proxy, engine):
    one = proxy()
    held = served(one, engine)
    numbers = {int(name) for name in os.listdir(f"/proc/{supervisor(one)}/fd")}
    lower(one, min(set(range(len(numbers) + 1)) - numbers))  # the first that is free
    for _ in range(3):
        late = client(one)
        late.send(post())
        assert refusal(late)["type"] == "too_many_connections"
        late.close()
    lower(one, None)
    for user in (held, client(one)):
        user.send(post())
        wire, _ = engine.request()
        wire.send(ok(b"hello", "Connection: close"))
        user.until(b"hello")
    assert metric(one, "lastcall_ingress_refusals_total", type="too_many_connections") == 3


@pytest.mark.plain_build
def test_a_client_that_cannot_even_be_refused_waits_for_a_descriptor(proxy, engine):
    one = proxy()
    held = served(one, engine)
    lower(one, 3)
    late = client(one)
    late.send(post())
    late.socket.settimeout(0.3)
    with pytest.raises(TimeoutError):
        late.socket.recv(1)
    lower(one, None)
    held.close()  # whose descriptor is free now
    wire, _ = engine.request()
    wire.send(ok())
    late.socket.settimeout(PATIENCE)
    late.until(b"hello")
    assert metric(one, "lastcall_ingress_refusals_total", type="too_many_connections") == 0


# --- memory


def answer_all(engine):
    """Answers every request on every connection; returns at the engine's end."""
    poll, connections = select.epoll(), {}

    def take():
        with contextlib.suppress(Exception):
            while True:
                wire = engine.connection()
                connections[wire.socket.fileno()] = wire.socket
                poll.register(wire.socket, select.EPOLLIN)

    threading.Thread(target=take, daemon=True).start()

    def serve():
        while True:
            for fd, _ in poll.poll():
                with contextlib.suppress(OSError, KeyError):
                    if connections[fd].recv(65536):
                        connections[fd].sendall(ok())
                    else:
                        poll.unregister(fd)

    threading.Thread(target=serve, daemon=True).start()


@enough
@pytest.mark.plain_build
def test_streams_do_not_keep_the_memory_in_which_their_prompts_waited(proxy, engine, descriptors):
    count = 600
    one = proxy(admission={"engine_request_limit": 1, "queue_limit": count})
    pid = supervisor(one)
    before = anonymous(pid)
    body = b'{"model":"m","stream":true,"prompt":"' + b"x" * 100_000 + b'"}'
    users = [client(one) for _ in range(count)]
    for user in users:
        user.send(post(body=body))
    wait_until(lambda: metric(one, "dynamo_request_queue") == count - 1, "all but one wait")
    one.operator().ask("admission.set", engine_request_limit=count)
    wires = [engine.request()[0] for _ in users]
    for wire in wires:
        wire.exactly(len(body))
        wire.send(SSE_HEAD + event(0))
    for user in users:
        user.until(event(0))
    each = (anonymous(pid) - before) / count
    assert each < 10, f"{each:.1f} kB a stream"


USERS = 16
A_CONNECTION = 50  # requests


def ask(one, count, connections):
    """`count` requests; each connection is left after some of them and another one made."""
    poll, users, asked = select.epoll(), {}, {}

    def another():
        user = socket.create_connection(("127.0.0.1", one.ingress_port))
        users[user.fileno()], asked[user.fileno()] = user, 0
        poll.register(user, select.EPOLLIN)
        user.sendall(post())

    for _ in range(connections):
        another()
    answered = 0
    while answered < count:
        ready = poll.poll(PATIENCE)
        assert ready, f"no answer after {answered}"
        for fd, _ in ready:
            assert users[fd].recv(65536).endswith(b"hello")
            answered += 1
            asked[fd] += 1
            if asked[fd] < A_CONNECTION:
                users[fd].sendall(post())
            else:
                users.pop(fd).close()
                another()
    for user in users.values():
        user.close()


@pytest.mark.plain_build
def test_nothing_grows_with_the_number_of_requests(proxy, engine):
    """Not memory, descriptors or threads, nor how often the engine is connected to."""
    first, more = (20_000, 80_000) if LONG else (1_500, 6_000)
    one = proxy()
    answer_all(engine)
    pid = supervisor(one)
    idle = open_descriptors(pid), threads(pid)
    ask(one, first, USERS)
    before = anonymous(pid)
    ask(one, more, USERS)
    after = anonymous(pid)
    assert after <= 1.1 * before + 128, f"{before} kB after {first} requests, {after} kB at the end"
    # A user that leaves without its answer costs the engine's connection: all do, twice.
    assert engine.connections() <= 4 * USERS < (first + more) / A_CONNECTION
    wait_until(lambda: open_descriptors(pid) <= idle[0] + USERS, "the pool is all that is left")
    assert threads(pid) == idle[1]
