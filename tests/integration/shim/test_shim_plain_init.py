"""Without a socket: an init like tini, and compared with it where they agree."""

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys

import pytest
from fake_supervisor import monotonic_ms
from in_time import in_time
from known_process import descendants_of, end_of, is_alive, stat_of
from shim_process import (
    SHIM, ShimProcess, eventually, helper, prefix_of, status_field,
)  # fmt: skip

TINI = "/usr/bin/tini"


@pytest.mark.parametrize("code", [0, 1, 2, 32, 64, 126, 127, 128, 200, 254, 255])
def test_code_of_the_command_is_passed_on(shim, code):
    assert shim("--", helper("fast_exit"), code).wait() == code


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGQUIT, signal.SIGSEGV, signal.SIGKILL,
                                    signal.SIGTERM])
def test_signal_that_ends_the_command_is_128_plus_its_number(shim, number):
    assert shim("--", helper("fast_exit"), -number).wait() == 128 + number


@pytest.mark.parametrize("command,code", [
    ([helper("fast_exit"), 9], 9),
    ([helper("fast_exit"), -9], 137),
    ([helper("fast_exit"), -15], 143),
    (["/no/such/command"], 127),
    (["no-such-command-in-path"], 127),
    (["/etc/passwd"], 126),
    (["/etc"], 126),
])
def test_codes_are_those_of_tini(command, code):
    ours = ShimProcess(["--", *command])
    theirs = subprocess.run([TINI, "-s", "--", *map(str, command)], check=False,
                            stderr=subprocess.DEVNULL)
    assert ours.wait() == code
    assert theirs.returncode % 256 == code % 256


@pytest.mark.parametrize("command,text", [
    ("/no/such/command", "No such file or directory"),
    ("/etc/passwd", "Permission denied"),
    ("/etc", "Is a directory"),
])
def test_command_that_cannot_run_is_one_line_with_the_reason(shim, command, text):
    process = shim("--", command)
    assert process.wait() in (126, 127)
    assert process.stderr() == f"lastcall-shim: cannot run {command}: {text}\n"


def test_streams_pass_through_byte_for_byte(shim):
    data = bytes(range(256)) * 4096
    process = shim("--", "cat", stdin=subprocess.PIPE)
    out, err = process.process.communicate(data, timeout=20)
    assert out == data and err == b""
    assert process.wait() == 0


def test_script_on_stdin_reaches_a_shell(shim):
    process = shim("--", "sh", stdin=subprocess.PIPE)
    out, err = process.process.communicate(b"echo out; echo err >&2; exit 5\n", timeout=20)
    assert (process.wait(), out, err) == (5, b"out\n", b"err\n")


def test_hundred_orphans_are_reaped_when_they_end(shim):
    def took():
        process = shim("--", helper("orphan_maker"), 100)
        process.wait_ready()
        engine = process.engine()
        for orphan in set(process.tree()) - {engine}:
            with contextlib.suppress(ProcessLookupError):
                end_of(orphan)
        ended = monotonic_ms()
        eventually(lambda: len(process.tree()) == 1, "only the engine is left, and no zombie", 15)
        reaped = monotonic_ms()
        process.send(signal.SIGTERM)
        assert process.wait() == 0
        return reaped - ended

    in_time(took, 2000)


def test_orphan_from_outside_is_reaped_and_changes_nothing(shim):
    process = shim("--", "sh", "-c", "echo ready; exec sleep 100")
    process.wait_ready()
    if process.mode == "pid1":
        subprocess.run(["nsenter", "-t", str(process.pid), "-p", "sh", "-c", "sleep 0.1 &"],
                       check=True)
    else:
        pytest.skip("only a PID namespace adopts strangers")
    eventually(lambda: len(process.tree()) == 1, "the stranger is gone")
    assert process.process.poll() is None


def test_child_that_was_there_before_the_shim_is_reaped_and_ignored(shim):
    script = 'sleep 0.1 & exec "$0" -- sh -c "echo ready; exec sleep 100"'
    process = shim(SHIM, program=["sh", "-c", script])
    process.wait_ready()
    eventually(lambda: len(process.tree()) == 1, "the inherited child is gone")
    assert process.process.poll() is None


def test_child_that_ended_before_the_shim_is_reaped_too(shim):
    launcher = """if True:
        import os, sys
        child = os.fork() or os._exit(0)
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        os.execv(sys.argv[1], sys.argv[1:])
    """
    process = shim(SHIM, "--", "sh", "-c", "echo ready; exec sleep 100",
                   program=[sys.executable, "-c", launcher])  # fmt: skip
    process.wait_ready()
    eventually(lambda: len(process.tree()) == 1, "the zombie is gone")


def test_descendants_do_not_outlive_the_command(shim):
    process = shim("--", helper("stdout_holder"))
    process.wait_ready()
    assert len(process.survivors()) == 2
    process.send(signal.SIGTERM)
    assert process.wait() == 0
    eventually(lambda: not process.survivors(), "nothing is left")


def test_pdeathsig_of_setpriv_stops_it_with_its_launcher():
    """What tini has -p for: on a plain host nothing else shows that the launcher was killed."""
    engine = [helper("print_signals"), str(int(signal.SIGTERM))]  # which ends it
    started = ["setpriv", "--pdeathsig", "TERM", SHIM, "--", *engine]
    launcher = subprocess.Popen(["sh", "-c", '"$@" & wait', "sh", *started],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert launcher.stdout.readline() == b"ready\n"
    tree = list(descendants_of(launcher.pid))
    assert len(tree) == 2
    launcher.kill()
    launcher.wait()
    assert launcher.stdout.readline() == b"15\n"
    eventually(lambda: not any(map(is_alive, tree)), "nothing is left")


def rounds_of(mode, *command, code):
    """Runs it under a shim again and again; a thousand times where that costs no namespaces. A
    shell does it: a start from Python costs ten times as much."""
    rounds, prefix = 1000 if mode == "subreaper" else 30, prefix_of(mode)
    loop = f"""i=0; while [ $i -lt {rounds} ]; do
      "$@"; got=$?; [ $got = {code} ] || {{ echo "round $i: $got"; exit 1; }}; i=$((i+1)); done"""
    return subprocess.run(["sh", "-c", loop, "sh", *prefix, SHIM, "--", *command], check=False,
                          capture_output=True, text=True, timeout=120)


@pytest.mark.plain_build
def test_fast_exit_is_seen_every_time(mode):
    done = rounds_of(mode, helper("fast_exit"), "77", code=77)
    assert done.returncode == 0, done.stdout


@pytest.mark.plain_build
def test_engine_that_ends_with_its_children_in_one_moment_is_seen_every_time(mode):
    done = rounds_of(mode, helper("ends_together"), code=3)
    assert done.returncode == 0, done.stdout


def bits(*numbers):
    return sum(1 << (number - 1) for number in numbers)


def read_status(process, *fields):
    return {field: status_field(process.engine(), field) for field in fields}


def test_engine_gets_the_mask_and_the_ignored_signals_that_the_shim_was_started_with(shim):
    def odd():
        signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGUSR2, signal.SIGWINCH})
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)

    process = shim("--", "sleep", "100", preexec_fn=odd)
    eventually(lambda: stat_of(process.engine())[0] == "sleep", "the engine runs")
    status = read_status(process, "SigBlk", "SigIgn")
    assert int(status["SigBlk"], 16) == bits(signal.SIGUSR2, signal.SIGWINCH)
    assert int(status["SigIgn"], 16) == bits(signal.SIGHUP, signal.SIGUSR1)


def test_status_is_collected_where_the_parent_ignores_child_signals(shim):
    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)

    if shim("--", "true").mode == "pid1":
        pytest.skip("unshare itself loses its child's status then")
    process = shim("--", "sh", "-c", "grep SigIgn /proc/self/status; exit 9", preexec_fn=ignore)
    assert process.wait() == 9
    assert process.read_line().split() == ["SigIgn:", "0" * 16]


def test_engine_has_only_the_standard_descriptors_and_the_shim_none_of_the_engine(shim):
    with open("/dev/null", "rb") as extra:
        os.set_inheritable(extra.fileno(), True)
        process = shim("--", "sh", "-c", "echo ready; exec sleep 100", close_fds=False)
        process.wait_ready()
    engine = process.engine()
    eventually(lambda: stat_of(engine)[0] == "sleep", "the engine runs")
    assert sorted(os.listdir(f"/proc/{engine}/fd")) == ["0", "1", "2"]
    links = {fd: os.readlink(f"/proc/{process.pid}/fd/{fd}")
             for fd in os.listdir(f"/proc/{process.pid}/fd") if int(fd) > 2}
    assert all(link.startswith("anon_inode:") for link in links.values()), links


def test_closed_standard_descriptors_stay_closed_for_the_engine(shim):
    if shim("--", "true").mode == "pid1":
        pytest.skip("unshare opens files of its own")
    process = shim("--", "sleep", "100", preexec_fn=lambda: os.close(0))
    eventually(lambda: stat_of(process.engine())[0] == "sleep", "the engine runs")
    assert sorted(os.listdir(f"/proc/{process.engine()}/fd")) == ["1", "2"]


def test_shim_leaves_its_directory_and_the_engine_starts_in_it(shim, tmp_path):
    process = shim("--", "sh", "-c", "echo ready; exec sleep 100", cwd=tmp_path)
    process.wait_ready()
    assert os.readlink(f"/proc/{process.pid}/cwd") == "/"
    assert os.readlink(f"/proc/{process.engine()}/cwd") == str(tmp_path)


def test_relative_command_is_found_from_the_directory_of_the_start(shim, tmp_path):
    script = tmp_path / "engine.sh"
    script.write_text("#!/bin/sh\nexit 21\n")
    script.chmod(0o755)
    assert shim("--", "./engine.sh", cwd=tmp_path).wait() == 21


def test_engine_leads_its_own_session(shim):
    process = shim("--", "sh", "-c", "echo ready; exec sleep 100")
    process.wait_ready()
    engine = process.engine()
    assert stat_of(engine)[3] == engine


def test_shell_on_a_terminal_has_job_control(shim):
    master, slave = pty.openpty()
    def own_terminal():
        os.setsid()
        os.close(os.open(os.ttyname(slave), os.O_RDWR))
    process = shim("--tty", "--", "bash", "--norc", "-im", stdin=slave, stdout=slave, stderr=slave,
                   preexec_fn=own_terminal)
    os.close(slave)
    seen = b""

    def type_and_await(text, answer):
        nonlocal seen
        os.write(master, text)
        def arrived():
            nonlocal seen
            if select.select([master], [], [], 0)[0]:
                seen += os.read(master, 4096)
            return answer in seen
        eventually(arrived, f"{answer!r} on the terminal")

    type_and_await(b"echo re''ady\n", b"ready")
    assert b"no job control" not in seen
    type_and_await(b"sleep 100; echo st''opped $?\n", b"sleep 100")
    eventually(lambda: "sleep" in [facts.name for facts in process.tree().values()], "sleep runs")
    type_and_await(b"\x03", b"^C")
    type_and_await(b"\nexit 12\n", b"exit")
    assert process.wait() == 12
    os.close(master)


@pytest.mark.parametrize("error", ["EPERM", "ENOSYS"])
def test_refused_system_calls_change_nothing(shim, error):
    with open("/dev/null", "rb") as extra:
        os.set_inheritable(extra.fileno(), True)
        process = shim(SHIM, "--", "sh", "-c",
                       "echo ready; exec sleep 100",
                       program=[helper("deny_syscalls"), error], close_fds=False)
        process.wait_ready()
    eventually(lambda: stat_of(process.engine())[0] == "sleep", "the engine runs")
    assert sorted(os.listdir(f"/proc/{process.engine()}/fd")) == ["0", "1", "2"]
    process.send(signal.SIGTERM)
    assert process.wait() == 143
