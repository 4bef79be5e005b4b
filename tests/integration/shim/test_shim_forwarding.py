"""Without a socket every signal goes on to the command, once, and rewritten if asked for."""

import ctypes
import os
import platform
import signal

import pytest
from shim_process import SHIM, ShimProcess, eventually, helper, stat_of, status_field

DUMB_INIT = "/usr/bin/dumb-init"
BUS_MCEERR_AO = 5
RT_SIGQUEUEINFO = {"x86_64": 129, "aarch64": 138}[platform.machine()]
libc = ctypes.CDLL(None)
NEVER_SEEN = {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}
TERMINAL_STOPS = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}


@pytest.mark.parametrize("number", [*sorted(set(range(1, 32)) - NEVER_SEEN - TERMINAL_STOPS),
                                    signal.SIGRTMIN + 3])
def test_signal_is_forwarded_once(shim, number):
    process = shim("--", helper("print_signals"))
    process.wait_ready()
    process.send(number)
    process.send(signal.SIGUSR1 if number != signal.SIGUSR1 else signal.SIGUSR2)
    assert str(int(number)) in {process.read_line(), process.read_line()}


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
    process.send(signal.SIGWINCH)
    lines = {process.read_line()}
    if seen is not None:
        lines.add(process.read_line())
        assert str(seen) in lines
    assert lines == {"28"} | ({str(seen)} if seen else set())


@pytest.mark.parametrize("rules", [[], ["-r", "15:3"], ["-r", "1:0"], ["-r", "10:12"]])
@pytest.mark.parametrize("number", [1, 10, 12, 15, 28])
def test_forwarding_and_rewriting_are_those_of_dumb_init(rules, number):
    def run(program, arguments):
        process = ShimProcess([*arguments, helper("print_signals"), "12", "7"], program=[program])
        try:
            process.wait_ready()
            process.send(number)
            if number != 12:
                process.send(12)
            code = process.wait()
            return code, process.process.stdout.read() + process._output
        finally:
            process.kill()

    ours = [rule.replace("-r", "--rewrite") for rule in rules]
    theirs = run(DUMB_INIT, [*rules, "--"])
    assert run(SHIM, [*ours, "--"])[0] == theirs[0]


def test_flood_of_signals_does_not_delay_a_stop(shim):
    process = shim("--", "sh", "-c", "trap '' USR1; echo ready; exec sleep 100")
    process.wait_ready()
    for _ in range(20000):
        process.send(signal.SIGUSR1)
    process.send(signal.SIGTERM)
    assert process.wait() == 128 + signal.SIGTERM
