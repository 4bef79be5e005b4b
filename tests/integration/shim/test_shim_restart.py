"""--restart: PID 1 of the supervisor's own container starts `serve` again after a crash."""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from known_process import is_alive
from shim_process import SHIM, elapsed, eventually

SCRIPT = """#!/bin/sh
echo "$$ $*" >>"$MARKS"
eval "$LIFE"
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "lastcall"
    path.write_text(SCRIPT)
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def restarted(shim, program, tmp_path):
    """Starts `shim --restart PROGRAM WORDS`; each life of it runs this shell text."""
    marks = tmp_path / "marks"

    def start(life, *words, **popen):
        process = shim("--restart", program, *(words or ("serve",)),
                       env={**os.environ, "LIFE": life, "MARKS": str(marks)}, **popen)
        process.lives = lambda: marks.read_text().splitlines() if marks.exists() else []
        return process

    return start


def child_of(process):
    return eventually(lambda: [p for p, s in process.tree().items() if s.name == "sleep"],
                      "a life")[0]


def in_a_long_pause(process):
    """The fifth lasts for 1.6 s; a life that has begun, or not ended yet, would get the signal."""
    process.await_log("after a pause", times=5)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_crash_is_followed_by_another_start_at_once(restarted, number):
    process = restarted("exec sleep 100")
    os.kill(child_of(process), number)
    eventually(lambda: len(process.lives()) == 2, "a second life")
    again = child_of(process)
    process.send(signal.SIGTERM)
    assert process.wait() == 128 + 15
    assert not is_alive(again)
    log = process.stderr()
    assert "starting it again" in log and "after a pause" not in log


def test_code_that_is_no_crash_is_the_end(restarted):
    assert restarted("exit 0").wait() == 0
    process = restarted("exit 2")
    assert process.wait() == 2
    assert len(process.lives()) == 2, "one of each"


def test_crash_loop_pauses_from_the_second_time_on(restarted):
    process = restarted("exit 1")
    _, took = elapsed(lambda: eventually(lambda: len(process.lives()) >= 4, "four lives"))
    assert took >= 250, "0, 100 and 200 ms"
    in_a_long_pause(process)
    process.send(signal.SIGTERM)
    assert process.wait() == 1, "what the last life said"


def test_stop_in_a_pause_is_the_end(restarted):
    process = restarted("exit 7")
    in_a_long_pause(process)
    process.send(signal.SIGTERM)
    assert process.wait() == 7


@pytest.mark.parametrize("life,code", [
    ("trap 'exit 5' TERM; sleep 100 & wait", 5),
    ("trap 'kill -9 $$' TERM; sleep 100 & wait", 137),
])
def test_nothing_is_started_again_after_its_own_term(restarted, life, code):
    process = restarted(life)
    child_of(process)
    process.is_ready()
    process.send(signal.SIGTERM)
    assert process.wait() == code
    assert len(process.lives()) == 1


def test_other_signals_are_forwarded_and_end_nothing(restarted):
    process = restarted("trap 'echo hup; exit 3' HUP; echo ready; sleep 100 & wait")
    process.wait_ready()
    process.send(signal.SIGHUP)
    assert process.read_line() == "hup"
    eventually(lambda: len(process.lives()) == 2, "it crashed of it, and lives again")


def test_other_commands_end_as_they_do(restarted):
    process = restarted("exit 1", "check", "--strict")
    assert process.wait() == 1
    assert [line.split(maxsplit=1)[1] for line in process.lives()] == ["check --strict"]


def test_arguments_may_follow_two_dashes(restarted):
    process = restarted("exit 0", "--", "serve", "--config", "a b")
    assert process.wait() == 0
    assert [line.split(maxsplit=1)[1] for line in process.lives()] == ["serve --config a b"]


def test_directory_is_that_of_the_first_life(restarted, tmp_path):
    process = restarted("pwd; sleep 100", cwd=tmp_path)
    for _ in range(3):
        assert process.read_line() == str(tmp_path)
        os.kill(child_of(process), signal.SIGKILL)


def test_program_that_does_not_exist_is_code_127(shim):
    assert shim("--restart", "/nowhere/lastcall", "serve").wait() == 127


def test_it_takes_no_socket(shim, socket_path):
    process = shim("--restart", "/bin/true", "--socket", socket_path, "serve")
    assert process.wait() == 2
    assert "--restart: takes no --socket" in process.stderr()


def test_process_of_the_same_user_reads_no_secret_of_it():
    """In a pod with one PID namespace the engine sees the sidecar's PID 1 beside it."""
    user = {"user": 65532, "group": 65532} if os.geteuid() == 0 else {}
    folder = tempfile.mkdtemp(dir="/tmp")
    process = None
    try:
        os.chmod(folder, 0o755)
        shim, program = shutil.copy(SHIM, folder), Path(folder, "lastcall")
        program.write_text("#!/bin/sh\nexec sleep 100\n")
        program.chmod(0o755)
        process = subprocess.Popen([shim, "--restart", program, "serve"], cwd="/", **user,
                                   env={"LASTCALL_ETCD_PASSWORD": "s3cret"})  # fmt: skip
        children = f"/proc/{process.pid}/task/{process.pid}/children"
        eventually(lambda: Path(children).read_text(), "a life")
        for path in ("environ", "root/etc/hostname", "mem"):
            look = ["cat", f"/proc/{process.pid}/{path}"]
            done = subprocess.run(look, capture_output=True, text=True, timeout=20, **user)
            assert done.returncode == 1 and "Permission denied" in done.stderr, path
    finally:
        if process:
            process.terminate()
            process.wait(20)
        shutil.rmtree(folder)
