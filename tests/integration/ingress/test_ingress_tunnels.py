"""Upgraded connections: what goes through them, what they hold, what they count as."""

import contextlib
import socket
import time

import pytest
from kernel_sockets import socket_of
from raw_engine import SSE_HEAD, Wire, chunk, client, get, metric, ok, post, stream
from serve_peer import PATIENCE, wait_until
from serve_usage import anonymous
from test_ingress_admission import ask, at_engine, limits
from test_ingress_bodies import leave_a_pooled_connection, next_request

THREADS = (1, 2)
SWITCHED = b"HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
UPGRADE = get("/v1/realtime", "Connection: Upgrade", "Upgrade: websocket")


def tunnel(one, engine):
    user = client(one)
    user.send(UPGRADE)
    wire, _ = engine.request()
    wire.send(SWITCHED)
    user.until(b"\r\n\r\n")
    return user, wire


def test_a_tunnel_on_a_pooled_connection_holds_nothing_of_what_went_through(proxy, engine):
    one = proxy()
    pooled = leave_a_pooled_connection(one, engine)
    user = client(one)
    user.send(UPGRADE)
    wire = next_request(engine, pooled)
    wire.send(SWITCHED)
    user.until(b"\r\n\r\n")
    part = b"x" * 1_000_000

    def passes(count):
        for _ in range(count):
            user.send(part)
            assert wire.exactly(len(part)) == part

    passes(4)
    before = anonymous(one.supervisor_pid())
    passes(40)
    assert anonymous(one.supervisor_pid()) < before + 20_000


def test_bytes_sent_before_the_switch_are_not_kept_until_the_client_sends_more(proxy, engine):
    one = proxy()
    user = client(one)
    user.send(UPGRADE + b"EARLY")
    wire, _ = engine.request()
    wire.send(SWITCHED)
    assert wire.exactly(5) == b"EARLY"
    user.send(b"LATE")
    assert wire.exactly(4) == b"LATE"


PART = b"x" * 16384


def unread(one, user):
    """Bytes of this client that lie in the ingress's socket."""
    return int(socket_of(one, user)[4].partition(":")[2], 16)


def is_read(one, user):
    deadline = time.monotonic() + 0.5
    while unread(one, user) > 0:
        if time.monotonic() > deadline:
            return False
        wait_until(lambda: True, pause=0.002)
    return True


def fill(one, user):
    """Parts that an engine which reads nothing, and the ingress before it, hold."""
    for parts in range(1000):
        user.send(PART)
        if not is_read(one, user):
            return parts
    raise AssertionError("nothing holds it")


@pytest.fixture
def unix_tunnel(proxy, tmp_path):
    """(world, makes tunnels) to an engine whose socket holds the same each time."""
    path = tmp_path / "engine"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        one = proxy(ingress={"upstream": f"unix:{path}"})

        def make():
            user = client(one)
            user.send(UPGRADE)
            wire = Wire(listener.accept()[0])
            wire.until(b"\r\n\r\n")
            wire.send(SWITCHED)
            user.until(b"\r\n\r\n")
            return user, wire

        yield one, make


def test_the_last_words_of_a_tunnels_client_reach_a_slow_engine(unix_tunnel):
    one, make = unix_tunnel
    user, wire = make()
    parts = fill(one, user)
    user.close()
    wire.close()
    for each in range(parts - 4, parts + 1):  # one of them fills the engine's socket, not ours
        user, wire = make()
        for _ in range(each):
            user.send(PART)
            is_read(one, user)
        user.socket.shutdown(socket.SHUT_WR)
        assert len(wire.rest()) == each * len(PART)
    wait_until(lambda: metric(one, "lastcall_requests_total", endpoint="realtime",
                              outcome="completed") == 6, "they have completed")  # fmt: skip


def test_an_engine_that_takes_no_last_words_and_ends_ends_the_tunnel(unix_tunnel):
    one, make = unix_tunnel
    user, wire = make()
    fill(one, user)
    user.socket.shutdown(socket.SHUT_WR)
    wire.close()
    wait_until(lambda: one.status()["in_flight"]["requests"] == 0, "the tunnel has ended")


def test_the_switch_is_the_first_byte_of_a_tunnel(proxy, engine):
    one = proxy(admission=limits(4, 4, engine_wait_limit=1))
    user, wire = stream(one, engine)
    tunnelled = client(one)
    tunnelled.send(UPGRADE)
    inner, _ = engine.request()
    wire.send(chunk(b"data: 2\n\n"))  # that something has moved is reported only so often
    user.until(b"data: 2\n\n")
    inner.send(SWITCHED)
    tunnelled.until(b"\r\n\r\n")
    third = ask(one)
    at_engine(engine).send(ok(b"third"))
    third.until(b"third")
    wait_until(lambda: metric(one, "lastcall_ingress_time_to_first_byte_seconds_count",
                              endpoint="realtime") == 1, "its time is measured")  # fmt: skip


def test_an_offer_of_http2_is_not_taken_and_the_request_is_as_any_other(proxy, engine):
    """Java's HttpClient makes it with the first request of each plain connection."""
    one = proxy(admission=limits(1, 0))
    user = client(one)
    user.send(post())
    running, _ = engine.request()
    running.send(SSE_HEAD)
    user.until(b"\r\n\r\n")
    looking = client(one)
    looking.send(get("/v1/models", "Connection: Upgrade, HTTP2-Settings",
                     "HTTP2-Settings: AAEAAEAAAAIAAAAB", "Upgrade: h2c"))  # fmt: skip
    wire, head = engine.request()
    assert b"upgrade" not in head.lower() and b"http2" not in head.lower()
    wire.send(ok())
    assert looking.until(b"hello").startswith(b"HTTP/1.1 200 OK\r\n")


def test_the_last_bytes_are_not_lost_when_what_the_engine_sent_is_unread(proxy, engine):
    """A connection that is closed while something in it is unread is reset, tcp(7)."""
    one = proxy()
    user, wire = tunnel(one, engine)
    user.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    wire.socket.settimeout(0.3)
    with contextlib.suppress(TimeoutError):
        while True:
            wire.socket.send(b"y" * 65536)
    wire.socket.settimeout(PATIENCE)
    size = 300_000
    user.send(b"x" * size)
    user.socket.shutdown(socket.SHUT_WR)
    assert len(wire.rest()) == size
