"""The supervisor is frozen or gone: the will that it has left decides how the shim ends."""

import json
import os
import signal

import pytest
from fake_supervisor import monotonic_ms, welcome
from known_process import is_alive
from shim_process import NO_POD, eventually, helper, start_engine

REPORT = {"cause": "dead", "detail": 'check "engine" failed', "mode": "fatal",
          "phase": "cleaning_up", "requests": {"completed": 3}, "in_flight": "ingress"}


def will(deadline, mode="fatal", code=1, **report):
    message = {"op": "will", "mode": mode, "deadline_at_ms": deadline,
               "report": json.dumps({**REPORT, "mode": mode, **report})}
    return message if code is None else {**message, "code": code}


@pytest.fixture
def message(tmp_path):
    path = tmp_path / "termination"
    path.touch()
    return path


@pytest.fixture
def heir(supervised, supervisor, message):
    """A shim with this engine, and its supervisor."""

    def start(*command):
        boss = supervisor(welcome=welcome(4000, 1000))
        process = start_engine(supervised, boss, *command,
                               env={**NO_POD, "LASTCALL_TERMINATION_LOG": str(message)})
        return process, boss

    return start


@pytest.mark.parametrize("fate", ["frozen", "gone"])
@pytest.mark.parametrize("command", [["sleep", "100"], [helper("ignore_term")]])
def test_fatal_stop_ends_with_1_by_its_deadline_and_reports_why(heir, message, command, fate):
    process, boss = heir(*command)
    if command[0] != "sleep":
        process.wait_ready()
    begun = monotonic_ms()
    boss.send(will(begun + 2000))
    if fate == "gone":
        boss.vanish()  # a frozen one answers nothing, which the fake one does not either
    assert process.wait() == 1
    assert monotonic_ms() - begun < 7000
    report = json.loads(message.read_text())
    assert {key: report[key] for key in REPORT} == REPORT
    assert report["exit_code"] == 1
    assert report["supervisor"] == ("gone" if fate == "gone" else "present")
    assert report["engine"]["ordered"] is True
    assert '"cause":"dead"' in process.stderr().replace(": ", ":")


def test_graceful_stop_ends_as_its_engine_does(heir, message):
    process, boss = heir("sleep", "100")
    boss.send(will(monotonic_ms() + 1500, mode="graceful", code=None, phase="draining"))
    boss.vanish()
    assert process.wait() == 0
    report = json.loads(message.read_text())
    assert (report["mode"], report["phase"], report["exit_code"]) == ("graceful", "draining", 0)


def test_graceful_stop_whose_engine_has_to_be_killed_is_137(heir):
    process, boss = heir(helper("ignore_term"))
    process.wait_ready()
    boss.send(will(monotonic_ms() + 1500, mode="graceful", code=None))
    assert process.wait() == 137


def test_engine_that_dies_unordered_takes_unknown_work_with_it(heir):
    process, boss = heir("sleep", "100")
    boss.send(will(monotonic_ms() + 3000, mode="graceful", code=None))
    boss.ask({"op": "remember", "blob": "x"})  # so that the will has arrived
    os.kill(process.engine(), signal.SIGKILL)
    assert process.wait() == 1


@pytest.mark.parametrize("code", [0, 1, 42])
def test_code_of_the_will_holds_whatever_becomes_of_the_engine(heir, code):
    process, boss = heir(helper("ignore_term"))
    process.wait_ready()
    boss.send(will(monotonic_ms() + 1500, mode="graceful", code=code))
    assert process.wait() == code


def test_the_last_of_several_wills_counts(heir, message):
    process, boss = heir("sleep", "100")
    at = monotonic_ms()
    boss.send(will(at + 60000, mode="graceful", code=None))
    boss.send(will(at + 1500, cause="wedged"))
    assert process.wait() == 1
    assert json.loads(message.read_text())["cause"] == "wedged"


def test_order_to_exit_outranks_the_will(heir, message):
    process, boss = heir("sleep", "100")
    boss.send(will(monotonic_ms() + 60000))
    boss.send({"op": "exit", "code": 0, "report": '{"cause":"signal"}'})
    assert process.wait() == 0
    assert json.loads(message.read_text()) == {"cause": "signal"}


def test_will_begins_a_stop_even_if_nothing_else_arrived(heir):
    process, boss = heir("sleep", "100")
    engine = process.engine()
    boss.send(will(monotonic_ms() + 1500))
    assert process.wait() == 1
    assert not is_alive(engine)


@pytest.mark.parametrize("line,field", [
    ({"op": "will", "mode": "slow", "deadline_at_ms": 1}, "mode"),
    ({"op": "will", "mode": "fatal"}, "deadline_at_ms"),
    ({"op": "will", "mode": "fatal", "deadline_at_ms": 9 ** 15, "code": 256}, "code"),
    ({"op": "will", "mode": "fatal", "deadline_at_ms": 9 ** 15, "report": "x"}, "report"),
    ({"op": "will", "mode": "fatal", "deadline_at_ms": 9 ** 15,
      "report": json.dumps({"d": "x" * 1536})}, "report"),
])
def test_bad_will_is_refused_and_begins_nothing(heir, line, field):
    process, boss = heir("sleep", "100")
    answer = boss.ask(line)
    assert answer["op"] == "error" and answer["message"].startswith(field)
    assert is_alive(process.engine())


def test_largest_will_is_reported_whole(heir, message):
    process, boss = heir("sleep", "100")
    rest = len(json.dumps({**REPORT, "detail": ""}))
    detail = "\\" * ((1536 - rest) // 2)
    boss.send(will(monotonic_ms() + 1500, detail=detail))
    assert process.wait() == 1
    report = eventually(lambda: json.loads(message.read_text()), "the report")
    assert report["detail"] == detail and report["exit_code"] == 1
