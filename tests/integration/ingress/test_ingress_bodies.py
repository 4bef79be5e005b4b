"""Large and slow request bodies, whatever the request waits for: a place, the engine, an answer."""

import contextlib
import select
import socket
import time

import pytest
from raw_engine import Wire, asked, chunk, client, get, metric, ok, post
from serve_peer import holds_for, wait_until
from test_ingress_admission import at_engine, finish, limits, waiting

THREADS = (1, 2)
LARGE = b'{"model":"m","x":"' + b"x" * 300_000 + b'"}'  # more than is held while a request waits
# As much as is held back: the engine gets it before the rest has come.
BEGIN = b'{"model":"m","stream":true,"x":"' + b"x" * 65_536


def start_of(size):
    return post(body=b"").replace(b"Content-Length: 0", b"Content-Length: %d" % size)


def leave_a_pooled_connection(one, engine):
    user, wire = asked(one, engine)
    wire.send(ok())
    user.until(b"hello")
    user.close()
    return wire


def next_request(engine, pooled):
    """On the connection that is kept, or on one of a thread that keeps none."""
    wait_until(lambda: engine.has_arrived() or select.select([pooled.socket], [], [], 0)[0],
               "the next request")  # fmt: skip
    wire = engine.connection() if engine.has_arrived() else pooled
    wire.until(b"\r\n\r\n")
    return wire


def test_a_large_body_that_waited_for_its_place_arrives_whole(proxy, engine):
    one = proxy(admission=limits(1, 1), ingress={"timeouts": {"client": "20s"}})
    first = client(one)
    first.send(post())
    wire = at_engine(engine)
    second = client(one)
    second.send(post(body=LARGE))
    wait_until(lambda: waiting(one) == 1, "it waits")
    wire.send(ok())  # its connection is kept, and takes the next request
    first.until(b"hello")
    wire = next_request(engine, wire)
    assert wire.exactly(len(LARGE)) == LARGE
    wire.send(ok(b"large"))
    second.until(b"large")


def test_a_large_body_arrives_whole_on_a_pooled_connection(proxy, engine):
    one = proxy(ingress={"timeouts": {"client": "20s"}})
    wire = leave_a_pooled_connection(one, engine)
    user = client(one)
    user.send(post(body=LARGE))
    wire = next_request(engine, wire)
    assert wire.exactly(len(LARGE)) == LARGE
    wire.send(ok(b"large"))
    user.until(b"large")


@pytest.mark.parametrize("shape", ["one", "two", "chunks"])
def test_an_answer_may_take_longer_than_a_client_may_for_a_part_of_its_body(proxy, engine, shape):
    one = proxy(ingress={"timeouts": {"client": "2500ms", "first_byte": "20s"}})
    user = client(one)
    if shape == "one":
        body = LARGE
        user.send(post(body=body))
    elif shape == "two":
        body = BEGIN + b"x" * 1000 + b'"}'
        user.send(start_of(len(body)) + body[:-500])
    else:
        body = BEGIN + b'"}'
        user.send(post(body=b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked"))
        user.send(chunk(body))
    wire, _ = engine.request()
    if shape == "two":
        user.send(body[-500:])
    elif shape == "chunks":
        wire.until(b'"}')
        user.send(b"0\r\n\r\n")
    if shape == "chunks":
        wire.until(b"0\r\n\r\n")
    else:
        assert wire.exactly(len(body)) == body
    holds_for(lambda: one.process.poll() is None, 3)
    wire.send(ok(b"late"))
    assert user.until(b"late").startswith(b"HTTP/1.1 200 ")
    assert metric(one, "dynamo_frontend_model_cancellation_total") == 0


def test_the_time_of_a_client_is_that_of_the_next_part(proxy, engine):
    one = proxy(ingress={"timeouts": {"client": "3s"}})
    user = client(one)
    parts, part = 7, b"x" * 1000
    user.send(start_of(len(BEGIN) + parts * len(part)) + BEGIN)
    began = time.monotonic()
    wire = None
    for _ in range(parts):
        user.send(part)
        wire = wire or engine.request()[0]
        wire.until(part)
        holds_for(lambda: one.process.poll() is None, 0.45)
    assert time.monotonic() - began > 3
    wire.send(ok())
    user.until(b"hello")


@pytest.mark.parametrize("sent", [BEGIN[:1000], BEGIN], ids=["begin", "more"])
def test_a_client_that_stops_in_the_middle_of_its_body_gets_408(proxy, engine, sent):
    one = proxy(ingress={"timeouts": {"client": "300ms"}})
    user = client(one)
    user.send(start_of(100_000) + sent)
    if sent == BEGIN:
        wire, _ = engine.request()
        assert wire.rest() == sent
    answer = user.rest()
    assert answer.startswith(b"HTTP/1.1 408 ") and b"the body did not arrive in time" in answer
    assert b"\r\nX-Request-Id: " in answer
    assert not engine.has_arrived()


def test_a_body_takes_no_place_before_it_is_there(proxy, engine):
    one = proxy(admission=limits(1, 1))
    slow = client(one)
    body = b'{"model":"m","stream":true,"x":"y"}'
    slow.send(start_of(len(body)).replace(b"Host: h", b"Host: h\r\nExpect: 100-continue"))
    assert b" 100 " in slow.until(b"\r\n\r\n")
    slow.send(body[:-1])
    quick = client(one)
    quick.send(post(body=b'{"model":"quick"}'))
    wire = at_engine(engine)
    wire.send(ok(b"quick", "Connection: close"))
    quick.until(b"quick")
    wire.close()
    slow.send(body[-1:])
    at_engine(engine).send(ok(b"slow"))
    slow.until(b"slow")


def test_a_large_body_that_trickles_loses_its_place(proxy, engine):
    one = proxy(admission=limits(1, 1), ingress={"timeouts": {"client": "1s"}})
    slow = client(one)
    slow.send(start_of(1_000_000) + BEGIN)
    wire, _ = engine.request()

    def is_answered():
        slow.send(b"x")
        return select.select([slow.socket], [], [], 0.3)[0]

    wait_until(is_answered, "it is too slow")
    assert slow.until(b"\r\n").startswith(b"HTTP/1.1 408 ")
    assert wire.rest().startswith(BEGIN)
    quick = client(one)
    quick.send(post())
    at_engine(engine)  # at once, or when the thread that served the slow one has given its place


def send_until_answered(user):
    """More than the way to an engine that takes nothing can hold, until an answer is there."""
    user.socket.setblocking(False)
    while not select.select([user.socket], [], [], 0.001)[0]:
        with contextlib.suppress(BlockingIOError):
            user.socket.send(b"x" * 100_000)
    user.socket.setblocking(True)


def test_an_engine_that_takes_no_body_is_not_the_clients_fault(proxy, engine):
    """It reads nothing: neither it nor the client waits for the other for ever."""
    one = proxy(ingress={"timeouts": {"client": "300ms", "first_byte": "1500ms"}})
    user = client(one)
    user.send(start_of(1_000_000_000) + BEGIN)
    send_until_answered(user)
    assert user.rest().startswith(b"HTTP/1.1 504 ")
    assert metric(one, "dynamo_frontend_model_cancellation_total") == 0


def test_a_tunnel_lives_as_long_as_either_side_speaks(proxy, engine):
    one = proxy(ingress={"timeouts": {"client": "300ms", "idle": "2500ms"}})
    user = client(one)
    user.send(get("/v1/realtime", "Connection: Upgrade", "Upgrade: websocket"))
    wire, _ = engine.request()
    wire.send(b"HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    user.until(b"\r\n\r\n")
    began = time.monotonic()
    for _ in range(6):
        user.send(b"ping")
        wire.until(b"ping")
        holds_for(lambda: one.process.poll() is None, 0.45)
    assert time.monotonic() - began > 2.5
    assert user.ended() and wire.ended()  # neither side sends


@pytest.mark.parametrize("size", [100_000, 600_000, 3_000_000])
def test_a_client_that_leaves_the_queue_with_a_large_body_frees_its_place(proxy, engine, size):
    one = proxy(admission=limits(1, 1))
    first = client(one)
    first.send(post())
    running = at_engine(engine)
    second = client(one)
    second.send(post(body=b'{"model":"m","x":"' + b"x" * size + b'"}'))
    wait_until(lambda: waiting(one) == 1, "it waits")
    second.close()
    wait_until(lambda: waiting(one) == 0, "its place is free")
    third = client(one)
    third.send(post(body=b'{"model":"third"}'))
    wait_until(lambda: waiting(one) == 1, "another waits")
    wire = finish(running, engine, ok())
    wire.send(ok(b"third"))
    third.until(b"third")
    assert engine.connections() == 2  # the engine never saw the second


def test_an_upload_that_the_end_of_a_drain_cuts_reads_why(proxy, engine):
    """It is the last request in flight: its end ends the drain, and idle connections are closed."""
    one = proxy(shutdown={"grace_period": "3s", "cleanup_reserve": "1s", "cancel_settle": "500ms",
                          "late_accept": "0s"})  # fmt: skip
    user = client(one)
    user.send(start_of(100_000_000) + BEGIN)
    engine.request()
    one.process.terminate()
    send_until_answered(user)
    answer = user.rest()
    assert answer.startswith(b"HTTP/1.1 503 ") and not answer.endswith(b"<reset>")


def asks_on(wire):
    """True once the next request has come on this connection, after the body of the first."""
    with contextlib.suppress(BlockingIOError):
        wire.buffer += wire.socket.recv(1 << 20, socket.MSG_DONTWAIT)
    return b"GET " in wire.buffer


@pytest.mark.parametrize("size", range(120_000, 420_000, 20_000))
def test_a_connection_that_lacks_a_part_of_a_body_carries_no_other_request(proxy, tmp_path, size):
    """The engine answers before it has read the body, and would read it as it comes."""
    path = tmp_path / "engine"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        one = proxy(ingress={"upstream": f"unix:{path}"})
        body = b'{"model":"m","x":"' + b"x" * size + b'"}'
        user, other = client(one), client(one)
        user.send(post(body=body))
        wire = Wire(listener.accept()[0])
        wire.until(b"\r\n\r\n")
        wire.send(ok(b"early"))
        user.until(b"early")
        other.send(get("/v1/models"))
        wait_until(lambda: select.select([listener], [], [], 0)[0] or asks_on(wire), "it is asked")
        if b"GET " in wire.buffer:
            assert wire.buffer.index(b"GET ") == len(body)
        wire.close()
