"""Without a socket every signal goes on to the command, once, and rewritten if asked for."""

import ctypes
import os
import platform
import signal

import pytest
from fake_supervisor import monotonic_ms
from in_time import in_time
from known_process import stat_of
from shim_process import SHIM, ShimProcess, eventually, helper, status_field

DUMB_INIT = "/usr/bin/dumb-init"
BUS_MCEERR_AO = 5
RT_SIGQUEUEINFO = {"x86_64": 129, "aarch64": 138}[platform.machine()]
libc = ctypes.CDLL(None)
NEVER_SEEN = {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}
TERMINAL_STOPS = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
LAST = signal.SIGRTMIN + 9  # of all that are pending the greatest number is delivered last
PWR = signal.SIGPWR  # the last of those that dumb-init knows


def lines_to(process, last):
    """What the command got, up to and with this signal."""
    lines = []
    while not lines or lines[-1] != int(last):
        lines.append(int(process.read_line()))
    return lines


@pytest.mark.parametrize("number", [*sorted(set(range(1, 32)) - NEVER_SEEN - TERMINAL_STOPS),
                                    signal.SIGRTMIN + 3])
def test_signal_is_forwarded_once(shim, number):
    process = shim("--", helper("print_signals"))
    process.wait_ready()
    process.send(number)
    process.send(LAST)
    assert lines_to(process, LAST) == [number, LAST]


def test_as_often_as_it_was_sent(shim):
    """Real-time signals are queued, so that none of them can hide behind another."""
    process = shim("--", helper("print_signals"))
    process.wait_ready()
    for _ in range(20):
        process.send(signal.SIGRTMIN + 3)
    process.send(LAST)
    assert lines_to(process, LAST) == [signal.SIGRTMIN + 3] * 20 + [LAST]


def test_fault_that_the_kernel_raised_is_the_shims_own():
    def have_one_pending():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGBUS})  # and so it outlives the exec
        page_went_bad = (ctypes.c_int * 32)(signal.SIGBUS, 0, BUS_MCEERR_AO)
        assert libc.syscall(RT_SIGQUEUEINFO, os.getpid(), int(signal.SIGBUS), page_went_bad) == 0

    process = ShimProcess(["--", helper("print_signals")], preexec_fn=have_one_pending)
    try:
        process.wait_ready()
        process.send(signal.SIGUSR1)
        assert process.read_line() == str(int(signal.SIGUSR1))
        assert int(status_field(process.pid, "ShdPnd"), 16) == 0
    finally:
        process.kill()


def test_child_signal_sent_by_hand_is_not_forwarded(shim):
    process = shim("--", helper("print_signals"))
    process.wait_ready()
    process.send(signal.SIGCHLD)
    process.send(signal.SIGHUP)
    assert process.read_line() == "1"


@pytest.mark.parametrize("number", sorted(TERMINAL_STOPS))
def test_terminal_stop_stops_the_engine_and_never_the_shim(shim, number):
    process = shim("--", "sh", "-c", "echo ready; exec sleep 100")
    process.wait_ready()
    engine = process.engine()
    process.send(number)
    eventually(lambda: stat_of(engine)[1] == "T", "the engine is stopped")
    assert stat_of(process.pid)[1] != "T"
    process.send(signal.SIGCONT)
    eventually(lambda: stat_of(engine)[1] == "S", "the engine goes on")


@pytest.mark.parametrize("rules,sent,seen", [
    (["15:3"], 15, 3),
    (["TERM:USR1"], 15, 10),
    (["SIGHUP:SIGQUIT", "QUIT:HUP"], 1, 3),
    (["SIGHUP:SIGQUIT", "QUIT:HUP"], 3, 1),
    (["1:31", "31:1"], 31, 1),
    (["10:0"], 10, None),
    (["6:6"], 6, 6),
    (["TSTP:TERM"], 20, 15),
])
def test_rewrite_is_applied_once(shim, rules, sent, seen):
    options = [word for rule in rules for word in ("--rewrite", rule)]
    process = shim(*options, "--", helper("print_signals"))
    process.wait_ready()
    process.send(sent)
    process.send(LAST)
    assert lines_to(process, LAST) == ([] if seen is None else [seen]) + [LAST]


@pytest.mark.parametrize("rules", [[], ["-r", "15:3"], ["-r", "1:0"], ["-r", "10:12"]])
@pytest.mark.parametrize("number", [1, 10, 12, 15, 28])
def test_forwarding_and_rewriting_are_those_of_dumb_init(rules, number):
    def run(program, arguments):
        words = [*arguments, helper("print_signals"), str(int(PWR)), "7"]
        process = ShimProcess(words, program=[program])
        try:
            process.wait_ready()
            process.send(number)
            process.send(PWR)
            return lines_to(process, PWR), process.wait()
        finally:
            process.kill()

    ours = [rule.replace("-r", "--rewrite") for rule in rules]
    theirs = run(DUMB_INIT, [*rules, "--"])
    assert theirs[1] == 7
    assert run(SHIM, [*ours, "--"]) == theirs


DEAF = ("sh", "-c", "trap '' USR1; echo ready; exec sleep 100")


def flood(process):
    """And a stop; when that was sent."""
    process.wait_ready()
    for _ in range(20000):
        process.send(signal.SIGUSR1)
    sent = monotonic_ms()
    process.send(signal.SIGTERM)
    return sent


def test_flood_of_signals_does_not_delay_a_stop(shim):
    def took():
        process = shim("--", *DEAF)
        sent = flood(process)
        assert process.wait() == 128 + signal.SIGTERM
        return monotonic_ms() - sent

    in_time(took, 1000)


def test_flood_of_signals_does_not_delay_the_report_of_a_stop(supervised, supervisor):
    boss = supervisor()

    def took():
        process = supervised(*DEAF)
        sent = flood(process)
        line = boss.expect("signal", name="TERM")
        boss.send({"op": "exit", "code": 0})
        assert process.wait() == 0
        return line["(at)"] - sent

    in_time(took, 1000)
