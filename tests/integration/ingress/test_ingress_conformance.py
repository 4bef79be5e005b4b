"""The same requests through nginx and the ingress: they answer alike, or the page names the
difference."""

import http.client
import socket

import pytest
from nginx import NGINX, Nginx
from raw_engine import Wire, get, post
from serve_peer import PATIENCE

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx-light is not installed")

HOST = b"Host: h\r\n"
# Each answer of the engine closes its connection: every case begins alike.
CLOSED = b"Connection: close\r\n"
LENGTH = b"HTTP/1.1 200 OK\r\n" + CLOSED + b"Content-Length: 5\r\n\r\nhello"
CHUNKS = (b"HTTP/1.1 200 OK\r\n" + CLOSED
          + b"Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n")  # fmt: skip
NOTHING = b"HTTP/1.1 204 No Content\r\n" + CLOSED + b"\r\n"
OPEN_END = b"HTTP/1.1 200 OK\r\n\r\nhello"
MISSING = b"HTTP/1.1 404 Not Found\r\n" + CLOSED + b"Content-Length: 2\r\n\r\nno"

RELAYED = {
    "get": (get("/v1/models?a=%2F&b"), LENGTH),
    "chunked answer": (get(), CHUNKS),
    "no content": (get(), NOTHING),
    "open end": (get(), OPEN_END),
    "status of the engine": (get(), MISSING),
    "post": (post("/v1/completions", b'{"model":"m"}'), LENGTH),
    "chunked post": (b"POST /x HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
                     b"2\r\n{}\r\n0\r\n\r\n", LENGTH),
    "empty post": (b"POST /x HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\n\r\n", LENGTH),
    "head": (b"HEAD /x HTTP/1.1\r\n" + HOST + b"\r\n",
             b"HTTP/1.1 200 OK\r\n" + CLOSED + b"Content-Length: 5\r\n\r\n"),
    "absolute target": (b"GET http://h/x?y HTTP/1.1\r\n" + HOST + b"\r\n", LENGTH),
    "put": (b"PUT /x HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\n\r\nabc", LENGTH),
    "repeated header": (get("/x", "X-A: 1", "X-A: 2"), LENGTH),
    "connection header": (get("/x", "Connection: keep-alive"), LENGTH),
}  # fmt: skip

REFUSED = {
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
    "space before colon": b"GET / HTTP/1.1\r\n" + HOST + b"A : b\r\n\r\n",
    "nul": b"GET / HTTP/1.1\r\n" + HOST + b"A: b\0c\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\n" + HOST
    + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\na",
    "both lengths": b"POST / HTTP/1.1\r\n" + HOST
    + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "bad length": b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 1a\r\n\r\na",
    "no version": b"GET / HTTP\r\n" + HOST + b"\r\n",
    "other coding": b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip\r\n\r\n",
    "too large": b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 200000\r\n\r\n",
    "binary": b"\x16\x03\x01\x00\x01\r\n\r\n",
}  # fmt: skip


@pytest.fixture
def both(proxy, engine, tmp_path):
    """{name: port} of nginx and of the ingress, before the same engine."""
    nginx = Nginx(tmp_path, engine.address, max_body=100 * 1024)
    one = proxy(ingress={"max_body_size": 100 * 1024})
    yield {"nginx": nginx.port, "ingress": one.ingress_port}
    nginx.close()


def answer(port, sent, engine, said):
    """How a real HTTP client reads the answer, and what the engine got."""
    wire = Wire(socket.create_connection(("127.0.0.1", port)))
    wire.send(sent)
    got = None
    if said is not None:
        inner, head = engine.request()
        line, *fields = head.decode().split("\r\n")[:-2]
        got = (line, sorted(f.lower() for f in fields if f.lower().startswith(("x-a:", "host:"))))
        inner.send(said)
        inner.close()
    response = http.client.HTTPResponse(wire.socket, method=sent.split(b" ")[0].decode())
    response.begin()
    body = response.read()
    wire.close()
    return response.status, body if said is not None else None, got


@pytest.mark.parametrize("case", RELAYED)
def test_bytes_that_nginx_relays_are_relayed_alike(both, engine, case):
    sent, said = RELAYED[case]
    assert answer(both["ingress"], sent, engine, said) == answer(both["nginx"], sent, engine, said)


@pytest.mark.parametrize("case", REFUSED)
def test_bytes_that_nginx_refuses_are_refused_alike(both, engine, case):
    ours, nginx = (answer(both[name], REFUSED[case], engine, None)[0]
                   for name in ("ingress", "nginx"))  # fmt: skip
    assert ours == nginx
    assert engine.connections() == 0


# docs/ingress.md, 'Where it differs from nginx'.
DIFFERENT = {
    "CONNECT": (b"CONNECT a:1 HTTP/1.1\r\n" + HOST + b"\r\n", 405, 400),
    "bare line feeds": (b"HEAD / HTTP/1.1\nHost: h\n\n", 400, 200),
    "bytes above 127 in a target": (b"HEAD /\xc3\xa9 HTTP/1.1\r\n" + HOST + b"\r\n", 400, 200),
    "TRACE": (b"TRACE / HTTP/1.1\r\n" + HOST + b"\r\n", 200, 405),
    "methods in lower case": (b"head / HTTP/1.1\r\n" + HOST + b"\r\n", 200, 400),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_where_the_ingress_differs_from_nginx(both, engine, case):
    sent, ours, nginx = DIFFERENT[case]
    said = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    for name, status in (("ingress", ours), ("nginx", nginx)):
        assert answer(both[name], sent, engine, said if status == 200 else None)[0] == status


@pytest.mark.parametrize("name", ["nginx", "ingress"])
def test_a_client_that_leaves_closes_the_engines_connection(both, engine, name):
    wire = Wire(socket.create_connection(("127.0.0.1", both[name])))
    wire.send(post("/v1/completions", b"{}"))
    inner, _ = engine.request()
    inner.exactly(2)
    wire.socket.shutdown(socket.SHUT_WR)  # the end of its output is enough for both
    inner.socket.settimeout(PATIENCE)
    assert inner.ended()
