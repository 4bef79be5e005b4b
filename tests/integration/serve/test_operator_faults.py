"""The operator's subcommands where a supervisor dies, hangs or cannot be reached."""

import json
import os
import signal
import socket
import subprocess

import pytest
from serve_peer import PATIENCE, wait_until
from serve_world import LASTCALL, SLEEPER


def start(*words, redirect=""):
    return subprocess.Popen(
        ["/bin/sh", "-c", f'exec "$@" {redirect}', "sh", LASTCALL, *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def lastcall(*words, redirect=""):
    """Code, output and errors."""
    process = start(*words, redirect=redirect)
    try:
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
    return process.returncode, out, err


# --- a supervisor that dies


@pytest.mark.parametrize("words", [("drain", "--exit", "--wait"), ("status", "--watch")])
def test_a_supervisor_that_dies_in_the_middle_of_a_stop_has_not_stopped_anything(served, words):
    peer = served.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    waiting = start(*words, "--admin-socket", served.admin_socket)
    if "--watch" in words:
        assert lastcall("drain", "--exit", "--admin-socket", served.admin_socket)[0] == 0
    peer.expect("phase", phase="draining")
    line = waiting.stdout.readline()
    while "draining" not in line:
        line = waiting.stdout.readline()
        assert line, "it goes on"
    os.kill(served.supervisor_pid(), signal.SIGKILL)
    out, err = waiting.communicate(timeout=PATIENCE)
    assert waiting.returncode == 1
    assert "stopped" not in out
    assert "lost the supervisor in phase draining" in err and err.count("\n") == 1


def test_a_stop_is_followed_to_its_last_phase_however_fast_it_is(served):
    code, out, err = lastcall(
        "drain", "--exit", "--wait", "-o", "json", "--admin-socket", served.admin_socket
    )
    assert (code, err) == (0, "")
    assert json.loads(out.splitlines()[-1])["phase"] == "exited"
    assert served.process.wait(timeout=PATIENCE) == 0


def test_a_cancel_that_breaks_off_in_the_middle_reports_how_many_ids_were_taken(tmp_path):
    """A supervisor that answers one line of them and is gone."""
    path = str(tmp_path / "admin.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        ids = [f"{i:040}" for i in range(3000)]
        cancel = start("cancel", "--admin-socket", path, *ids)
        connection, _ = listener.accept()
        with connection, connection.makefile("r") as lines:
            lines.readline()
            connection.sendall(b'{"op":"welcome","version":1,"phase":"serving","grace_ms":1,'
                               b'"budgets":{"deregister_ms":1,"late_accept_ms":1,'
                               b'"cleanup_reserve_ms":1,"cancel_settle_ms":1}}\n')  # fmt: skip
            taken = len(json.loads(lines.readline())["ids"])
            connection.sendall(b'{"op":"ack","seq":1,"result":{"changed":true}}\n')
            lines.readline()
        out, err = cancel.communicate(timeout=PATIENCE)
    assert 0 < taken < len(ids)
    assert (cancel.returncode, out) == (1, "")
    assert f"the first {taken} of 3000 ids were accepted before that" in err


# --- a drain that does not come to the end that was asked for, a stop that ends no supervisor


@pytest.fixture
def sidecar(world):
    """A supervisor that outlives the engine of the shim beside it."""
    one = world()
    one.serve()
    one.engine = one.shim(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    return one


def test_a_stop_is_followed_to_its_end_where_the_supervisor_waits_for_the_next_engine(sidecar):
    code, out, err = lastcall("drain", "--exit", "--wait", "--admin-socket", sidecar.admin_socket)
    assert (code, err) == (0, "")
    assert out.startswith("stopping\n") and out.endswith("stopped\n")
    assert sidecar.engine.wait(timeout=PATIENCE) == 0
    assert sidecar.status()["phase"] == "starting"


@pytest.mark.parametrize("words", [(), ("--exit",)])
def test_an_order_that_is_held_until_there_is_a_shim_is_waited_for(world, words):
    one = world()
    one.serve()
    wait_until(lambda: os.path.exists(one.admin_socket), "it listens")
    code, out, err = lastcall("drain", *words, "--wait", "-o", "json",
                              "--admin-socket", one.admin_socket)  # fmt: skip
    assert (code, err) == (0, "")
    phases = [json.loads(line).get("phase") for line in out.splitlines()]
    assert phases[-1] in (("exited", "cleaning_up") if words else ("drained",)), phases


def test_a_drain_that_is_undone_is_no_drain_to_wait_for(served):
    peer = served.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    waiting = start("drain", "--wait", "--admin-socket", served.admin_socket)
    peer.expect("phase", phase="draining")
    assert lastcall("resume", "--admin-socket", served.admin_socket)[1] == "resumed\n"
    out, err = waiting.communicate(timeout=PATIENCE)
    assert waiting.returncode == 1
    assert "the drain was undone" in err and err.count("\n") == 1


@pytest.mark.parametrize("form", ["sidecar", "served"])  # whose supervisor stays, and ends
def test_a_drain_that_became_a_stop_ends_with_the_stop(request, form):
    one = request.getfixturevalue(form)
    peer = one.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    waiting = start("drain", "--wait", "--admin-socket", one.admin_socket)
    peer.expect("phase", phase="draining")
    assert lastcall("drain", "--exit", "--admin-socket", one.admin_socket)[0] == 0
    peer.ask("request.end", id="r", outcome="completed")
    out, err = waiting.communicate(timeout=PATIENCE)
    assert waiting.returncode == 1
    assert "a stop began before the drain had ended" in err and err.count("\n") == 1


# --- standard descriptors that are closed or full


def test_output_to_a_closed_descriptor_reaches_no_socket(served):
    peer = served.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    words = ("drain", "--exit", "--wait", "--admin-socket", served.admin_socket)
    waiting = start(*words, redirect=">&-")
    peer.expect("phase", phase="draining")
    served.wait_for_log('"command":"drain --exit"')
    assert served.status()["in_flight"]["requests"] == 1
    assert 'lastcall_ipc_errors_total{code="bad_json"}' not in served.get("/metrics")[1]
    peer.ask("request.end", id="r", outcome="completed")
    _, err = waiting.communicate(timeout=PATIENCE)
    assert (waiting.returncode, err) == (0, "")
    assert served.process.wait(timeout=PATIENCE) == 0


def test_a_supervisor_that_is_started_with_closed_descriptors_uses_their_numbers_for_nothing(world):
    one = world()
    one.wrapped = ("/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh")
    process = one.serve()
    wait_until(lambda: one.get("/livez")[0] == 200, "it lives")
    assert [os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in range(3)] == ["/dev/null"] * 3


def test_an_answer_that_cannot_be_written_is_1_and_reported(served):
    answers = [("version",), ("status", "--admin-socket", served.admin_socket), ("--help",)]
    longer_than_a_buffer = [("completion", shell) for shell in ("bash", "zsh", "fish")]
    for words in (*answers, *longer_than_a_buffer):
        code, _, err = lastcall(*words, redirect="> /dev/full")
        assert code == 1, words
        assert "cannot write to standard output: No space left on device" in err


def test_a_watch_that_cannot_be_written_ends(served):
    for output in ("text", "json"):
        code, _, err = lastcall("status", "--watch", "-o", output, "--admin-socket",
                                served.admin_socket, redirect="> /dev/full")  # fmt: skip
        assert (code, err.count("\n")) == (1, 1)
        assert "cannot write to standard output: No space left on device" in err


# --- a supervisor that does not answer


@pytest.mark.parametrize("words", [("status",), ("wait-ready", "--timeout", "300ms")])
def test_a_supervisor_that_does_not_accept_costs_no_more_than_the_time_for_its_answer(full, words):
    code, out, err = lastcall(*words, "--admin-socket", full)
    assert (code, out) == (1, "")
    assert full in err and "does not answer" in err


def test_run_takes_a_socket_with_a_full_queue_for_one_that_is_in_use(full):
    code, out, err = lastcall(
        "run", "-c", "/dev/null", "--set", f"ipc.socket={full}", "--", *SLEEPER
    )
    assert (code, out) == (1, "")
    assert "another process listens there" in err


def test_the_longest_wait_that_can_be_typed_is_no_short_one(served):
    for timeout in ("9999999h", "9223372036854775807ms"):
        code, out, err = lastcall(
            "wait-ready", "--timeout", timeout, "--admin-socket", served.admin_socket
        )
        assert (code, out, err) == (0, "ready\n", "")
