"""Responses that end with the engine's connection, which ends as well when the engine dies."""

import os
import signal
import sys
import time

import pytest
from in_time import unless_late
from ports import free_port
from raw_engine import asked, client, metric, ok, post
from serve_peer import PATIENCE, wait_until

THREADS = (1, 2)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
DONE = b"data: [DONE]\n\n"
ENGINE = """
import socket, sys, threading
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
def serve(connection):
    head = b""
    while b"}" not in head:
        head += connection.recv(65536)
    connection.sendall(bytes.fromhex(sys.argv[2]))
    threading.Event().wait()
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


def before(one, upstream, threads=1):
    """The world, with an ingress before that engine."""
    one.ingress_port = free_port()
    one.config["ingress"] = {"listen": f"127.0.0.1:{one.ingress_port}", "upstream": upstream,
                             "threads": threads}  # fmt: skip
    return one


@pytest.fixture
def killed(world, threads):
    """A supervised engine that sends this and is killed: what its client reads, to the end."""

    def make(said, version=b"1.1"):
        port = free_port()
        one = before(world(), f"127.0.0.1:{port}", threads)
        one.config["health"]["checks"] = [{"name": "port", "tcp": {"address": f"127.0.0.1:{port}"}}]
        one.process = one.run(sys.executable, "-c", ENGINE, str(port), said.hex())
        one.wait_for_log('"phase begun","phase":"serving"')
        user = client(one)
        user.send(post().replace(b"HTTP/1.1", b"HTTP/" + version))
        begin = user.until(b"data: 1\n\n")
        os.kill(one.status()["engine"]["pid"], signal.SIGKILL)
        rest = user.rest()
        assert one.process.wait(timeout=PATIENCE) == 1
        return begin + rest

    return make


@pytest.mark.parametrize("more", [b"", b"data: 2\n\n", b"data: par"])
def test_a_stream_whose_engine_is_killed_does_not_look_finished(killed, more):
    got = killed(HEAD + b"data: 1\n\n" + more)
    assert b'"type":"engine_dead"' in got
    assert not got.endswith(b"0\r\n\r\n") and b"par" not in got


def test_a_client_of_http_1_0_is_notified_too(killed):
    assert b'"type":"engine_dead"' in killed(HEAD + b"data: 1\n\ndata: par", b"1.0")


def ended(proxy, engine, said):
    one = proxy()
    user, wire = asked(one, engine)
    wire.send(said)
    wire.close()
    return one, user


def test_a_stream_that_has_sent_done_is_done_at_once(proxy, engine):
    one, user = ended(proxy, engine, HEAD + b"data: 1\n\n" + DONE)
    assert user.until(b"0\r\n\r\n").endswith(DONE + b"\r\n0\r\n\r\n")
    user.close()
    wait_until(lambda: metric(one, "lastcall_requests_total", outcome="completed") == 1, "done")
    assert metric(one, "dynamo_frontend_model_cancellation_total") == 0


@pytest.mark.parametrize("last", [b"data: 2\n\n", b"data: 2\n"], ids=["whole", "no empty line"])
def test_a_stream_that_a_living_engine_ends_is_complete(proxy, engine, last):
    one, user = ended(proxy, engine, HEAD + b"data: 1\n\n" + last)
    assert user.until(b"0\r\n\r\n").count(b"data: 2\n") == 1
    user.close()
    wait_until(lambda: metric(one, "lastcall_requests_total", outcome="completed") == 1, "done")


def test_a_stream_that_ends_in_the_middle_of_a_line_is_not_whole(proxy, engine):
    one, user = ended(proxy, engine, HEAD + b"data: 1\n\ndata: par")
    got = user.rest()
    assert b'"type":"engine_error"' in got and b"par" not in got
    wait_until(lambda: metric(one, "lastcall_requests_total", outcome="error") == 1, "an error")


def test_anything_else_is_done_at_once(proxy, engine):
    _, user = ended(proxy, engine, b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello")
    assert user.until(b"0\r\n\r\n").endswith(b"hello\r\n0\r\n\r\n")
    user.send(post())
    wire, _ = engine.request()
    wire.send(ok())
    user.until(b"hello")


def test_a_shim_that_ends_before_its_engine_has_not_reported_its_end_yet(world, engine):
    """As where its container is killed: the connections of PID 1 are the first to go."""

    def attempt():
        one = before(world(), engine.address)
        one.config["health"]["checks"] = []
        one.serve()
        running = {"role": "shim", "boot": "b", "engine": {"state": "running", "pid": 4242}}
        shim = wait_until(lambda: os.path.exists(one.socket) and one.peer(**running), "a place")
        one.wait_for_phase("serving")
        user = client(one)
        user.send(post())
        wire, _ = engine.request()
        wire.send(HEAD + b"data: 1\n\n")
        user.until(b"data: 1\n\n")
        shim.close()
        wait_until(lambda: one.status()["engine"].get("shim") != "connected", "it has gone")
        began = time.monotonic()
        wire.close()
        again = one.peer(**running)
        again.send("engine.exited", signal=9, oom=False, at_ms=int(time.monotonic() * 1000))
        took = time.monotonic() - began
        return took, user.rest()

    _, said = unless_late(attempt, lambda result: result[0] > 1)
    assert b'"type":"engine_dead"' in said and not said.endswith(b"0\r\n\r\n")
