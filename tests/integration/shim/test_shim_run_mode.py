"""With --serve: the supervisor is a child of the shim, and outlives everything but the shim."""

import os
import signal
import sys

import pytest
from in_time import in_time
from known_process import is_alive
from shim_process import elapsed, eventually, helper

FAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_supervisor.py")


@pytest.fixture
def run_mode(shim, socket_path, tmp_path):
    """Starts `shim --serve FAKE ... -- COMMAND`; `marks` gets a line at each start of FAKE."""
    marks = tmp_path / "marks"

    def start(*command, serve_args=(), options=(), **popen):
        arguments = [FAKE, socket_path, str(marks), *serve_args]
        words = [word for argument in arguments for word in ("--serve-arg", argument)]
        process = shim("--socket", socket_path, "--serve", sys.executable, *words, *options, "--",
                       *command, **popen)
        process.marks = lambda: marks.read_text().splitlines() if marks.exists() else []
        return process

    return start


def serve_pid(process):
    """The supervisor's number in our namespace."""
    def find():
        return [pid for pid, facts in process.tree().items()
                if facts.name.startswith("python") and facts.state != "Z"
                and facts.parent == process.pid]

    return eventually(find, "the supervisor runs")[0]


def test_supervisor_is_started_before_the_engine_and_starts_it(run_mode):
    process = run_mode("sh", "-c", "echo ready; exec sleep 100")
    process.wait_ready()
    pid, session, stdin, same_output = process.marks()[0].split()
    assert pid == session, "its own session"
    assert stdin == "/dev/null" and same_output == "True"


def test_stop_in_one_container_from_signal_to_exit(run_mode):
    process = run_mode(helper("print_signals"), "15", "3")
    process.wait_ready()
    process.send(signal.SIGTERM)
    assert process.wait() == 0
    assert process.read_line() == "15"
    eventually(lambda: not process.survivors(), "nothing is left")


def test_engine_that_is_killed_ends_everything_with_code_1(run_mode):
    process = run_mode("sh", "-c", "echo ready; exec sleep 100")
    process.wait_ready()
    engine = eventually(lambda: [p for p, s in process.tree().items() if s.name == "sleep"],
                        "sleep")  # fmt: skip
    os.kill(engine[0], signal.SIGKILL)
    assert process.wait() == 1
    eventually(lambda: not process.survivors(), "nothing is left")


def test_supervisor_that_crashes_is_started_again_and_the_engine_goes_on(run_mode):
    process = run_mode("sh", "-c", "echo ready; exec sleep 100", serve_args=["--crash", "2"])
    process.wait_ready()
    eventually(lambda: len(process.marks()) == 2, "it was started again")
    process.send(signal.SIGTERM)
    assert process.wait() == 0


def test_stop_during_the_pause_before_a_restart_starts_it_at_once_and_the_drain_goes_on(run_mode):
    def until_started():
        process = run_mode(helper("print_signals"), "15", "0", options=["--grace", "30s"])
        process.wait_ready()
        before = len(process.marks()) - 1  # of an earlier measurement
        for count in range(before + 1, before + 6):  # the pause doubles to 1.6 s
            eventually(lambda n=count: len(process.marks()) >= n, "it was started")
            os.kill(serve_pid(process), signal.SIGKILL)
            eventually(lambda: not any(facts.name.startswith("python")
                                       for facts in process.tree().values()), "it is gone")
        _, took = elapsed(lambda: (
            process.send(signal.SIGTERM),
            eventually(lambda: len(process.marks()) == before + 6, "it was started")))
        assert process.wait() == 0
        return took

    in_time(until_started, 1400)


def test_walks_of_the_tree_spare_the_supervisor(run_mode):
    process = run_mode(helper("setsid_worker"))
    process.wait_ready()
    serve = serve_pid(process)
    engine_tree = {p: s for p, s in process.tree().items() if s.name == "setsid_worker"}
    assert len(engine_tree) == 2
    main = [p for p, facts in engine_tree.items() if facts.parent == process.pid][0]
    os.kill(main, signal.SIGKILL)
    assert process.wait() == 1, "the code is the supervisor's: it lived to give it"
    eventually(lambda: not any(map(is_alive, [*engine_tree, serve])), "nothing is left")


def test_supervisor_that_does_not_end_is_killed_when_the_shim_leaves(run_mode):
    process = run_mode(helper("print_signals"), "15", "0", serve_args=["--linger"])
    process.wait_ready()
    serve = serve_pid(process)
    process.send(signal.SIGTERM)
    assert process.wait() == 0
    eventually(lambda: not is_alive(serve), "nothing is left")


def test_stop_before_the_start_is_code_0_and_leaves_nothing(shim, socket_path):
    process = shim("--socket", socket_path, "--serve", "/bin/sleep", "--serve-arg", "100", "--",
                   "echo", "ready")
    process.is_ready()
    eventually(process.tree, "the supervisor runs")
    process.remember_tree()
    process.send(signal.SIGTERM)
    assert process.wait() == 0
    assert process.process.stdout.read() == b""
    eventually(lambda: not process.survivors(), "nothing is left")


@pytest.mark.parametrize("program,code", [("/no/such/lastcall", 127), ("/etc/passwd", 126)])
def test_supervisor_that_cannot_run_is_reported_at_once(shim, socket_path, program, code):
    process = shim("--socket", socket_path, "--serve", program, "--", "echo", "ready")
    assert process.wait() == code
    assert f"cannot start the supervisor {program}" in process.stderr()
    assert process.process.stdout.read() == b""


def serve_script(shim, socket_path, script, *command, options=()):
    """A shim whose supervisor is this shell script."""
    return shim("--socket", socket_path, "--serve", "/bin/sh", "--serve-arg=-c", "--serve-arg",
                script, *options, "--", *command)


@pytest.mark.parametrize("code", [1, 2])
def test_supervisor_that_reports_that_it_cannot_run_is_believed(shim, socket_path, code):
    process = serve_script(shim, socket_path, f"exit {code}", "echo", "ready",
                           options=["--supervisor-timeout", "1h"])
    assert process.wait() == code
    assert f"the supervisor cannot run, and ended with code {code}" in process.stderr()
    assert process.process.stdout.read() == b""


@pytest.mark.parametrize("end", ["kill -9 $$", "exit 3"])
def test_supervisor_that_crashes_before_anything_else_is_started_again(
    shim, socket_path, tmp_path, end
):
    once = tmp_path / "once"
    process = serve_script(
        shim, socket_path, f"test -e {once} || {{ : > {once}; {end}; }}; exec sleep 100",
        "sh", "-c", "echo ready; exec sleep 100", options=["--supervisor-timeout", "2s"],
    )  # fmt: skip
    process.wait_ready()
    assert "starting it again in 100 ms" in process.await_log("starting it without")


def test_refusal_of_a_later_life_ends_nothing(shim, socket_path, tmp_path):
    starts = tmp_path / "starts"
    process = serve_script(
        shim, socket_path, f"echo >> {starts}; test $(wc -l < {starts}) = 1 && kill -9 $$; exit 2",
        "sh", "-c", "echo ready; exec sleep 100", options=["--supervisor-timeout", "2s"],
    )  # fmt: skip
    process.wait_ready()
    assert process.process.poll() is None


def test_stop_before_a_refusal_is_code_0(shim, socket_path):
    process = serve_script(shim, socket_path, "trap 'exit 2' TERM; echo up >&2; sleep 100 & wait",
                           "echo", "ready")
    process.await_log("up")
    process.send(signal.SIGTERM)
    assert process.wait() == 0
    assert process.process.stdout.read() == b""


def test_supervisor_that_ends_right_after_its_order_to_exit_has_not_crashed(run_mode):
    for _ in range(5):
        process = run_mode(helper("print_signals"), "15", "3")
        process.wait_ready()
        process.send(signal.SIGTERM)
        assert process.wait() == 0
        log = process.stderr()
        assert "starting it again" not in log, log


def test_supervisor_that_was_started_again_a_moment_before_the_end_is_ended_too(run_mode):
    # The engine is gone and so is the supervisor: at that moment the shim has no child at all.
    process = run_mode("sh", "-c", "echo ready; exec sleep 100",
                       options=["--grace", "2s"], serve_args=["--crash", "100"])
    process.wait_ready()
    process.send(signal.SIGTERM)
    process.wait(30)
    eventually(lambda: not process.survivors(), "nothing is left")


@pytest.mark.plain_build
@pytest.mark.parametrize("frozen", [1, 2], ids=["the first", "the one after a crash"])
def test_supervisor_that_freezes_before_it_listens_is_killed_and_started_again(
    shim, socket_path, tmp_path, frozen
):
    starts = tmp_path / "starts"
    fake = f"exec {sys.executable} {FAKE} {socket_path} {tmp_path}/marks"
    process = serve_script(
        shim, socket_path,
        f"echo $$ >> {starts}; n=$(wc -l < {starts}); test $n = {frozen} && kill -STOP $$; "
        f"test $n -lt {frozen} && kill -9 $$; {fake}",
        "sh", "-c", "echo ready; exec sleep 100", options=["--supervisor-timeout", "100ms"],
    )  # fmt: skip
    process.wait_ready()
    _, took = elapsed(lambda: eventually(lambda: len(starts.read_text().split()) == frozen + 1,
                                         "a next one", 60))
    assert took >= 15000, "longer than any liveness limit"
    eventually(lambda: (tmp_path / "marks.hello").exists(), "the next one serves")
    process.send(signal.SIGTERM)
    assert process.wait() == 0
    eventually(lambda: not process.survivors(), "nothing is left")


@pytest.mark.plain_build
def test_supervisor_that_answers_nothing_is_killed_and_started_again(run_mode):
    process = run_mode("sh", "-c", "echo ready; exec sleep 100")
    process.wait_ready()
    frozen = serve_pid(process)
    os.kill(frozen, signal.SIGSTOP)
    _, took = elapsed(lambda: eventually(lambda: len(process.marks()) == 2, "a next one", 60))
    assert took >= 19000, "longer than any liveness limit"
    assert not is_alive(frozen)
    eventually(lambda: serve_pid(process) != frozen, "the next one")
    process.remember_tree()
    process.send(signal.SIGTERM)
    assert process.wait() == 0
    eventually(lambda: not process.survivors(), "nothing is left")
