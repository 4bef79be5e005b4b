"""With a supervisor: which side orders what, what is on the wire, which code comes out."""

import json
import os
import signal
import subprocess

import pytest
from fake_supervisor import KILL_ALL, TERM_MAIN, monotonic_ms
from in_time import in_time
from known_process import end_of, kill, stat_of
from shim_process import NO_POD, eventually, helper, start_engine

LONG = bool(os.environ.get("LASTCALL_TEST_LONG"))
ROUNDS = 1000 if LONG else 40


def test_hello_is_exactly_what_the_protocol_defines(supervised, supervisor):
    boss = supervisor(start=False)
    process = supervised("sleep", "100")
    hello = boss.expect("hello")
    raw = hello["(raw)"]
    assert raw == (
        '{"op":"hello","version":1,"role":"shim","name":"sleep","sdk":"lastcall-shim/0.1.0",'
        f'"boot":"{hello["boot"]}","run":false,"engine":{{"state":"waiting"}}}}'
    )
    assert len(hello["boot"]) == 16 and set(hello["boot"]) <= set("0123456789abcdef")
    assert process.process.poll() is None


def test_engine_waits_for_the_order_to_start(supervised, supervisor):
    boss = supervisor(start=False)
    process = supervised("sleep", "100")
    boss.expect("hello")
    assert boss.ask({"op": "remember", "blob": "x"})["op"] == "ack"
    assert not process.tree()
    boss.send({"op": "engine.start"})
    started = boss.expect("engine.started")
    assert list(started)[:3] == ["op", "pid", "at_ms"]
    assert abs(started["at_ms"] - monotonic_ms()) < 10000


def test_second_order_to_start_is_acknowledged_and_does_nothing(supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, "sleep", "100")
    engine = process.engine()
    assert boss.ask({"op": "engine.start"})["op"] == "ack"
    assert list(process.tree()) == [engine]


def test_stop_signal_is_held_and_reported_with_its_time(supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, helper("print_signals"), "15", "0")
    process.wait_ready()
    before = monotonic_ms()
    process.send(signal.SIGTERM)
    line = boss.expect("signal")
    assert list(line)[:4] == ["op", "seq", "name", "at_ms"]
    assert line["name"] == "TERM" and before <= line["at_ms"] <= monotonic_ms()
    process.send(signal.SIGUSR1)
    assert process.read_line() == "10", "the engine saw nothing of the stop"


@pytest.mark.parametrize("number,name", [(signal.SIGTERM, "TERM"), (signal.SIGINT, "INT"),
                                         (signal.SIGQUIT, "QUIT")])
def test_every_stop_signal_is_reported_by_name(supervised, supervisor, number, name):
    boss = supervisor()
    process = start_engine(supervised, boss, "sleep", "100")
    process.send(number)
    boss.expect("signal", name=name)


def test_configured_stop_signals_replace_the_usual_ones(supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, helper("print_signals"),
                           options=["--stop-signals", "USR1,RTMIN+3"])
    process.wait_ready()
    process.send(signal.SIGINT)
    assert process.read_line() == "2"
    process.send(signal.SIGRTMIN + 3)
    boss.expect("signal", name="RTMIN+3")
    process.send(signal.SIGUSR1)
    boss.expect("signal", name="USR1")


@pytest.mark.parametrize("number", [1, 10, 12, 28, 34])
def test_other_signals_go_through_to_the_engine(supervised, supervisor, number):
    boss = supervisor()
    process = start_engine(supervised, boss, helper("print_signals"))
    process.wait_ready()
    process.send(number)
    assert process.read_line() == str(number)
    assert boss.nothing_of("signal")


def test_graceful_stop_from_signal_to_exit(supervised, supervisor, tmp_path):
    message = tmp_path / "termination"
    message.write_text("old, and longer than what comes" * 10)
    boss = supervisor()
    process = start_engine(supervised, boss, helper("print_signals"), "15", "3",
                           env={**NO_POD, "LASTCALL_TERMINATION_LOG": str(message)})
    process.wait_ready()
    process.send(signal.SIGTERM)
    at = boss.expect("signal")["at_ms"]
    boss.send({"op": "phase", "phase": "draining", "deadline_at_ms": at + 30000})
    assert boss.ask(TERM_MAIN)["op"] == "ack"
    ended = boss.expect("engine.exited")
    assert list(ended)[:5] == ["op", "code", "oom", "ordered", "at_ms"]
    assert (ended["code"], ended["oom"], ended["ordered"]) == (3, False, True)
    assert process.read_line() == "15", "it got the signal that was ordered, once"
    report = {"cause": "signal", "text": 'with "quotes" and \u00fc'}
    boss.send({"op": "exit", "seq": 9, "code": 0, "report": json.dumps(report)})
    boss.expect("ack", seq=9)
    assert process.wait() == 0
    first, *rest = message.read_text().splitlines()
    assert json.loads(first) == report
    assert rest == ["old, and longer than what comes" * 10], "what others wrote there stays"


def test_report_may_be_an_object_instead_of_text(supervised, supervisor, tmp_path):
    message = tmp_path / "termination"
    message.touch()
    boss = supervisor()
    process = start_engine(supervised, boss, "sleep", "100",
                           env={**NO_POD, "LASTCALL_TERMINATION_LOG": str(message)})
    boss.send_raw(b'{"op":"exit","code":1,"report":{ "a" : [1,2] }}\n')
    assert process.wait() == 1
    assert message.read_text() == '{ "a" : [1,2] }\n'


def test_termination_message_file_is_never_created(supervised, supervisor, tmp_path):
    boss = supervisor()
    process = start_engine(supervised, boss, "sleep", "100",
                           env={**NO_POD, "LASTCALL_TERMINATION_LOG": str(tmp_path / "absent")})
    boss.send({"op": "exit", "code": 0, "report": "{}"})
    assert process.wait() == 0
    assert not (tmp_path / "absent").exists()


@pytest.mark.parametrize("code", [0, 1, 2, 137, 255])
def test_code_of_the_exit_order_is_the_exit_code(supervised, supervisor, code):
    boss = supervisor()
    process = start_engine(supervised, boss, "sleep", "100")
    boss.send({"op": "exit", "code": code})
    assert process.wait() == code


def test_137_of_a_supervisor_notified_too_late_is_corrected(supervised, supervisor, tmp_path):
    """It reached its deadline first; the engine had ended on its order."""
    message = tmp_path / "termination"
    message.touch()
    boss = supervisor()
    process = start_engine(supervised, boss, "sleep", "100",
                           env={**NO_POD, "LASTCALL_TERMINATION_LOG": str(message)})
    boss.send({"op": "phase", "phase": "cleaning_up", "deadline_at_ms": monotonic_ms() + 20_000})
    boss.send(TERM_MAIN)
    boss.expect("engine.exited", signal=15, ordered=True)
    report = {"cause": "signal", "detail": '"exit_code":137,', "exit_code": 137, "survivors": 0}
    text = json.dumps(report, separators=(",", ":"))
    boss.send({"op": "exit", "code": 137, "report": text})
    assert process.wait() == 0
    assert json.loads(message.read_text()) == {**report, "exit_code": 0}


def test_137_for_an_engine_that_ended_while_the_shim_stood_still_is_corrected(
    supervised, supervisor, tmp_path
):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    boss = supervisor()
    ready = tmp_path / "ready"
    script = f"trap '' TERM; : >{ready}; read x <{gate}; exit 3"
    process = start_engine(supervised, boss, "sh", "-c", script)
    eventually(ready.exists, "the engine ignores TERM")
    boss.send({"op": "phase", "phase": "cleaning_up", "deadline_at_ms": monotonic_ms() + 20_000})
    assert boss.ask(TERM_MAIN)["op"] == "ack"
    engine, shim = process.engine(), process.pid
    os.kill(shim, signal.SIGSTOP)
    eventually(lambda: stat_of(shim)[1] == "T", "the shim hangs")
    gate.write_text("go\n")
    eventually(lambda: stat_of(engine)[1] == "Z", "the engine has ended")
    boss.send(KILL_ALL)
    boss.send({"op": "exit", "code": 137})
    os.kill(shim, signal.SIGCONT)
    boss.expect("engine.exited", code=3, ordered=True)  # so that its report can have it
    assert process.wait() == 0


def test_stopped_engine_is_continued_so_that_it_can_obey(supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, "sleep", "100")
    engine = process.engine()
    os.kill(engine, signal.SIGSTOP)
    eventually(lambda: stat_of(engine)[1] == "T", "the engine is stopped")
    boss.send(TERM_MAIN)
    boss.expect("engine.exited", signal=15, ordered=True)


def test_five_stop_signals_are_five_reports_and_one_signal_for_the_engine(supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, helper("print_signals"))
    process.wait_ready()
    for i in range(5):
        process.send(signal.SIGTERM if i % 2 == 0 else signal.SIGINT)
        boss.expect("signal")
        if i > 1:
            assert boss.ask(TERM_MAIN)["op"] == "ack"
    process.send(signal.SIGWINCH)  # of what is pending, the lowest number is read first
    lines = [process.read_line()]
    while lines[-1] != "28":
        lines.append(process.read_line())
    assert lines.count("15") == 1 and "2" not in lines


@pytest.mark.parametrize("code", [0, 1, 127, 255])
def test_engine_that_ends_by_itself_is_reported_with_its_code(supervised, supervisor, code):
    boss = supervisor()
    process = supervised("sh", "-c", f"sleep 0.1; exit {code}")
    ended = boss.expect("engine.exited")
    assert ended["code"] == code and "signal" not in ended and ended["ordered"] is False
    boss.send({"op": "exit", "code": 1})
    assert process.wait() == 1


def test_killed_engine_is_reported_within_a_moment(supervised, supervisor):
    boss = supervisor()

    def took():
        process = start_engine(supervised, boss, "sleep", "100")
        ended = kill(process.engine())
        line = boss.expect("engine.exited", signal=9, ordered=False)
        assert "code" not in line
        boss.send({"op": "exit", "code": 1})
        assert process.wait() == 1
        return line["(at)"] - ended

    in_time(took, 100)


def is_reported_once_every_time(supervised, boss, *command, code):
    for _ in range(ROUNDS):
        process = supervised(*command)
        boss.expect("engine.exited", code=code)
        boss.send({"op": "exit", "code": 0})
        assert process.wait() == 0
        assert boss.nothing_of("engine.exited")
        process.kill()


@pytest.mark.plain_build
@pytest.mark.timeout(3600 if LONG else 180)
def test_engine_of_no_duration_is_reported_once_every_time(supervised, supervisor):
    is_reported_once_every_time(supervised, supervisor(), helper("fast_exit"), "7", code=7)


@pytest.mark.plain_build
@pytest.mark.timeout(3600 if LONG else 180)
def test_engine_that_ends_with_its_children_is_reported_once_every_time(supervised, supervisor):
    is_reported_once_every_time(supervised, supervisor(), helper("ends_together"), code=3)


def test_engine_that_ends_with_its_children_is_reported_within_a_moment(supervised, supervisor):
    boss = supervisor()

    def took():
        process = start_engine(supervised, boss, "sh", "-c", 'read go; exec "$0"',
                               helper("ends_together"), stdin=subprocess.PIPE)  # fmt: skip

        def go():
            process.process.stdin.write(b"\n")
            process.process.stdin.flush()

        ended = end_of(process.engine(), go)
        line = boss.expect("engine.exited", code=3)
        boss.send({"op": "exit", "code": 1})
        assert process.wait() == 1
        return line["(at)"] - ended

    in_time(took, 100)


def test_custom_stop_signal_of_the_supervisor_is_an_order(supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, helper("print_signals"), "10", "0")
    process.wait_ready()
    process.send(signal.SIGTERM)
    boss.expect("signal")
    boss.send({"op": "engine.signal", "name": "SIGUSR1"})
    boss.expect("engine.exited", code=0, ordered=True)


def test_environment_of_the_engine_names_the_socket(supervised, supervisor, socket_path):
    supervisor()
    process = supervised("sh", "-c", "echo $LASTCALL_SOCKET; echo $OTHER; exec sleep 100",
                         env={**NO_POD, "OTHER": "kept", "LASTCALL_SOCKET": "wrong"})
    assert [process.read_line(), process.read_line()] == [socket_path, "kept"]


def test_shim_keeps_no_descriptor_but_its_own(supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, "sleep", "100")
    links = {os.readlink(f"/proc/{process.pid}/fd/{fd}").split(":")[0]
             for fd in os.listdir(f"/proc/{process.pid}/fd") if int(fd) > 2}
    assert links == {"anon_inode", "socket"}
    engine = process.engine()
    # The loader of a program that has just begun holds a library open for a moment.
    eventually(lambda: sorted(os.listdir(f"/proc/{engine}/fd")) == ["0", "1", "2"],
               "the engine has nothing but its standard streams")
    assert os.readlink(f"/proc/{process.pid}/cwd") == "/"


@pytest.mark.parametrize("command,code", [(["/no/such"], 127), (["/etc/passwd"], 126)])
def test_command_that_cannot_run_ends_the_shim_before_anything_is_registered(
        supervised, supervisor, command, code):
    boss = supervisor()
    process = supervised(*command)
    assert process.wait() == code
    assert boss.connections == 0


def test_supervisor_drain_without_deadline_is_no_stop_and_can_be_undone(supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, "sleep", "100", options=["--grace", "1s"])
    for phase in ("serving", "deregistering", "draining", "drained", "serving"):
        assert boss.ask({"op": "phase", "phase": phase})["op"] == "ack"
    boss.vanish()
    process.await_log("the supervisor is gone")
    assert process.process.poll() is None and process.tree()


def test_busy_supervisor_is_asked_again_and_changes_nothing(supervised, supervisor):
    boss = supervisor(welcome=False)
    process = supervised("sleep", "100")
    for _ in range(3):
        boss.expect("hello")
        boss.send({"op": "error", "code": "busy", "message": "another shim"})
    assert not process.tree()
    boss.welcome = {"op": "welcome", "version": 1, "phase": "starting", "grace_ms": 60000}
    boss.expect("engine.started")
