"""What goes through the proxy, byte by byte."""

import contextlib
import json
import socket

import pytest
from mounts import in_own_mounts
from raw_engine import SSE_HEAD, RawEngine, chunk, client, get, metric, ok, post, stream
from serve_peer import wait_until


def test_a_request_and_its_answer_go_through(proxy, engine):
    one = proxy()
    user = client(one)
    user.send(post("/v1/completions?x=%20", b'{"model":"m"}', "X-A: 1", "x-a: 2"))
    wire, head = engine.request()
    assert head.startswith(b"POST /v1/completions?x=%20 HTTP/1.1\r\nHost: h\r\n")
    assert b"\r\nX-A: 1\r\nx-a: 2\r\n" in head
    assert b"\r\nX-Forwarded-For: 127.0.0.1\r\n" in head
    assert wire.exactly(13) == b'{"model":"m"}'
    wire.send(ok(b"answer", "Server: e"))
    answer = user.until(b"answer")
    assert answer.startswith(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nServer: e\r\n")
    assert b"\r\nX-Request-Id: " in answer


def test_connections_on_both_sides_are_kept(proxy, engine):
    one = proxy()
    user = client(one)
    user.send(post())
    wire, _ = engine.request()
    for _ in range(3):
        wire.send(ok())
        user.until(b"hello")
        user.send(post())
        wire.until(b"\r\n\r\n")
    assert engine.connections() == 1


def test_pipelined_requests_are_answered_in_their_order(proxy, engine):
    one = proxy()
    user = client(one)
    user.send(post(body=b'{"n":1}') + get("/v1/models") + post(body=b'{"n":2}'))
    wire, _ = engine.request()
    assert wire.exactly(7) == b'{"n":1}'
    for answer in (b"first", b"second", b"third"):
        wire.send(ok(answer))
        user.until(answer)
        if answer != b"third":
            wire.until(b"\r\n\r\n")


def test_a_client_id_is_kept_and_returned_and_gets_a_suffix_while_it_is_live(proxy, engine):
    one = proxy()
    users = [client(one), client(one)]
    wires = []
    for user, expected in zip(users, (b"mine", b"mine-2"), strict=True):
        user.send(post("/v1/completions", b"{}", "X-Request-Id: mine"))
        wire, head = engine.request()
        assert b"\r\nX-Request-Id: " + expected + b"\r\n" in head
        wires.append(wire)
    for user, wire, expected in zip(users, wires, (b"mine", b"mine-2"), strict=True):
        wire.send(ok(b"x", "X-Request-Id: engine-made"))
        answer = user.until(b"\r\n\r\n")
        assert answer.lower().count(b"x-request-id") == 1
        assert b"\r\nX-Request-Id: " + expected + b"\r\n" in answer


def test_chunked_bodies_go_through_in_both_directions(proxy, engine):
    one = proxy()
    user = client(one)
    user.send(
        b"POST /v1/completions HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        b'9;ext=1\r\n{"model":\r\n4\r\n"m"}\r\n0\r\nX-Trailer: 1\r\n\r\n'
    )
    wire, head = engine.request()
    assert b"\r\nTransfer-Encoding: chunked\r\n" in head
    assert b"content-length" not in head.lower()
    body = wire.until(b"0\r\n\r\n")
    assert b"ext" not in body and b'{"model":' in body and b'"m"}' in body
    wire.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n")
    assert user.until(b"abc\r\n").endswith(b"\r\n\r\n3\r\nabc\r\n")
    wire.send(b"0\r\nX: y\r\n\r\n")
    assert user.until(b"0\r\n\r\n") == b"0\r\n\r\n"


def test_events_pass_at_once_and_whole(proxy, engine):
    one = proxy()
    user = client(one)
    user.send(post())
    wire, _ = engine.request()
    wire.send(SSE_HEAD + chunk(b"data: 1\n\ndata: ha"))
    assert user.until(b"data: 1\n\n\r\n")  # the half event waits for its end
    wire.send(chunk(b"lf\n\n"))
    assert user.until(b"half\n\n\r\n") == chunk(b"data: half\n\n")
    wire.send(b"0\r\n\r\n")
    assert user.until(b"0\r\n\r\n") == b"0\r\n\r\n"
    for family in ("event_gap", "time_to_first_byte"):
        name = f"lastcall_ingress_{family}_seconds_count"
        assert metric(one, name, endpoint="chat_completions") == 1


def test_a_response_without_a_length_lasts_until_the_engine_closes(proxy, engine):
    one = proxy()
    user = client(one)
    user.send(post())
    wire, _ = engine.request()
    wire.send(b"HTTP/1.0 200 OK\r\n\r\nsome")
    user.until(b"4\r\nsome\r\n")
    wire.close()
    assert user.until(b"0\r\n\r\n") == b"0\r\n\r\n"
    user.send(get())  # the client's connection goes on
    engine.request()


def test_an_http_1_0_client_gets_a_plain_body_and_a_close(proxy, engine):
    one = proxy()
    user = client(one)
    user.send(b"POST /v1/completions HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}")
    wire, head = engine.request()
    assert head.startswith(b"POST /v1/completions HTTP/1.1\r\nHost: \r\n")
    wire.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
    answer = user.rest()
    assert answer.endswith(b"\r\n\r\nabc")
    assert b"\r\nConnection: close\r\n" in answer and b"chunked" not in answer


def test_an_http_1_0_client_may_keep_its_connection(proxy, engine):
    one = proxy()
    user = client(one)
    user.send(b"GET /v1/models HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n")
    wire, _ = engine.request()
    wire.send(ok(b"abc"))
    assert b"\r\nConnection: keep-alive\r\n" in user.until(b"abc")
    user.send(get())
    wire.until(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("request_bytes", "answer", "expected"),
    [
        (b"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
         b"Content-Length: 5\r\n"),
        (get(), b"HTTP/1.1 204 No Content\r\n\r\n", b"204 No Content\r\n"),
        (get(), b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", b"304 Not Modified\r\n"),
        (get(), ok(b""), b"Content-Length: 0\r\n"),
    ],
)  # fmt: skip
def test_answers_without_a_body_end_with_their_head(proxy, engine, request_bytes, answer, expected):
    one = proxy()
    user = client(one)
    user.send(request_bytes)
    wire, _ = engine.request()
    wire.send(answer)
    assert expected in user.until(b"\r\n\r\n")
    user.send(get())
    wire.until(b"\r\n\r\n")
    wire.send(ok())
    assert user.until(b"\r\n\r\n").startswith(b"HTTP/1.1 200 OK\r\n")


def test_interim_answers_pass_and_100_is_sent_by_the_proxy_alone(proxy, engine):
    one = proxy()
    user = client(one)
    user.send(
        b"POST /v1/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n"
        b"Expect: 100-continue\r\n\r\n"
    )
    assert user.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    user.send(b"{}")
    wire, head = engine.request()
    assert b"expect" not in head.lower()
    wire.send(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok())
    assert user.until(b"\r\n\r\n") == b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    assert user.until(b"hello").startswith(b"HTTP/1.1 200 OK\r\n")


def test_options_of_the_server_itself_stay_that(proxy, engine):
    user = client(proxy())
    user.send(b"OPTIONS http://h HTTP/1.1\r\nHost: h\r\n\r\n")
    assert engine.request()[1].startswith(b"OPTIONS * HTTP/1.1\r\n")  # RFC 9112, 3.2.4


def test_an_upgrade_goes_through_and_counts_as_a_request(proxy, engine):
    one = proxy()
    user = client(one)
    user.send(get("/v1/realtime", "Connection: Upgrade", "Upgrade: websocket"))
    wire, head = engine.request()
    assert b"\r\nConnection: upgrade\r\nUpgrade: websocket\r\n" in head
    wire.send(b"HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nHALLO")
    assert user.until(b"HALLO").startswith(b"HTTP/1.1 101 Switching\r\n")
    user.send(b"\x81\x05hello")
    assert wire.exactly(7) == b"\x81\x05hello"
    assert one.status()["in_flight"]["requests"] == 1
    user.close()
    assert wire.ended()
    wait_until(lambda: one.status()["in_flight"]["requests"] == 0, "the tunnel has ended")


def test_an_early_answer_of_the_engine_is_relayed(proxy, engine):
    one = proxy()
    user = client(one)
    user.send(
        b"POST /v1/audio/transcriptions HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n"
        + b"x" * 100_000
    )
    wire, _ = engine.request()
    wire.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig")
    wire.close()
    answer = user.until(b"big")
    assert answer.startswith(b"HTTP/1.1 413 Too Large\r\n")
    assert b"\r\nConnection: close\r\n" in answer
    user.socket.shutdown(1)
    assert user.ended()


def test_a_pooled_connection_that_was_closed_costs_no_request(proxy, engine):
    one = proxy()
    user = client(one)
    for _ in range(3):
        user.send(post())
        wire, _ = engine.request()
        wire.send(ok())
        user.until(b"hello")
        wire.close()


def test_a_large_body_arrives_whole_and_in_order(proxy, engine):
    one = proxy()
    user = client(one)
    body = bytes(range(256)) * 20_000
    user.send(post("/v1/embeddings", body))
    wire, _ = engine.request()
    assert wire.exactly(len(body)) == body
    wire.send(ok(body))
    user.until(b"\r\n\r\n")
    assert user.exactly(len(body)) == body


def test_the_engine_may_be_behind_a_unix_socket(proxy, engine, tmp_path):
    path = str(tmp_path / "engine.sock")
    engine.listener.close()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        listener.settimeout(20)
        one = proxy(ingress={"upstream": f"unix:{path}"})
        user = client(one)
        user.send(get())
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(4096).startswith(b"GET /v1/models HTTP/1.1\r\n")
            connection.sendall(ok())
            assert user.until(b"hello")


def test_an_engine_is_found_at_any_address_of_its_name(proxy, tmp_path):
    """As `localhost` is ::1 first where the engine listens with IPv4 alone."""
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 engine.test\n127.0.0.2 engine.test\n")  # in the order of look-ups
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        port = nobody.getsockname()[1]
        with contextlib.closing(RawEngine("127.0.0.2", port)) as engine:
            one = proxy(in_own_mounts(f"mount --bind {hosts} /etc/hosts"),
                        ingress={"upstream": f"engine.test:{port}"})  # fmt: skip
            user = client(one)
            for _ in range(2):
                user.send(post())
                wire, _ = engine.request()
                wire.send(ok(b"hello", "Connection: close"))
                user.until(b"hello")
                wire.close()
            engine.listener.shutdown(socket.SHUT_RDWR)  # nothing is at either of them
            user.send(post())
            assert user.until(b"\r\n\r\n").startswith(b"HTTP/1.1 503 ")


def test_an_endpoint_with_a_stream_in_flight_is_ready_while_the_whole_is(proxy, engine):
    one = proxy()
    user, wire = stream(one, engine)

    def health():
        return json.loads(one.get("/health")[1])

    wait_until(lambda: health()["endpoints"], "the stream's endpoint is shown")
    said = health()
    assert said["status"] == "ready" and set(said["endpoints"].values()) == {"ready"}, said
    wire.close()
