"""An engine behind a Unix socket whose queue is full, which refuses where TCP would wait."""

import contextlib
import socket

import pytest
from raw_engine import Wire, client, get, metric, ok, post
from serve_peer import wait_until

THREADS = (1, 2)


@pytest.fixture
def full(proxy, tmp_path):
    """Makes (world, listener) of an engine for which one connection waits, and no other can."""
    path = str(tmp_path / "engine.sock")
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(path)
        listener.listen(0)
        listener.settimeout(20)
        waiting = stack.enter_context(socket.socket(socket.AF_UNIX))
        waiting.connect(path)

        def make(**timeouts):
            return proxy(ingress={"upstream": f"unix:{path}", "timeouts": timeouts}), listener

        yield make


def test_a_request_waits_for_room_in_the_queue_of_a_unix_socket(full):
    one, listener = full()
    users = [client(one), client(one)]
    for user in users:
        user.send(post())
    wait_until(lambda: metric(one, "lastcall_ingress_connections", side="upstream") == 2,
               "both are to be connected")  # fmt: skip
    listener.accept()[0].close()
    for _ in users:
        wire = Wire(listener.accept()[0])
        assert wire.until(b"}").startswith(b"POST /v1/chat/completions ")
        wire.send(ok(b"hello", "Connection: close"))
        wire.close()
    for user in users:
        user.until(b"hello")


def test_a_client_that_finds_no_room_in_time_is_refused_as_engine_unavailable(full):
    one, _ = full(connect="300ms")
    user = client(one)
    user.send(get())
    assert b'"type":"engine_unavailable"' in user.until(b"}}\n")


def test_a_client_that_leaves_while_there_is_no_room_never_reaches_the_engine(full):
    one, listener = full()
    user = client(one)
    user.send(post())
    wait_until(lambda: one.status()["in_flight"]["requests"] == 1, "it is in flight")
    user.close()
    wait_until(lambda: one.status()["in_flight"]["requests"] == 0, "it has ended")
    listener.accept()[0].close()
    listener.settimeout(0.3)
    with pytest.raises(TimeoutError):
        listener.accept()
