"""Users of a proxy: many streams at once, or one request after the other, each read to its end."""

import json
import re
import select
import socket
import subprocess
import time

from figures import NotMeasured

PATIENCE = 20
FINAL_CHUNK = b"\r\n0\r\n\r\n"


def request(events, together):
    body = json.dumps({"model": "m", "stream": True, "events": events, "together": together,
                       "messages": [{"role": "user", "content": "hello"}]})  # fmt: skip
    head = (f"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n")  # fmt: skip
    return (head + body).encode()


def connect(port):
    user = socket.create_connection(("127.0.0.1", port))
    user.settimeout(PATIENCE)
    user.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return user


def dechunked(wire):
    """The body of a response whose last bytes are those of its final chunk."""
    rest, body = wire.partition(b"\r\n\r\n")[2], b""
    while True:
        size, _, rest = rest.partition(b"\r\n")
        if not int(size, 16):
            return body
        body, rest = body + rest[: int(size, 16)], rest[int(size, 16) + 2 :]


def must_be_whole(wire, events):
    numbers = [int(found) for found in re.findall(rb'"(\d{8}) x{50}"', dechunked(wire))]
    if numbers != list(range(events)):
        raise NotMeasured("a stream is not complete and in order")


def events_a_second(port, streams, events):
    """All streams at once, each event by itself."""
    poll, users, got = select.epoll(), {}, {}
    for _ in range(streams):
        user = connect(port)
        users[user.fileno()], got[user.fileno()] = user, bytearray()
        poll.register(user, select.EPOLLIN)
    began = time.monotonic()
    for user in users.values():
        user.sendall(request(events, streams))
    left = streams
    while left:
        ready = poll.poll(PATIENCE)
        if not ready:
            raise NotMeasured(f"{left} of {streams} streams stall")
        for fd, _ in ready:
            data = users[fd].recv(262144)
            if not data:
                raise NotMeasured("a stream has ended early")
            got[fd] += data
            left -= got[fd].endswith(FINAL_CHUNK)
    took = time.monotonic() - began
    for fd, user in users.items():
        must_be_whole(bytes(got[fd]), events)
        user.close()
    return streams * events / took


def times_to_first_byte(port, count, events=3, pause_s=0):
    """Microseconds of each of `count` streams, one after the other on one connection."""
    user, found = connect(port), []
    for _ in range(count):
        time.sleep(pause_s)
        began = time.monotonic_ns()
        user.sendall(request(events, 1))
        wire = user.recv(65536)
        found.append((time.monotonic_ns() - began) / 1e3)
        while not wire.endswith(FINAL_CHUNK):
            data = user.recv(65536)
            if not data:
                raise NotMeasured("a stream has ended early")
            wire += data
        must_be_whole(wire, events)
    user.close()
    return found


def round_trips(port, sent, count, pause_s=0):
    """Microseconds of each of `count` small requests, one after the other on one connection."""
    user, found = connect(port), []
    for _ in range(count):
        time.sleep(pause_s)
        began = time.monotonic_ns()
        user.sendall(sent)
        if b"choices" not in user.recv(65536):
            raise NotMeasured("an answer is missing or not whole")
        found.append((time.monotonic_ns() - began) / 1e3)
    user.close()
    return found


SCRIPT = """
wrk.method = "POST"
wrk.body = '{"model":"m","stream":true,"messages":[{"role":"user","content":"hello"}]}'
wrk.headers["Content-Type"] = "application/json"
"""


def requests_a_second(bench, port, connections, seconds):
    """By wrk, with one thread."""
    script = bench.scratch / "post.lua"
    script.write_text(SCRIPT)
    try:
        shown = subprocess.run(
            ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(script),
             f"http://127.0.0.1:{port}/v1/chat/completions"],
            capture_output=True, text=True, timeout=seconds + PATIENCE,
        ).stdout  # fmt: skip
    except FileNotFoundError as missing:
        raise NotMeasured("wrk is not installed") from missing
    found = re.search(r"^Requests/sec: +([\d.]+)$", shown, re.MULTILINE)
    if not found or "Non-2xx" in shown or "Socket errors" in shown:
        raise NotMeasured("wrk had requests without an answer")
    return float(found[1])
