"""A supervisor that refuses the shim, and lines that the system does not send."""

import pathlib
import tempfile

import pytest
from fake_supervisor import WELCOME
from shim_process import SHIM, eventually, helper

REFUSAL = {"op": "error", "code": "not_allowed", "message": "not you"}


@pytest.fixture
def logged(shim, socket_path, tmp_path):
    """Starts a shim; gives all lines that it has written so far."""
    path = tmp_path / "log"
    with open(path, "wb") as log:
        shim("--socket", socket_path, "--", "sleep", "100", stderr=log)
    return lambda: path.read_text().splitlines()


def test_refusal_is_logged_once_and_again_after_a_welcome(supervisor, logged):
    boss = supervisor(welcome=REFUSAL, start=False)

    def answer(message, times):
        boss.welcome = message
        for _ in range(times):
            boss.expect("hello")
            boss.drop()

    def refusals():
        return [line.split('"')[1] for line in logged() if "answers with error" in line]

    answer(REFUSAL, 4)
    answer({**REFUSAL, "code": "conflict"}, 4)
    assert refusals() == ["not_allowed", "conflict"]
    answer(WELCOME, 2)
    answer(REFUSAL, 4)
    assert refusals() == ["not_allowed", "conflict", "not_allowed"]


def test_another_version_is_logged_once(supervisor, logged):
    boss = supervisor(welcome={**WELCOME, "version": 2}, start=False)
    eventually(lambda: boss.connections >= 4, "it has tried again and again")
    assert sum("speaks another version" in line for line in logged()) == 1


def test_line_that_the_system_does_not_send_ends_the_connection_and_is_in_the_next_hello(
    shim, socket_path, supervisor
):
    boss = supervisor(start=False)
    shim("--socket", socket_path, "--", "sleep", "100",
         program=[helper("deny_syscalls"), "ENOBUFS", SHIM])  # fmt: skip
    boss.expect("hello")
    boss.send({"op": "remember", "blob": "kept", "seq": 1})
    boss.expect("(closed)")
    assert boss.expect("hello")["blob"] == "kept"


def test_reason_why_nobody_can_be_reached_is_logged_each_time_it_changes(shim, tmp_path):
    place = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))  # where another user may look
    path = str(place / "l.sock")
    log = tmp_path / "log"
    with open(log, "wb") as file:
        shim("--socket", path, "--", "sleep", "100", stderr=file,
             program=["setpriv", "--reuid", "65534", "--clear-groups", SHIM])

    def reasons():
        return [line.split(f"{path} ")[1] for line in log.read_text().splitlines()
                if "cannot reach the supervisor" in line]

    denied = "as uid 65534: Permission denied"
    eventually(lambda: reasons() == [denied], "why")
    place.chmod(0o755)
    missing = "as uid 65534: No such file or directory"
    eventually(lambda: reasons() == [denied, missing], "another reason")
    place.chmod(0)
    eventually(lambda: reasons() == [denied, missing, denied], "the first one again")
    place.rmdir()


def test_socket_of_a_supervisor_that_is_still_starting_is_no_news(supervised, supervisor):
    process = supervised("sleep", "100")
    process.is_ready()
    boss = supervisor()
    boss.expect("engine.started")
    process.send(15)
    boss.send({"op": "exit", "code": 0})
    assert process.wait() == 0
    assert "cannot reach" not in process.stderr()
