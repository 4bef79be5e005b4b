"""The supervisor is late, silent, gone or mad: the shim still ends in time and tells the truth."""

import json
import os
import signal

import pytest
from fake_supervisor import WELCOME, monotonic_ms
from shim_process import eventually, helper, is_alive, stat_of

TERM_MAIN = {"op": "engine.signal", "name": "TERM", "scope": "main"}
NO_POD = {k: v for k, v in os.environ.items() if k != "KUBERNETES_SERVICE_HOST"}


def elapsed(function):
    before = monotonic_ms()
    result = function()
    return result, monotonic_ms() - before


def welcome(grace, reserve):
    return {**WELCOME, "grace_ms": grace,
            "budgets": {**WELCOME["budgets"], "cleanup_reserve_ms": reserve}}


def started(supervised, boss, *command, **options):
    process = supervised(*command, **options)
    boss.expect("engine.started")
    process.is_ready()
    return process


# -- the supervisor never comes --------------------------------------------------------------------


def test_engine_starts_without_a_supervisor_after_the_timeout(supervised):
    process = supervised("echo", "ready", options=["--supervisor-timeout", "200ms"])
    assert process.read_line() == "ready"


def test_engine_starts_when_a_connected_supervisor_gives_no_order(supervised, supervisor):
    boss = supervisor(start=False)
    process = supervised("sleep", "100", options=["--supervisor-timeout", "300ms"])
    hello = boss.expect("hello")
    began = boss.expect("engine.started")
    assert began["at_ms"] - hello["(at)"] >= 200
    assert process.tree()


def test_required_supervisor_that_does_not_come_is_fatal(supervised):
    process = supervised("echo", "ready", options=["--required", "--supervisor-timeout", "200ms"])
    assert process.wait() == 1
    assert process.process.stdout.read() == b""
    assert "--required" in process.stderr()


def test_supervisor_that_comes_late_hears_of_the_running_engine(supervised, supervisor):
    process = supervised("sleep", "100", options=["--supervisor-timeout", "100ms"])
    engine = process.engine()
    boss = supervisor()
    hello = boss.expect("hello")
    assert hello["engine"]["state"] == "running" and hello["engine"]["pid"] > 0
    assert list(hello["engine"]) == ["pid", "state", "started_at_ms", "ordered"]
    assert list(process.tree()) == [engine]


@pytest.mark.parametrize("command,code", [
    (["sleep", "100"], 0),
    ([helper("print_signals"), "15", "9"], 0),
    ([helper("ignore_term")], 137),
])
def test_stop_without_any_supervisor_is_term_then_kill(supervised, command, code):
    process = supervised(*command, options=["--supervisor-timeout", "50ms", "--grace", "1500ms"])
    engine = process.engine()
    eventually(lambda: stat_of(engine)[0] == os.path.basename(command[0]), "the engine runs")
    if command[0] != "sleep":
        process.wait_ready()
    process.is_ready()
    process.send(signal.SIGTERM)
    got, took = elapsed(process.wait)
    assert got == code
    if code == 137:
        assert took >= 1000
    assert not is_alive(engine)


def test_stop_before_the_start_is_code_0_and_starts_nothing(supervised):
    process = supervised("echo", "ready")
    process.is_ready()
    process.send(signal.SIGTERM)
    assert process.wait() == 0
    assert process.process.stdout.read() == b""


def test_stop_before_the_start_with_a_supervisor_is_code_0_and_reported(supervised, supervisor):
    boss = supervisor(start=False)
    process = supervised("echo", "ready")
    boss.expect("hello")
    process.send(signal.SIGTERM)
    boss.expect("signal", name="TERM")
    assert process.wait() == 0
    assert process.process.stdout.read() == b""


def test_stop_at_any_moment_after_the_start_never_hangs(supervised, supervisor):
    supervisor(stops=True)
    for i in range(100):
        process = supervised("sleep", "100")
        process.is_ready()
        for _ in range(i * 100):
            pass  # somewhere between the first connection and the running engine
        process.send(signal.SIGTERM)
        assert process.wait() == 0
        process.kill()


# -- the supervisor was there, and is gone ---------------------------------------------------------


def test_engine_survives_the_loss_of_its_supervisor(supervised, supervisor):
    boss = supervisor()
    process = started(supervised, boss, "sleep", "100")
    engine = process.engine()
    boss.send({"op": "remember", "blob": "phase=serving"})
    assert boss.ask({"op": "phase", "phase": "serving"})["op"] == "ack"
    first = boss.hellos[0]
    boss.vanish()
    again = supervisor()
    hello = again.expect("hello")
    assert hello["boot"] == first["boot"]
    assert hello["engine"]["state"] == "running" and hello["blob"] == "phase=serving"
    assert again.ask({"op": "engine.start"})["op"] == "ack"
    assert list(process.tree()) == [engine]


def test_reconnecting_is_quick_after_a_loss(supervised, supervisor):
    boss = supervisor()
    started(supervised, boss, "sleep", "100")
    before = monotonic_ms()
    boss.drop()
    boss.expect("hello")
    assert monotonic_ms() - before < 2000


def test_gone_supervisor_gets_until_the_reserve_to_come_back(supervised, supervisor):
    boss = supervisor(welcome=welcome(3000, 1000))
    process = started(supervised, boss, helper("print_signals"), "15", "0")
    process.wait_ready()
    boss.vanish()
    process.send(signal.SIGTERM)
    line, took = elapsed(process.read_line)
    assert line == "15"
    assert 1800 <= took < 6000, "D - reserve is 2 s after the stop"
    assert process.wait() == 0


def test_supervisor_that_comes_back_in_a_stop_takes_over(supervised, supervisor):
    boss = supervisor(welcome=welcome(20000, 5000))
    process = started(supervised, boss, helper("print_signals"), "15", "0")
    process.wait_ready()
    boss.send({"op": "remember", "blob": 'a "quoted" \u00fc \\ blob\n'})
    boss.ask({"op": "phase", "phase": "serving"})
    boss.vanish()
    before = monotonic_ms()
    process.send(signal.SIGTERM)
    again = supervisor()
    hello = again.expect("hello")
    if "stop_at_ms" not in hello:  # it was connected before the signal came
        assert again.expect("signal")["name"] == "TERM"
    else:
        assert before <= hello["stop_at_ms"] <= monotonic_ms()
    assert hello["blob"] == 'a "quoted" \u00fc \\ blob\n'
    again.send(TERM_MAIN)
    again.expect("engine.exited", ordered=True)
    again.send({"op": "exit", "code": 0})
    assert process.wait() == 0


def test_silent_supervisor_counts_as_gone(supervised, supervisor):
    boss = supervisor(welcome=welcome(6000, 3000), ack=False)
    process = started(supervised, boss, helper("print_signals"), "15", "0")
    process.wait_ready()
    process.send(signal.SIGTERM)
    line, took = elapsed(process.read_line)
    assert line == "15"
    assert 2800 <= took < 4500, "D - reserve, not the last moment at D - 1.1 s"


def test_supervisor_that_acknowledges_late_is_back(supervised, supervisor):
    boss = supervisor(welcome=welcome(6000, 3000), ack=False)
    process = started(supervised, boss, helper("print_signals"), "15", "0")
    process.wait_ready()
    process.send(signal.SIGTERM)
    stop = boss.expect("signal")
    process.await_log("the supervisor is gone")
    boss.send({"op": "ack", "seq": stop["seq"]})
    process.await_log("the supervisor is back")
    assert process.read_line() == "15"
    assert monotonic_ms() - stop["at_ms"] >= 4500, "held until D - 1.1 s: it is present"


# -- the supervisor is there, and does nothing -----------------------------------------------------


def test_no_order_to_stop_by_the_last_moment_and_the_shim_gives_it(supervised, supervisor):
    boss = supervisor(welcome=welcome(2000, 500))
    process = started(supervised, boss, helper("print_signals"), "15", "0")
    process.wait_ready()
    process.send(signal.SIGTERM)
    at = boss.expect("signal")["at_ms"]
    assert process.read_line() == "15"
    assert monotonic_ms() - at >= 2000 - 375 - 50, "S/8 is 250 ms, and 1.5 of that"
    boss.expect("engine.exited", code=0, ordered=True)
    assert process.wait() == 0


def test_deadline_of_the_supervisor_replaces_the_own_one(supervised, supervisor):
    boss = supervisor()
    process = started(supervised, boss, helper("ignore_term"))
    process.wait_ready()
    process.send(signal.SIGTERM)
    at = boss.expect("signal")["at_ms"]
    boss.send({"op": "phase", "phase": "draining", "deadline_at_ms": at + 1600})
    assert process.wait() == 137
    assert 1400 <= monotonic_ms() - at < 6000


def test_stop_that_began_at_the_supervisor_has_the_same_deadline_rules(supervised, supervisor):
    boss = supervisor()
    process = started(supervised, boss, helper("ignore_term"))
    process.wait_ready()
    begun = monotonic_ms()
    boss.send({"op": "phase", "phase": "deregistering", "deadline_at_ms": begun + 1600})
    assert process.wait() == 137
    assert 1400 <= monotonic_ms() - begun < 6000


def test_deadline_stays_the_original_one_when_the_supervisor_restarts(supervised, supervisor):
    boss = supervisor(welcome=welcome(2000, 500))
    process = started(supervised, boss, helper("ignore_term"))
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
    process = started(supervised, boss, helper("ignore_term"),
                      env={**NO_POD, "LASTCALL_POD_GRACE_SECONDS": "3"})
    process.wait_ready()
    process.send(signal.SIGTERM)
    got, took = elapsed(process.wait)
    assert got == 137 and 700 <= took < 5000, "3 s less the kubelet's 2 s"


def test_engine_that_ends_unordered_in_a_stop_is_code_1(supervised, supervisor):
    boss = supervisor(welcome=welcome(1500, 500))
    process = started(supervised, boss, "sleep", "100")
    process.send(signal.SIGTERM)
    boss.expect("signal")
    os.kill(process.engine(), signal.SIGKILL)
    boss.expect("engine.exited", ordered=False)
    assert process.wait() == 1


def test_no_exit_order_after_the_engine_ended_and_the_shim_ends_by_the_table(
        supervised, supervisor):
    boss = supervisor()
    process = started(supervised, boss, "sh", "-c", "sleep 0.2; exit 0")
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


def test_engine_that_ends_while_the_supervisor_is_away_is_told_to_the_next_one(
        supervised, supervisor):
    boss = supervisor()
    process = started(supervised, boss, "sleep", "100")
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
    assert process.wait() == 137
    eventually(lambda: not process.survivors(), "nothing is left")


def test_own_report_says_what_the_shim_knows(supervised, tmp_path):
    message = tmp_path / "termination"
    message.touch()
    process = supervised("sh", "-c", "exit 3", options=["--supervisor-timeout", "50ms"],
                         env={**NO_POD, "LASTCALL_TERMINATION_LOG": str(message)})
    assert process.wait() == 1
    report = json.loads(message.read_text())
    assert report["cause"] == "engine_exit" and report["mode"] == "fatal"
    assert report["exit_code"] == 1 and report["supervisor"] == "never"
    assert report["engine"] == {"code": 3, "oom": False, "ordered": False}
    assert report["in_flight"] == "unknown"


def test_stopped_shim_catches_up_on_its_deadline(supervised, supervisor):
    boss = supervisor(welcome=welcome(1500, 500))
    process = started(supervised, boss, helper("ignore_term"))
    process.wait_ready()
    process.send(signal.SIGTERM)
    at = boss.expect("signal")["at_ms"]
    process.send(signal.SIGSTOP)
    eventually(lambda: monotonic_ms() > at + 1700, "the deadline has passed")
    process.send(signal.SIGCONT)
    got, took = elapsed(process.wait)
    assert got == 137 and took < 1500, "no extra grace"


def test_full_log_pipe_does_not_delay_the_stop(supervised):
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writer, True)
    process = supervised("sleep", "100", options=["--supervisor-timeout", "50ms"], stderr=writer)
    process.engine()
    process.is_ready()
    process.send(signal.SIGTERM)
    assert process.wait() == 0
    os.close(reader)
    os.close(writer)
