"""Heads that any client can send to a listener for probes, hooks or operators, before any token."""

import contextlib
import socket

PATIENCE = 10


def get(*lines, path="/livez", method="GET"):
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: h", *lines, "", ""]).encode("latin-1")


FILL = 7_900  # a head of just less than 8 KiB
HEADS = {
    "a range of many digits": get("Range: bytes=" + "1" * FILL + "-"),
    "a range of many ranges": get("Range: bytes=" + ",".join(["0-0"] * 1_950)),
    "a range of many spaces": get("Range: bytes=0-0," + " " * 7_800 + "0-0"),
    "a range that nothing reaches": get("Range: bytes=99999999999999999999999-1"),
    "many codings": get("Accept-Encoding: " + "gzip," * 1_500),
    "a long boundary": get("Content-Type: multipart/form-data; boundary=" + "a" * 7_000,
                           "Content-Length: 5", method="POST") + b"hello",
    "many forms": get("Content-Type: application/x-www-form-urlencoded;" + "a=b;" * 1_800),
    "many queries": get(path="/livez?" + "a=b&" * 1_900),
    "many escapes": get(path="/livez?" + "%" * FILL),
    "a long path": get(path="/" + "a/" * 3_900),
    "a line of a letter": get("X: " + "a" * FILL),
    "many lines": get(*["a:"] * 1_500),
    "a negative length": get("Content-Length: -1", method="POST"),
    "two lengths": get("Content-Length: 0", "Content-Length: 1", method="POST"),
    "a length beyond numbers": get("Content-Length: " + "9" * 26, method="POST"),
    "chunks without end": get("Transfer-Encoding: chunked", method="POST") + b"f" * 18 + b"\r\n",
    "an expectation": get("Expect: 100-continue", "Content-Length: 10", method="POST"),
    "another protocol": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a NUL": b"GET /livez\0 HTTP/1.1\r\nHost: h\r\n\r\n",
    "no text": get(path="/\xff\xfe"),
    "a line end in a path": get(path="/none%0d%0aX-Injected:%201"),
    "a long method": get(method="A" * FILL),
    "a long version": b"GET / HTTP/1." + b"1" * FILL + b"\r\n\r\n",
}  # fmt: skip


def answer_of(port, head):
    """All that the listener sends, up to its close."""
    said = b""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(head)
        with contextlib.suppress(ConnectionResetError):
            while data := connection.recv(65_536):
                said += data
    return said


def each_is_answered(port):
    """Whether each one has an answer, and no answer a line that its head has made."""
    for name, head in HEADS.items():
        said = answer_of(port, head)
        assert said.startswith(b"HTTP/1.1 "), (name, said[:80])
        assert b"\nX-Injected" not in said, name
    return True
