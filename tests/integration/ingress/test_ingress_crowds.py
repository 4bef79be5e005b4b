"""Crowds: idle connections, many of one address, slow readers and junk, and what is left
afterwards."""

import contextlib
import select
import socket
import threading

import pytest
from raw_engine import SSE_HEAD, asked, chunk, client, get, metric, ok, post, served, wait_for_count
from serve_peer import PATIENCE, wait_until
from serve_usage import anonymous

THREADS = [1, 2]
MB = 1024 * 1024


def clients_of(one):
    return metric(one, "lastcall_ingress_connections", side="client")


def test_a_crowd_of_idle_connections_locks_nobody_out(proxy, engine, threads):
    one = proxy(ingress={"max_connections": 8})
    crowd = [client(one) for _ in range(8)]
    wait_until(lambda: clients_of(one) == 8, "the crowd is there")
    users = [served(one, engine) for _ in range(4)]
    assert len(users) == 4
    wait_until(lambda: clients_of(one) == 8, "as many as there may be")
    wait_for_count(one, 4, "lastcall_ingress_evictions_total", reason="connections")
    assert metric(one, "lastcall_ingress_refusals_total", type="too_many_connections") == 0
    if threads == 1:
        for wire in crowd[:4]:  # longest idle first
            assert wire.ended()
        for wire in crowd[4:]:
            wire.socket.settimeout(0.05)
            with pytest.raises(TimeoutError):
                wire.socket.recv(1)


def test_heads_that_never_end_and_kept_connections_give_way_too(proxy, engine, threads):
    one = proxy(ingress={"max_connections": 4})
    kept = [served(one, engine) for _ in range(2)]
    half = [client(one) for _ in range(2)]
    for wire in half:
        wire.send(b"GET / HTTP/1.1\r\nHost: h\r\nX: ")
    wait_until(lambda: clients_of(one) == 4, "all are there")
    users = [served(one, engine) for _ in range(4)]
    wait_until(lambda: clients_of(one) == 4, "as many as there may be")
    if threads == 1:  # else each thread has its own order
        assert all(wire.ended() for wire in (*kept, *half))
    users[-1].send(get())
    wire, _ = engine.request()
    wire.send(ok())
    users[-1].until(b"hello")


def test_nobody_with_a_request_gives_way(proxy, engine, threads):
    one = proxy(ingress={"max_connections": 2})
    busy = []
    for _ in range(2):
        user, wire = asked(one, engine)
        busy.append((user, wire))
    for _ in range(3):
        late = client(one)
        answer = late.until(b"}}\n")
        assert answer.startswith(b"HTTP/1.1 503 ") and b'"type":"too_many_connections"' in answer
        late.close()
    wait_for_count(one, 3, "lastcall_ingress_sheds_total", reason="connections")
    for user, wire in busy:
        wire.send(ok())
        user.until(b"hello")


def test_a_request_that_crosses_its_eviction_is_served(proxy, engine):
    """The connection was idle when it was chosen, but what had come on it is read first."""
    one = proxy(ingress={"max_connections": 1})
    for _ in range(20):
        first = client(one)
        first.send(get())
        second = client(one)
        wire, _ = engine.request()
        wire.send(ok(b"hello", "Connection: close"))
        first.until(b"hello")
        first.close()
        second.close()
        wait_until(lambda: clients_of(one) == 0, "both have left")


def test_one_address_has_no_more_connections_than_it_may(proxy, engine, threads):
    one = proxy(ingress={"max_connections_per_address": 3})
    held = [client(one) for _ in range(3)]
    wait_until(lambda: clients_of(one) == 3, "as many as it may have")
    late = client(one)
    answer = late.until(b"}}\n")
    assert answer.startswith(b"HTTP/1.1 503 ") and b'"type":"too_many_connections"' in answer
    assert b"\r\nX-Lastcall-Reason: address\r\n" in answer
    wait_for_count(one, 1, "lastcall_ingress_sheds_total", reason="address")
    there = ("127.0.0.1", one.ingress_port)
    other = socket.create_connection(there, source_address=("127.0.0.2", 0))
    other.sendall(get())
    wire, _ = engine.request()
    wire.send(ok(b"hello", "Connection: close"))
    assert other.recv(65536).endswith(b"hello")
    other.close()
    held.pop().close()
    wait_until(lambda: clients_of(one) == 2, "one has left")
    served(one, engine)


# --- memory


@pytest.fixture
def deaf(engine):
    """The engine takes every request and answers each with more than a slow reader takes."""
    event = chunk(b"data: " + b"x" * 60_000 + b"\n\n")
    stop = threading.Event()

    def answer(wire):
        with contextlib.suppress(OSError, AssertionError):
            wire.until(b"}")
            wire.send(SSE_HEAD)
            while not stop.is_set():
                wire.send(event)

    def accept():
        with contextlib.suppress(Exception):
            while True:
                wire = engine.connection()
                threading.Thread(target=answer, args=(wire,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield engine
    stop.set()


def slow_reader(one):
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    reader.connect(("127.0.0.1", one.ingress_port))
    reader.settimeout(PATIENCE)
    reader.sendall(post() + b"GET /junk HTTP/1.1\r\nHost: h\r\nX: " + b"y" * 30_000)
    return reader


def supervisor(one):
    return one.supervisor_pid() or one.status()["supervisor"]["pid"]


@pytest.mark.plain_build
def test_slow_readers_and_junk_hold_no_more_than_the_budget(proxy, deaf, threads):
    budget = 2 * MB
    one = proxy(ingress={"max_buffer_memory": budget})
    pid = supervisor(one)
    before = anonymous(pid)
    crowd = [slow_reader(one) for _ in range(150)]  # 90 kB each, at least
    wait_until(
        lambda: metric(one, "lastcall_ingress_evictions_total", reason="memory")
        + metric(one, "lastcall_ingress_sheds_total", reason="memory") > 30,
        "some are shed",
    )  # fmt: skip
    wait_until(lambda: 0 < metric(one, "lastcall_ingress_buffer_bytes") <= budget, "within it")
    assert anonymous(pid) - before < 4 * budget / 1024 + 2048
    for reader in crowd:
        reader.close()
    wait_until(lambda: clients_of(one) == 0, "they have left")
    user = client(one)
    user.send(post())
    user.until(b"data: ")


def test_a_request_that_is_shed_in_the_middle_of_its_body_can_read_why(proxy, engine, threads):
    one = proxy(ingress={"max_buffer_memory": 1 * MB})
    request = post(body=b'{"model":"m","prompt":"' + b"x" * 200_000 + b'"}')
    users = [client(one) for _ in range(30)]
    for part in (request[:1_000], request[1_000:60_000]):
        for user in users:
            user.send(part)
    answered = []

    def shed():
        answered[:] = select.select([user.socket for user in users], [], [], 0)[0]
        return answered

    wait_until(shed, "the budget is exceeded")
    for user in (each for each in users if each.socket in answered):
        for at in range(60_000, 190_000, 10_000):  # a reset connection would refuse this
            user.send(request[at : at + 10_000])
        answer = user.rest()
        assert answer.startswith(b"HTTP/1.1 503 ") and answer.endswith(b"}}\n"), answer
        assert b"\r\nX-Lastcall-Reason: memory\r\n" in answer


def test_while_memory_is_tight_new_requests_are_refused_as_overloaded(proxy, engine, threads):
    """Large prompts that wait for their place fill the budget, and are not its victims."""
    one = proxy(
        ingress={"max_buffer_memory": 1 * MB},
        admission={"engine_request_limit": 1, "queue_limit": 100},
    )
    body = b'{"model":"m","stream":true,"prompt":"' + b"x" * 50_000 + b'"}'
    users = [client(one)]
    users[0].send(post(body=body))
    wire, _ = engine.request()
    wire.exactly(len(body))

    def refused():
        user = client(one)
        user.send(post(body=body))
        user.socket.settimeout(0.3)
        try:
            answer = user.until(b"}}\n")
        except TimeoutError:
            users.append(user)
            return False
        assert answer.startswith(b"HTTP/1.1 503 ") and b'"type":"overloaded"' in answer
        assert b"\r\nX-Lastcall-Reason: memory\r\n" in answer
        return True

    wait_until(refused, "the budget is tight")
    wait_until(
        lambda: metric(one, "lastcall_ingress_sheds_total", reason="memory") >= 1,
        "what was shed is counted",
    )
    looks = client(one)
    looks.send(get())  # what only looks is still answered
    other, _ = engine.request()
    other.send(ok(b"hello", "Connection: close"))
    looks.until(b"hello")
    wire.send(ok(b"first", "Connection: close"))
    users[0].until(b"first")
    for user in users[1:]:  # all that were taken are served
        wire, _ = engine.request()
        wire.exactly(len(body))
        wire.send(ok(b"hello", "Connection: close"))
        user.socket.settimeout(PATIENCE)
        user.until(b"hello")


def wave_of_slow_readers(one):
    """The supervisor, its kB of memory after a first client, and the readers."""
    pid = supervisor(one)
    with client(one).socket:
        pass
    before = anonymous(pid)
    return pid, before, [slow_reader(one) for _ in range(300)]


@pytest.mark.plain_build
def test_the_memory_of_a_wave_is_given_back(proxy, deaf, threads):
    one = proxy()
    pid, before, crowd = wave_of_slow_readers(one)
    wait_until(lambda: anonymous(pid) - before > 20 * 1024, "the wave is there")
    peak = anonymous(pid)
    for reader in crowd:
        reader.close()
    wait_until(lambda: clients_of(one) == 0, "it has gone")
    wait_until(lambda: anonymous(pid) - before < (peak - before) / 4,
               f"{before} kB before, {peak} kB in the wave")  # fmt: skip


@pytest.mark.plain_build
def test_the_rest_of_a_wave_is_given_back_as_well(proxy, deaf, threads):
    """Most of it has left when the heap is walked; what stayed is less than a wave of its own."""
    one = proxy()
    pid, before, crowd = wave_of_slow_readers(one)
    held = "lastcall_ingress_buffer_bytes"
    wait_until(lambda: metric(one, held) > 20 * MB, "the wave is there")
    peak = anonymous(pid)
    kept = [crowd.pop() for _ in range(25)]
    for reader in crowd:
        reader.close()
    wait_until(lambda: clients_of(one) == len(kept), "most of it has gone")
    wait_until(lambda: metric(one, held) < 4 * MB, "it is counted")
    wait_until(lambda: anonymous(pid) < peak / 2, "most of it was given back")
    rest = anonymous(pid)
    for reader in kept:
        reader.close()
    wait_until(lambda: clients_of(one) == 0, "all have gone")
    wait_until(lambda: anonymous(pid) - before < (rest - before) * 2 / 3,
               f"{before} kB before, {peak} kB in the wave, {rest} kB of the rest")  # fmt: skip
