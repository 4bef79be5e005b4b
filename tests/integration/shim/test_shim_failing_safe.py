"""No supervisor orders what is due: the shim still ends in time, and reports that truthfully."""

import contextlib
import json
import os
import signal

import pytest
from fake_supervisor import monotonic_ms, welcome
from in_time import unless_late
from shim_process import NO_POD, elapsed, eventually, helper, start_engine


def test_no_order_to_stop_by_the_last_moment_and_the_shim_gives_it(supervised, supervisor):
    def ended():
        boss = supervisor(welcome=welcome(2000, 500))
        process = start_engine(supervised, boss, helper("print_signals"), "15", "0")
        process.wait_ready()
        process.send(signal.SIGTERM)
        at = boss.expect("signal")["at_ms"]
        end = boss.expect("engine.exited", ordered=True)
        assert end["at_ms"] - at >= 2000 - 375 - 50, "S/8 is 250 ms, and 1.5 of that"
        code = process.wait()
        boss.vanish()
        assert code == 137 or process.read_line() == "15"
        return end.get("code"), code

    # KILL is due 125 ms after TERM.
    assert unless_late(ended, lambda codes: codes[1] == 137, tries=5) == (0, 0)


def test_deadline_of_the_supervisor_replaces_the_own_one(supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, helper("ignore_term"))
    process.wait_ready()
    process.send(signal.SIGTERM)
    at = boss.expect("signal")["at_ms"]
    boss.send({"op": "phase", "phase": "draining", "deadline_at_ms": at + 1600})
    assert process.wait() == 137
    assert 1400 <= monotonic_ms() - at < 6000


def test_stop_that_began_at_the_supervisor_has_the_same_deadline_rules(supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, helper("ignore_term"))
    process.wait_ready()
    begun = monotonic_ms()
    boss.send({"op": "phase", "phase": "deregistering", "deadline_at_ms": begun + 1600})
    assert process.wait() == 137
    assert 1400 <= monotonic_ms() - begun < 6000


def test_deadline_stays_the_original_one_when_the_supervisor_restarts(supervised, supervisor):
    boss = supervisor(welcome=welcome(2000, 500))
    process = start_engine(supervised, boss, helper("ignore_term"))
    process.wait_ready()
    process.send(signal.SIGTERM)
    at = boss.expect("signal")["at_ms"]
    boss.send({"op": "phase", "phase": "draining", "deadline_at_ms": at + 2000})
    boss.ask({"op": "remember", "blob": "b"})
    boss.vanish()
    again = supervisor(welcome=welcome(60000, 5000))
    again.expect("hello")
    assert process.wait() == 137
    assert 1700 <= monotonic_ms() - at < 6000


def test_smallest_of_all_graces_counts(supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, helper("ignore_term"),
                      env={**NO_POD, "LASTCALL_POD_GRACE_SECONDS": "3"})
    process.wait_ready()
    process.send(signal.SIGTERM)
    got, took = elapsed(process.wait)
    assert got == 137 and 700 <= took < 5000, "3 s less the kubelet's 2 s"


def test_engine_that_ends_unordered_in_a_stop_is_code_1(supervised, supervisor):
    boss = supervisor(welcome=welcome(1500, 500))
    process = start_engine(supervised, boss, "sleep", "100")
    process.send(signal.SIGTERM)
    boss.expect("signal")
    os.kill(process.engine(), signal.SIGKILL)
    boss.expect("engine.exited", ordered=False)
    assert process.wait() == 1


@pytest.mark.plain_build
def test_no_exit_order_after_the_engine_ended_and_the_shim_ends_by_the_table(
        supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, "sh", "-c", "sleep 0.2; exit 0")
    ended = boss.expect("engine.exited", code=0)
    assert process.wait() == 1
    assert 4500 <= monotonic_ms() - ended["at_ms"] < 12000


def test_propagate_passes_the_code_of_an_engine_that_ended_by_itself(supervised):
    process = supervised("sh", "-c", "exit 42", options=["--on-exit", "propagate",
                                                         "--supervisor-timeout", "50ms"])
    assert process.wait() == 42
    killed = supervised(helper("fast_exit"), "-11", options=["--on-exit", "propagate",
                                                             "--supervisor-timeout", "50ms"])
    assert killed.wait() == 128 + 11


@pytest.mark.parametrize("code", [0, 1, 3])
def test_engine_that_ends_by_itself_is_fatal_whatever_its_code(supervised, code):
    process = supervised("sh", "-c", f"exit {code}", options=["--supervisor-timeout", "50ms"])
    assert process.wait() == 1


def test_engine_that_ends_while_the_supervisor_is_away_is_reported_to_the_next(
        supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, "sleep", "100")
    boss.vanish()
    os.kill(process.engine(), signal.SIGSEGV)
    again = supervisor()
    hello = again.expect("hello")
    if hello["engine"]["state"] == "running":
        hello["engine"] = again.expect("engine.exited")
    assert hello["engine"]["signal"] == 11 and hello["engine"]["ordered"] is False
    again.send({"op": "exit", "code": 1})
    assert process.wait() == 1


def test_unordered_workers_are_killed_when_nobody_orders_anything(supervised):
    process = supervised(helper("setsid_worker"), options=["--supervisor-timeout", "50ms"])
    process.wait_ready()
    main = min(process.survivors())
    os.kill(main, signal.SIGKILL)
    assert process.wait() == 1
    eventually(lambda: not process.survivors(), "nothing is left")


def test_setsid_worker_is_killed_when_the_grace_runs_out(supervised):
    process = supervised(helper("setsid_worker"), "stubborn",
                         options=["--supervisor-timeout", "50ms", "--grace", "1200ms"])
    process.wait_ready()
    process.is_ready()
    process.send(signal.SIGTERM)
    assert process.wait() == 1, "no supervisor ever saw it"
    eventually(lambda: not process.survivors(), "nothing is left")


def test_own_report_has_what_the_shim_knows(supervised, tmp_path):
    message = tmp_path / "termination"
    message.touch()
    process = supervised("sh", "-c", "exit 3", options=["--supervisor-timeout", "50ms"],
                         env={**NO_POD, "LASTCALL_TERMINATION_LOG": str(message)})
    assert process.wait() == 1
    report = json.loads(message.read_text())
    assert report["cause"] == "engine_exited" and report["mode"] == "fatal"
    assert report["exit_code"] == 1 and report["supervisor"] == "never"
    assert report["engine"] == {"code": 3, "oom": False, "ordered": False}
    assert report["in_flight"] == "unknown"


def test_stopped_shim_catches_up_on_its_deadline(supervised, supervisor):
    boss = supervisor(welcome=welcome(4000, 500))
    process = start_engine(supervised, boss, helper("ignore_term"))
    process.wait_ready()
    process.send(signal.SIGTERM)
    at = boss.expect("signal")["at_ms"]
    process.send(signal.SIGSTOP)
    eventually(lambda: monotonic_ms() > at + 4200, "the deadline has passed")
    process.send(signal.SIGCONT)
    got, took = elapsed(process.wait)
    assert got == 137 and took < 4000, "no extra grace"


def full_pipe():
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    for size in (4096, 1):
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, b"x" * size)
    os.set_blocking(writer, True)
    return reader, writer


def test_full_log_pipe_does_not_delay_the_stop(supervised):
    reader, writer = full_pipe()
    process = supervised("sleep", "100", options=["--supervisor-timeout", "50ms"], stderr=writer)
    process.engine()
    process.is_ready()
    process.send(signal.SIGTERM)
    assert process.wait() == 1
    os.close(reader)
    os.close(writer)


def test_reader_of_the_log_that_is_away_still_gets_the_own_report(supervised, tmp_path):
    def last_words():
        message = tmp_path / "termination"
        message.write_text("")
        reader, writer = full_pipe()
        environment = {**NO_POD, "LASTCALL_TERMINATION_LOG": str(message)}
        process = supervised("sleep", "100", options=["--supervisor-timeout", "50ms"],
                             stderr=writer, env=environment)
        process.engine()
        process.is_ready()
        process.send(signal.SIGTERM)
        eventually(lambda: message.read_text(), "the report is made, and nobody reads the log")
        os.close(writer)
        with open(reader, "rb") as log:
            text = log.read().decode()
        assert process.wait() == 1
        return text

    words = "ended without the supervisor: {"
    assert words in unless_late(last_words, lambda text: words not in text, tries=5)
