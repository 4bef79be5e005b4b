"""What a peer may do to the sockets: each gets one clear refusal, and the stop still works."""

import contextlib
import fcntl
import json
import os
import signal
import socket
import termios
import time

import pytest
from serve_peer import PATIENCE, Peer, PeerError, connect, wait_until
from serve_usage import anonymous
from serve_world import SLEEPER

LONG = bool(os.environ.get("LASTCALL_TEST_LONG"))
LINE = 64 * 1024  # the longest
FLOOD = b'{"op":"request.progress","ids":["nobody"]}\n' * 500
HELLO = b'{"op":"hello","version":1,"role":"engine"}\n'


@pytest.fixture
def served(world):
    """Ends as it would have without what the test did to it."""
    one = world()
    one.process = one.run(*SLEEPER)
    one.wait_for_phase("serving")
    yield one
    one.process.terminate()
    assert one.process.wait(timeout=PATIENCE) == 0
    wait_until(lambda: not one.processes_left(), "no process is left")
    assert not os.path.exists(one.socket)


class Raw:
    """A connection that sends what the test sends, and its answers."""

    def __init__(self, path):
        self.socket = connect(path)
        self.socket.settimeout(PATIENCE)
        self._buffer = b""

    def say(self, data):
        self.socket.sendall(data)
        return self

    def line(self):
        """The next answer; nothing at the end of the stream."""
        while b"\n" not in self._buffer:
            try:
                data = self.socket.recv(65536)
            except ConnectionResetError:
                data = b""
            if not data:
                return None
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        return json.loads(line)

    def error(self):
        line = self.line()
        assert line["op"] == "error", line
        return line["code"]

    def is_closed(self):
        return self.line() is None

    def close(self):
        self.socket.close()


@pytest.fixture
def raw(served):
    made = []

    def make(path=None, hello=True):
        made.append(Raw(path or served.socket))
        if hello:
            assert made[-1].say(HELLO).line()["op"] == "welcome"
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize(
    "data, code",
    [
        (b"\x16\x03\x01\x02\x00\x01\n", "bad_json"),
        (b"GET / HTTP/1.1\r\n", "bad_json"),
        (b"[]\n", "bad_json"),
        (b'{"op":"health"\n', "bad_json"),
        (b'{"op":"' + b"x" * (1 << 20), "too_long"),
    ],
    ids=["tls", "http", "array", "cut", "1 MiB"],
)
@pytest.mark.parametrize("hello", [False, True], ids=["before hello", "after hello"])
def test_a_line_outside_the_protocol_is_an_error_and_a_close(raw, data, code, hello):
    peer = raw(hello=hello).say(data)
    assert peer.error() == code
    assert peer.is_closed()


@pytest.mark.parametrize(
    "line, code",
    [
        ({"op": "dance"}, "unknown_op"),
        ({"op": "request.begin"}, "bad_field"),
        ({"op": "request.begin", "id": 7}, "bad_field"),
        ({"op": "request.begin", "id": "x" * 257}, "bad_field"),
        ({"op": "request.end", "id": "r", "outcome": "fine"}, "bad_field"),
        ({"op": "drain", "exit": True}, "not_allowed"),
        ({"op": "engine.exited", "code": 0}, "not_allowed"),
        ({"op": "hello", "version": 1, "role": "engine"}, "not_allowed"),
        ({"op": "request.end", "id": "nobody", "outcome": "completed"}, "not_yours"),
    ],
    ids=lambda value: value if isinstance(value, str) else value["op"],
)
def test_a_wrong_message_is_an_error_and_the_peer_stays(served, line, code):
    peer = served.peer()
    with pytest.raises(PeerError, match=code):
        peer.ask(**line)
    peer.ask("endpoint.register", endpoint="generate")


@pytest.mark.parametrize(
    "line, code",
    [
        ({"op": "health", "status": "healthy"}, "not_allowed"),
        ({"op": "hello", "version": 2, "role": "engine"}, "version"),
        ({"op": "hello", "version": 1, "role": "operator"}, "not_allowed"),
        ({"op": "hello", "version": 1, "role": "boss"}, "bad_field"),
        ({"op": "hello", "version": 1, "role": "shim", "boot": "other",
          "engine": {"state": "waiting"}}, "busy"),
    ],
    ids=["no hello", "version", "wrong socket", "unknown role", "second shim"],
)  # fmt: skip
def test_a_wrong_beginning_is_an_error_and_a_close(raw, line, code):
    peer = raw(hello=False).say(json.dumps(line).encode() + b"\n")
    assert peer.error() == code
    assert peer.is_closed()


def test_half_a_line_before_the_end_is_no_message(served, raw):
    raw().say(b'{"op":"fatal","reason":"x"}'[:-1]).close()
    wait_until(lambda: not served.status()["peers"], "it is gone")
    assert served.status()["phase"] == "serving"


def test_a_line_may_come_byte_by_byte(served, raw):
    peer = raw()
    for byte in b'{"op":"request.begin","id":"slow","seq":1}\n':
        peer.say(bytes([byte]))
        wait_until(lambda: True, pause=0.005)
    assert peer.line() == {"op": "ack", "seq": 1}
    assert served.status()["in_flight"]["requests"] == 1
    peer.say(b'{"op":"request.end","id":"slow","outcome":"completed","seq":2}\n')
    assert peer.line() == {"op": "ack", "seq": 2}


def test_a_peer_that_reads_nothing_is_dropped_and_others_are_served(served, raw):
    deaf = raw()
    deaf.socket.setblocking(False)
    wrong = b'{"op":"dance"}\n' * 1000  # each is answered

    def is_dropped():
        try:
            deaf.socket.send(wrong)
        except BlockingIOError:
            pass
        except OSError:
            return True
        return False

    wait_until(is_dropped, "it is dropped")
    served.peer().ask("endpoint.register", endpoint="generate")
    text = served.get("/metrics")[1]
    assert 'lastcall_ipc_peers_dropped_total{reason="backlog"} 1' in text \
        or 'lastcall_ipc_peers_dropped_total{reason="slow_reader"} 1' in text


def test_a_flood_of_one_peer_does_not_delay_another(served, raw):
    flood = raw()
    flood.socket.setblocking(False)
    other = served.peer()
    for round_ in range(50):
        try:
            flood.socket.send(FLOOD)
        except BlockingIOError:
            pass
        began = time.monotonic()
        other.ask("request.begin", id=f"r{round_}")
        other.ask("request.end", id=f"r{round_}", outcome="completed")
        assert time.monotonic() - began < 5


@pytest.mark.plain_build
def test_a_flood_is_not_kept_in_memory(served, raw):
    peers = [raw() for _ in range(4)]
    block = json.dumps({"op": "request.progress", "ids": ["nobody"] * 1000}).encode() + b"\n"
    rounds = (64 if LONG else 8) * (1 << 20) // len(block) // len(peers)
    pid, before, most = served.supervisor_pid(), 0, 0
    for round_ in range(rounds):
        for peer in peers:
            peer.say(block)
        if round_ == rounds // 8:
            before = anonymous(pid)
        most = max(most, anonymous(pid))
    sent = rounds * len(peers) * len(block) >> 10
    assert most <= before + 1024, f"{before} kB at first, {most} kB in a flood of {sent} kB"


@pytest.mark.plain_build
def test_half_lines_that_never_end_cost_a_line_each_and_no_more(served, raw):
    peers = [raw() for _ in range(200)]
    pid = served.supervisor_pid()
    before = anonymous(pid)
    bound = before + len(peers) * 2 * LINE // 1024
    for peer in peers:
        peer.say(b'{"op":"' + b"x" * (LINE - 100))
    wait_until(lambda: all(is_taken(peer.socket) for peer in peers), "all of it is read")
    assert served.get("/livez")[0] == 200
    assert anonymous(pid) <= bound, f"{before} kB before, {anonymous(pid)} kB, allowed {bound} kB"
    most = 0
    for peer in peers:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            peer.say(b"x" * (1 << 20))
        most = max(most, anonymous(pid))
        assert peer.error() == "too_long"
        assert peer.is_closed()
    assert most <= bound, f"{before} kB before, {most} kB, allowed {bound} kB"


def is_taken(connection):
    """The other side has read everything: SIOCOUTQ."""
    return int.from_bytes(fcntl.ioctl(connection, termios.TIOCOUTQ, b"\0" * 4), "little") == 0


@pytest.mark.plain_build
@pytest.mark.skipif(not LONG, reason="the 30 s of a hello; with less time in server_hello_test")
def test_a_hello_byte_by_byte_gets_no_more_time_than_any_other(served, raw):
    peer = raw(hello=False)
    peer.socket.settimeout(1)
    began = time.monotonic()
    for byte in HELLO[:-1]:
        peer.say(bytes([byte]))
        with contextlib.suppress(TimeoutError):
            assert peer.error() == "not_allowed"
            break
    else:
        pytest.fail("it was given the time of all bytes")
    assert time.monotonic() - began > 25
    assert peer.is_closed()
    assert served.status()["phase"] == "serving"


def test_a_thousand_connections_keep_neither_operators_nor_the_shim_out(served):
    crowd = [connect(served.socket) for _ in range(1000)]
    first = served.supervisor_pid()
    try:
        last = Raw(served.socket)
        assert last.error() == "busy"  # one process has its part, and no more
        last.close()
        assert served.status()["engine"]["shim"] == "connected"
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: served.supervisor_pid() not in (0, first), "the next life")
        crowd += [connect(served.socket) for _ in range(1000)]
        served.wait_for_phase("serving")
        assert served.status()["engine"]["shim"] == "connected"
    finally:
        for one in crowd:
            one.close()


def test_a_crowd_on_the_admin_socket_keeps_no_engine_out(served):
    crowd = []
    for _ in range(200):
        one = socket.socket(socket.AF_UNIX)
        one.connect(served.admin_socket)
        crowd.append(one)
    Peer(served.socket).close()
    for one in crowd:
        one.close()
    served.wait_for_phase("serving")
