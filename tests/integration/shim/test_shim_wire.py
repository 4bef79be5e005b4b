"""What the shim does with lines that it did not expect; nothing of it reaches the engine."""

import json
import socket

import pytest
from shim_process import eventually


@pytest.fixture
def running(supervised, supervisor):
    boss = supervisor()
    process = supervised("sleep", "100")
    boss.expect("engine.started")
    process.boss = boss
    process.engine_pid = process.engine()
    yield process
    assert process.process.poll() is None
    assert list(process.tree()) == [process.engine_pid], "the engine was not touched"


@pytest.mark.parametrize("line", [
    b"hello there", b"[]", b"3", b"{", b'{"op":"exit","code":1', b"", b'{"op":"exit" "code":1}',
    b'{"op":"exit","code":01}', b"\x00\xff\xfe", b'{"a":"\n', b"{" * 5000,
    b'{"op":"exit","code":1}}', b'{"op":"ex\x01it"}', b'{"a":"\\x"}',
])
def test_garbage_is_an_error_and_ends_the_connection(running, line):
    running.boss.send_raw(line + b"\n")
    running.boss.expect("error", code="bad_json")
    running.boss.expect("(closed)")
    running.boss.expect("hello")


def test_oversized_line_is_an_error_and_ends_the_connection(running):
    running.boss.send_raw(b'{"op":"remember","blob":"' + b"x" * 70000)
    running.boss.expect("error", code="too_long")
    running.boss.expect("hello")


def test_line_of_exactly_64_kib_is_obeyed(running):
    frame = b'{"op":"remember","seq":5,"blob":"kept","padding":"%s"}'
    line = frame % (b"x" * (65536 - len(frame) + 2))
    assert len(line) == 65536
    running.boss.send_raw(line + b"\n")
    running.boss.expect("ack", seq=5)


def test_line_one_byte_longer_than_64_kib_is_refused(running):
    frame = b'{"op":"remember","seq":5,"blob":"kept","padding":"%s"}'
    running.boss.send_raw(frame % (b"x" * (65537 - len(frame) + 2)) + b"\n")
    running.boss.expect("error", code="too_long")
    running.boss.expect("hello")


def test_line_in_single_bytes_is_obeyed_when_it_is_whole(running):
    for byte in b'{"op":"remember","seq":6,"blob":"b"}\n':
        running.boss.send_raw(bytes([byte]))
        eventually(lambda: running.boss.unread() == 0, "the shim has read it")
    running.boss.expect("ack", seq=6)


def test_many_lines_in_one_packet_are_answered_in_order(running):
    lines = [json.dumps({"op": "remember", "seq": n, "blob": str(n)}) for n in range(1, 101)]
    running.boss.send_raw("".join(line + "\n" for line in lines).encode())
    for n in range(1, 101):
        running.boss.expect("ack", seq=n)
    running.boss.drop()
    assert running.boss.expect("hello")["blob"] == "100"


def test_half_a_line_at_the_end_of_a_connection_is_not_obeyed(running):
    running.boss.send_raw(b'{"op":"exit","code":0}')
    running.boss.drop()
    running.boss.expect("hello")


def test_unknown_op_is_an_error_and_the_connection_stays(running):
    assert running.boss.ask({"op": "dance"})["code"] == "unknown_op"
    assert running.boss.ask({"op": "health.check"})["code"] == "unknown_op"
    assert running.boss.ask({"op": "remember", "blob": "x"})["op"] == "ack"
    assert running.boss.connections == 1


@pytest.mark.parametrize("line", [
    {"op": "exit"}, {"op": "exit", "code": 256}, {"op": "exit", "code": -1},
    {"op": "exit", "code": "0"}, {"op": "exit", "code": 1.5},
    {"op": "engine.signal"}, {"op": "engine.signal", "name": "NOPE"},
    {"op": "engine.signal", "name": 15}, {"op": "engine.signal", "name": "TERM", "scope": "some"},
    {"op": "phase"}, {"op": "phase", "phase": "napping"},
    {"op": "phase", "phase": "draining", "deadline_at_ms": "soon"},
    {"op": "phase", "phase": "draining", "deadline_at_ms": 0},
    {"op": "remember"}, {"op": "remember", "blob": 3}, {"op": "remember", "blob": "x" * 1025},
    {"op": 7}, {"no": "op"},
])
def test_bad_field_is_an_error_and_the_connection_stays(running, line):
    assert running.boss.ask(line)["code"] == "bad_field"
    assert running.boss.ask({"op": "engine.start"})["op"] == "ack"
    assert running.boss.connections == 1


def test_unknown_keys_are_ignored(running):
    line = {"op": "remember", "future": {"deep": [1, {"x": None}]}, "blob": "b", "more": 1e9}
    assert running.boss.ask(line)["op"] == "ack"


def test_answers_are_never_answered(running):
    running.boss.send({"op": "ack", "seq": 12345})
    running.boss.send({"op": "error", "seq": "x", "code": "conflict", "message": "no"})
    running.boss.send({"op": "error"})
    assert running.boss.ask({"op": "engine.start"})["op"] == "ack"
    assert running.boss.nothing_of("error")


@pytest.mark.parametrize("blob", [
    "", "plain", 'with "quotes", \\ and \n', "\u00e9\u4e2d\U0001f600", "x" * 1024,
    "\x01" * 1024,
])
def test_blob_comes_back_as_it_was_given(running, blob):
    running.boss.ask({"op": "remember", "blob": "an older one"})
    assert running.boss.ask({"op": "remember", "blob": blob})["op"] == "ack"
    running.boss.drop()
    assert running.boss.expect("hello").get("blob", "") == blob


def test_welcome_of_another_version_ends_the_connection(supervised, supervisor):
    boss = supervisor(welcome={"op": "welcome", "version": 2, "phase": "starting"})
    process = supervised("sleep", "100")
    boss.expect("hello")
    boss.expect("(closed)")
    boss.expect("hello")
    assert process.process.poll() is None


def test_supervisor_that_reads_nothing_loses_its_connection_and_not_the_shim(
        supervised, socket_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(socket_path)
        listener.listen(8)
        process = supervised("sleep", "100")
        connection, _ = listener.accept()
        connection.settimeout(20)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            while True:  # each line is answered, and the answers are not read
                connection.sendall(b'{"op":"dance","seq":1}\n' * 100)
        connection.close()
        again, _ = listener.accept()
        assert again.recv(65536).startswith(b'{"op":"hello"')
        assert process.process.poll() is None
        again.close()
