"""Commands that do not run, ends at the worst moment, bursts of signals: nothing is left."""

import os
import random
import signal
import socket
import subprocess
import sys
import time

import pytest
from serve_peer import PATIENCE, wait_until
from serve_world import LASTCALL, REFUSED, SLEEPER

# A short run has one kind of refusal: where a call is refused, lastcall does what it does for the
# other kind. A long run has both.
LONG = bool(os.environ.get("LASTCALL_TEST_LONG"))
REFUSALS = REFUSED if LONG else REFUSED[1:]
pytestmark = pytest.mark.parametrize("world", [None, *REFUSALS], indirect=True,
                                     ids=["all calls", *REFUSALS])  # fmt: skip


def leaves_nothing(one, process, code):
    """No process of its tree, zombies included, no socket file, no socket in any hands."""
    assert process.wait(timeout=PATIENCE) == code, one.log()
    wait_until(lambda: not one.processes_left(), "no process is left")
    for path in (one.socket, one.admin_socket):
        assert not os.path.exists(path), path
    with open("/proc/net/unix") as file:
        assert not [line for line in file if one.directory in line]


def serving(one):
    one.wait_for_log('"phase begun","phase":"serving"')


# --- commands that do not run


@pytest.fixture
def no_program(tmp_path):
    path = tmp_path / "engine"
    path.write_text("#!/bin/sh\n")
    return str(path)


def test_a_command_that_is_missing_leaves_nothing(world):
    one = world()
    leaves_nothing(one, one.run("/no/such/engine"), 127)
    assert one.log().count("/no/such/engine") == 1


def test_a_command_that_is_not_executable_leaves_nothing(world, no_program):
    one = world()
    os.chmod(no_program, 0o644)
    leaves_nothing(one, one.run(no_program), 126)


def test_a_command_that_is_a_directory_leaves_nothing(world, tmp_path):
    one = world()
    leaves_nothing(one, one.run(str(tmp_path)), 126)


def test_a_command_whose_interpreter_is_missing_leaves_nothing(world, no_program):
    one = world()
    with open(no_program, "w") as file:
        file.write("#!/no/such/interpreter\n")
    os.chmod(no_program, 0o755)
    leaves_nothing(one, one.run(no_program), 127)


# --- ends at the worst moment


@pytest.mark.parametrize("script", ["exit 0", "exit 3", "kill -KILL $$", "kill -SEGV $$"])
def test_an_engine_that_ends_at_once_is_fatal_and_leaves_nothing(world, script):
    one = world()
    leaves_nothing(one, one.run("/bin/sh", "-c", script), 1)
    assert one.report()["cause"] == "engine_exited"


def test_an_engine_that_dies_while_it_loads_is_fatal_and_leaves_nothing(world):
    one = world(health={"checks": [{"name": "never", "exec": {"command": ["/bin/false"]}}]})
    run = one.run(*SLEEPER)
    one.wait_for_log("engine started")
    one.wait_for_phase("starting")
    os.kill(one.status()["engine"]["pid"], signal.SIGKILL)
    leaves_nothing(one, run, 1)


@pytest.mark.parametrize("work", [0, 1], ids=["idle", "with work"])
def test_an_engine_that_dies_in_the_drain_is_clean_only_when_it_was_idle(world, work):
    one = world(shutdown={"deregister_timeout": "20s", "grace_period": "60s"},
                discovery=[{"ipc": {}}])  # fmt: skip
    run = one.run(*SLEEPER)
    peer = one.peer()
    peer.ask("endpoint.register", endpoint="generate")
    for number in range(work):
        peer.ask("request.begin", id=f"r{number}", endpoint="generate")
    serving(one)
    run.send_signal(signal.SIGTERM)
    peer.expect("deregister")
    os.kill(one.status()["engine"]["pid"], signal.SIGKILL)
    leaves_nothing(one, run, 1 if work else 0)
    assert one.report()["cause"] == "signal"


def test_an_engine_that_dies_while_cleaning_up_is_still_a_clean_stop(world):
    one = world()
    hook = f": > {one.path('hook')}; exec sleep 3600"
    one.config["cleanup"] = {"hooks": [{"name": "slow", "command": ["/bin/sh", "-c", hook]}]}
    run = one.run(*SLEEPER)
    one.peer().ask("endpoint.register", endpoint="generate")
    serving(one)
    engine = one.status()["engine"]["pid"]
    run.send_signal(signal.SIGTERM)
    wait_until(lambda: os.path.exists(one.path("hook")), "the hook runs")
    os.kill(engine, signal.SIGKILL)
    leaves_nothing(one, run, 0)


# --- signals in a burst


def test_term_twice_and_int_while_it_loads_is_one_stop(world):
    one = world(health={"checks": [{"name": "never", "exec": {"command": ["/bin/false"]}}]})
    run = one.run(*SLEEPER)
    one.wait_for_log("engine started")
    for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT):
        run.send_signal(number)
    leaves_nothing(one, run, 0)
    assert len(one.reports()) == 1


def test_term_before_anything_has_started_leaves_nothing(world):
    one = world()
    run = one.run(*SLEEPER)
    # From here on its signals are held; before, there is no lastcall that could.
    wait_until(lambda: one.supervisor_pid(), "the shim has started it")
    run.send_signal(signal.SIGTERM)
    leaves_nothing(one, run, 0)


@pytest.mark.timeout(3600 if LONG else 180)
def test_term_in_the_first_milliseconds_leaves_nothing(world):
    """Before its signals are blocked it ends like any program, and has started nothing."""
    one = world()
    chosen = random.Random(14)
    started = one.path("started")
    for _ in range(500 if LONG else 20):
        pause = chosen.uniform(0, 0.02)
        run = one.run("/bin/sh", "-c", f": > {started}; exec sleep 3600")
        due = time.monotonic() + pause
        wait_until(lambda at=due: time.monotonic() >= at, "its moment", pause=0)
        run.send_signal(signal.SIGTERM)
        code = run.wait(timeout=PATIENCE)
        assert code == 0 or (code == -signal.SIGTERM and not os.path.exists(started)), pause
        leaves_nothing(one, run, code)
        if os.path.exists(started):
            os.unlink(started)


@pytest.mark.parametrize("pause", [0, 0.001], ids=["at once", "1 ms apart"])
def test_a_burst_of_stop_signals_while_serving_is_one_stop(world, pause):
    one = world()
    run = one.run(*SLEEPER)
    one.peer().ask("endpoint.register", endpoint="generate")
    serving(one)
    for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
        if run.poll() is None:
            run.send_signal(number)
        wait_until(lambda: True, pause=pause)
    leaves_nothing(one, run, 0)
    assert len(one.reports()) == 1
    assert one.report()["cause"] == "signal"


# --- places that are taken


def test_a_socket_path_that_is_too_long_starts_nothing(world):
    one = world()
    one.config["ipc"]["socket"] = "/tmp/" + "x" * 110 + "/l.sock"
    run = one.run("/bin/touch", one.path("ran"))
    assert run.wait(timeout=PATIENCE) in (1, 2)
    assert "107" in one.log()
    assert not os.path.exists(one.path("ran"))
    wait_until(lambda: not one.processes_left(), "no process is left")


def test_stale_sockets_of_a_killed_run_are_replaced(world):
    one = world()
    for path in (one.socket, one.admin_socket):
        os.makedirs(os.path.dirname(path))
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(path)
    run = one.run(*SLEEPER)
    serving(one)
    run.send_signal(signal.SIGTERM)
    leaves_nothing(one, run, 0)


def test_the_engine_inherits_no_descriptor_of_ours(world):
    one = world()
    listing = one.path("fds")
    script = f"ls -l /proc/self/fd > {listing}.new; mv {listing}.new {listing}; exec sleep 3600"
    run = one.run("/bin/sh", "-c", script)
    serving(one)
    wait_until(lambda: os.path.exists(listing), "the listing")
    with open(listing) as file:
        assert not [line for line in file if "socket:" in line or "anon_inode" in line]
    run.send_signal(signal.SIGTERM)
    leaves_nothing(one, run, 0)


@pytest.mark.parametrize("tty", [False, True])
def test_on_a_terminal_it_explains_what_ctrl_c_does(world, tty):
    one = world(log={"format": "json"})  # as it is where there is no terminal
    words = [LASTCALL, "run", "--config", one.write_config(), *(["--tty"] if tty else []), "--"]
    # `script` gives it a controlling terminal.
    done = subprocess.Popen(
        [sys.executable, "-c", "import pty,sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)",
         *words, *SLEEPER],
        stdin=subprocess.PIPE, stdout=one._log, stderr=one._log, start_new_session=True,
        env={**os.environ, "LASTCALL_TEST": one.directory},
    )  # fmt: skip
    one.processes.append(done)
    one.wait_for_phase("serving")
    assert ("Ctrl-C stops gracefully" in one.log()) is not tty
    assert ("receives Ctrl-C" in one.log()) is tty
    done.stdin.write(b"\x03")
    done.stdin.flush()
    # The message is true: the command's own death by SIGINT is not a graceful stop.
    wait_until(lambda: '"drain report"' in one.log(), "the stop")
    assert ('"cause":"signal"' in one.log()) is not tty
    assert ('"cause":"engine_exited"' in one.log()) is tty
    done.wait(timeout=PATIENCE)
    wait_until(lambda: not one.processes_left(), "no process is left")
