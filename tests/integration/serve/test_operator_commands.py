"""The operator's subcommands as scripts see them: exit codes, output, one clear error."""

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import tempfile
import time

import pytest
from in_time import unless_late
from ports import free_port
from serve_peer import PATIENCE, wait_until
from serve_world import LASTCALL, SLEEPER, lastcall

OPERATOR = {
    "status": (),
    "requests": (),
    "drain": (),
    "resume": (),
    "cancel": ("r",),
    "wait-ready": ("--timeout", "300ms"),
}


@pytest.fixture
def served(served):
    served.cli = lambda word, *rest: lastcall(word, "--admin-socket", served.admin_socket, *rest)
    return served


def run_in_time(why, *words):
    """A command that may wait only for so long that a busy machine may not have answered it."""

    def late(done):
        return "not ready after" in done.stderr and why not in done.stderr

    return unless_late(lambda: lastcall(*words), late, tries=5)


# --- what goes wrong


@pytest.mark.parametrize("word", OPERATOR)
def test_without_a_supervisor_it_is_one_clear_error_and_1(tmp_path, word):
    path = str(tmp_path / "a.sock")
    done = lastcall(word, "--admin-socket", path, *OPERATOR[word])
    assert done.returncode == 1
    assert done.stdout == ""
    assert path in done.stderr and done.stderr.count("\n") == 1
    assert done.stderr.startswith("lastcall")


@pytest.mark.parametrize("word", OPERATOR)
def test_on_the_engines_socket_it_is_one_clear_error_and_1(served, word):
    done = run_in_time("admin socket", word, "--admin-socket", served.socket, *OPERATOR[word])
    assert done.returncode == 1
    assert done.stdout == ""
    assert "admin socket" in done.stderr and done.stderr.count("\n") == 1
    assert served.status()["phase"] == "serving"


@pytest.mark.parametrize("word", OPERATOR)
def test_a_path_that_is_too_long_is_one_clear_error(word):
    done = lastcall(word, "--admin-socket", "/tmp/" + "x" * 110, *OPERATOR[word])
    assert done.returncode in (1, 2)
    assert "107" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [
    ("status", "--nonsense"),
    ("status", "--output", "xml"),
    ("drain", "--timeout", "soon"),
    ("wait-ready", "--timeout", "5 parsecs"),
    ("cancel",),
    ("cancel", ""),
    ("cancel", "a", ""),
    ("cancel", "a", "--root", ""),
    ("cancel", "a", "x" * 257),
    ("cancel", "--root", "x" * 257),
    ("plan", "--pod-grace", "never"),
    ("nonsense",),
    (),
], ids=lambda words: " ".join(words)[:24])  # fmt: skip
def test_bad_usage_is_2_and_reported_on_stderr(words):
    done = lastcall(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr


@pytest.mark.parametrize("word", [*OPERATOR, "plan", "check"])
def test_a_configuration_that_is_wrong_is_2_and_names_the_place(tmp_path, word):
    path = tmp_path / "bad.yaml"
    path.write_text("shutdown: {grace_period: 5 parsecs}\n")
    done = lastcall(word, "--config", str(path), *OPERATOR.get(word, ()))
    assert done.returncode == 2
    assert "bad.yaml:1:" in done.stderr + done.stdout


# --- what goes right


def test_status_as_json_is_one_object(served):
    done = served.cli("status", "--output", "json")
    assert done.returncode == 0 and done.stderr == ""
    status = json.loads(done.stdout)
    assert status["phase"] == "serving" and status["ready"] is True
    assert "deadline_at_ms" not in status


def test_requests_lists_what_is_in_flight(served):
    peer = served.peer(name="vllm")
    peer.ask("request.begin", id="r1", endpoint="generate", model="m")
    rows = [json.loads(line) for line in
            served.cli("requests", "--output", "json").stdout.splitlines()]  # fmt: skip
    assert [(row["id"], row["endpoint"], row["model"], row["peer"]) for row in rows] == [
        ("r1", "generate", "m", "vllm")
    ]
    done = served.cli("requests")
    assert done.returncode == 0 and "r1" in done.stdout


def test_terminal_control_characters_are_shown_and_not_sent(served):
    peer = served.peer()
    peer.ask("endpoint.register", endpoint="gen\x1b[2J")
    peer.ask("request.begin", id="r1", endpoint="gen\x1b[2J", model="m\x1b]0;owned\x07\r\x9b31m")
    row = served.cli("requests").stdout.splitlines()[1]
    assert "m\\u001b]0;owned\\u0007\\u000d\\u009b31m" in row and row.isprintable()
    status = served.cli("status").stdout
    assert "gen\\u001b[2J: 1" in status
    assert all(line.isprintable() for line in status.splitlines())


def test_drain_and_resume_report_whether_they_changed_anything(served):
    served.peer().ask("endpoint.register", endpoint="generate")
    assert served.cli("resume").stdout == "nothing to resume\n"
    assert json.loads(served.cli("drain", "--output", "json").stdout)["changed"] is True
    served.wait_for_phase("drained")
    assert served.cli("drain").stdout == "already under way\n"
    done = served.cli("resume", "--output", "json")
    assert done.returncode == 0
    assert json.loads(done.stdout) == {"changed": True, "phase": "serving"}


def test_drain_and_wait_ends_when_the_last_request_did(served):
    peer = served.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    waiting = subprocess.Popen(
        [LASTCALL, "drain", "--wait", "--admin-socket", served.admin_socket],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    peer.expect("phase", phase="draining")
    assert waiting.poll() is None
    peer.ask("request.end", id="r", outcome="completed")
    out, err = waiting.communicate(timeout=PATIENCE)
    assert waiting.returncode == 0 and err == ""
    assert out.startswith("draining\n")


def test_resume_in_a_stop_is_refused_with_1(served):
    peer = served.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    assert served.cli("drain", "--exit").stdout == "stopping\n"
    peer.expect("phase", phase="draining")
    done = served.cli("resume")
    assert done.returncode == 1 and done.stdout == ""
    assert "stop" in done.stderr and done.stderr.count("\n") == 1
    peer.ask("request.end", id="r", outcome="completed")
    assert served.process.wait(timeout=PATIENCE) == 0


def test_cancel_reaches_the_request_by_id_and_by_root(served):
    peer = served.peer()
    peer.ask("request.begin", id="a", endpoint="generate")
    peer.ask("request.begin", id="b", root="user", endpoint="generate")
    done = served.cli("cancel", "a")
    assert (done.returncode, done.stdout) == (0, "asked to stop\n")
    peer.expect("cancel", mode="stop", reason="operator", ids=["a"])
    done = served.cli("cancel", "--kill", "--root", "user")
    assert (done.returncode, done.stdout) == (0, "cut off\n")
    peer.expect("cancel", mode="kill", reason="operator", ids=["b"])


def test_more_requests_than_one_line_holds_are_cancelled_with_one_answer(served):
    peer = served.peer()
    live = ["first", "last", '"quoted"\x01' * 20]
    for each in live:
        peer.ask("request.begin", id=each, endpoint="generate")
    ids = [live[0], *(f"{i:040}" for i in range(4000)), "x" * 256, *live[1:]]
    done = served.cli("cancel", "-o", "json", *ids)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"changed": True, "phase": "serving"}
    cancelled = set()
    while cancelled != set(live):
        cancelled |= set(peer.expect("cancel", mode="stop", reason="operator")["ids"])
    assert served.cli("cancel", *ids[1:-2]).returncode == 1


def test_the_help_of_cancel_explains_what_it_needs_and_how_it_ends():
    help_text = " ".join(lastcall("cancel", "--help").stdout.split())
    assert "Either IDs or --root is required" in help_text
    codes = ("0 if at least one", "1 if none was in flight", "2 for bad usage")
    assert all(code in help_text for code in codes)


def test_wait_ready_returns_once_requests_should_come(world):
    one = world()
    gate = one.path("gate")
    one.config["health"]["checks"] = [
        {"name": "gate", "exec": {"command": ["/usr/bin/test", "-e", gate]}}
    ]
    waiting = subprocess.Popen(
        [LASTCALL, "wait-ready", "--timeout", "60s", "--admin-socket", one.admin_socket],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    one.run(*SLEEPER)
    one.wait_for_phase("starting")
    words = ("wait-ready", "--timeout", "300ms", "--admin-socket", one.admin_socket)
    early = run_in_time("starting", *words)
    assert early.returncode == 1
    assert early.stderr.endswith("not ready after 300ms: starting: no check has passed yet\n")
    assert waiting.poll() is None
    open(gate, "w").close()
    out, err = waiting.communicate(timeout=PATIENCE)
    assert (waiting.returncode, out, err) == (0, "ready\n", "")


def test_watch_shows_a_drain_as_a_bar_on_a_terminal(served):
    peer = served.peer()
    for name in ("a", "b"):
        peer.ask("request.begin", id=name, endpoint="generate")
    ours, theirs = pty.openpty()
    watching = subprocess.Popen(
        [LASTCALL, "status", "--watch", "--admin-socket", served.admin_socket],
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env={**os.environ, "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    seen = bytearray()

    def shows(text):
        deadline = time.monotonic() + PATIENCE
        while text not in seen:
            assert select.select([ours], [], [], deadline - time.monotonic())[0], bytes(seen)
            seen.extend(os.read(ours, 65536))

    try:
        shows(b"\033[J")  # the end of the first screen
        assert b"serving" in seen and b"[...." not in seen  # there is nothing to wait for
        served.cli("drain")
        shows(b"draining")
        peer.ask("request.end", id="a", outcome="completed")
        shows(b"[############............] 1 in flight")
        assert b"\033[" in seen
    finally:
        watching.kill()
        watching.wait()
        os.close(ours)


def test_watch_prints_a_line_only_when_it_says_something_new(served):
    watching = subprocess.Popen(
        [LASTCALL, "status", "--watch", "--admin-socket", served.admin_socket],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    lines = [watching.stdout.readline()]
    for _ in range(10):
        served.peer().close()
        served.status()
    served.cli("drain")
    while "drained" not in lines[-1]:
        lines.append(watching.stdout.readline())
        assert lines[-1], watching.communicate()
    watching.kill()
    watching.communicate()
    assert all(line != after for line, after in zip(lines, lines[1:])), lines


def test_watch_ends_when_its_reader_has_gone_though_nothing_new_happens(served):
    watching = subprocess.Popen(
        [LASTCALL, "status", "--watch", "--admin-socket", served.admin_socket],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    watching.stdout.readline()
    watching.stdout.close()

    def has_ended():
        served.peer().close()
        return watching.poll() is not None

    wait_until(has_ended, "the end of the watch")
    assert watching.returncode in (1, -signal.SIGPIPE)
    watching.stderr.close()


def on_terminal(*words, **environment):
    """What a command prints on a terminal."""
    ours, theirs = pty.openpty()
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    process = subprocess.Popen([LASTCALL, *words], stdin=theirs, stdout=theirs, stderr=theirs,
                               env={**clean, "TERM": "xterm", **environment})  # fmt: skip
    os.close(theirs)
    seen = bytearray()
    with contextlib.suppress(OSError):  # EIO: the other side is closed
        while piece := os.read(ours, 65536):
            seen.extend(piece)
    os.close(ours)
    assert process.wait(timeout=PATIENCE) == 0
    return seen.decode().replace("\r\n", "\n")


COLORS = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("columns", [40, 80, 140])
def test_status_fits_the_terminal(served, columns):
    words = ("status", "--admin-socket", served.admin_socket)
    text = on_terminal(*words, COLUMNS=str(columns))
    assert COLORS.search(text)
    plain = COLORS.sub("", text)
    long = [row for row in plain.split("\n") if len(row) > columns and " " in row[12:].strip()]
    assert not long
    assert plain.split() == served.cli("status").stdout.split() or "for" in plain  # time passes


def test_endpoints_with_nothing_in_flight_share_a_row(served):
    peer = served.peer()
    for name, drains in (("chat", True), ("decode", False), ("embed", True)):
        peer.ask("endpoint.register", endpoint=name, graceful_shutdown=drains)
    peer.ask("request.begin", id="a", endpoint="chat")
    text = served.cli("status").stdout
    assert "chat: 1, drains" in text
    assert "idle: decode (migrates), embed" in text and "embed: 0" not in text


def test_an_endpoint_that_several_register_differently_has_one_row(served):
    drains, migrates = served.peer(), served.peer()
    for name in ("chat", "decode", "embed", "idle"):
        drains.ask("endpoint.register", endpoint=name, graceful_shutdown=True)
        migrates.ask("endpoint.register", endpoint=name, graceful_shutdown=False)
    for name, peer, endpoint in (("a", drains, "chat"), ("b", migrates, "chat"),
                                 ("c", migrates, "decode"), ("d", drains, "embed")):  # fmt: skip
        peer.ask("request.begin", id=name, endpoint=endpoint)
    rows = [row.strip() for row in served.cli("status").stdout.splitlines()]
    named = [row for row in rows if re.match("chat|decode|embed|idle", row)]
    assert named == ["chat: 2, of which 1 drain", "decode: 1, migrates", "embed: 1, drains",
                     "idle: idle"]  # fmt: skip


def test_parts_of_a_request_stand_below_it(served):
    peer, other = served.peer(), served.peer()
    for name, parent in (("a", None), ("b", None), ("b/1", "b"), ("a/1", "a"), ("a/1/x", "a/1")):
        peer.ask("request.begin", id=name, **({"parent": parent} if parent else {}))
    other.ask("request.begin", id="c")
    rows = served.cli("requests").stdout.splitlines()[1:]
    assert [row.rstrip().split("  ")[0] or row[: len(row) - len(row.lstrip())] + row.split()[0]
            for row in rows] == ["a", "  a/1", "    a/1/x", "b", "  b/1", "c"]  # fmt: skip


@pytest.mark.parametrize("columns", [40, 80, 140])
def test_requests_fit_the_terminal(served, columns):
    peer, long = served.peer(), "cmpl-" + "0123456789" * 6
    peer.ask("request.begin", id=long, endpoint="chat_completions", model="Qwen/Qwen3-0.6B")
    peer.ask("request.begin", id="é" * 50, endpoint="e")
    text = on_terminal("requests", "--admin-socket", served.admin_socket, COLUMNS=str(columns))
    rows = text.splitlines()
    assert len(rows) == 3 and all(len(row) <= columns for row in rows)
    assert rows[0].startswith("ID ") and rows[0].endswith("AGE")
    assert ("MODEL" in rows[0]) == (columns == 140)
    assert [row[:3] for row in rows[1:]] == ["cmp", "ééé"]
    assert all("live" in row for row in rows[1:])


def test_a_stop_shows_its_plan_and_where_it_stands(served):
    served.peer().ask("request.begin", id="a", endpoint="generate")
    served.cli("drain", "--exit")
    served.wait_for_phase("draining")
    plan = json.loads(served.cli("status", "-o", "json").stdout)["plan"]
    assert plan["under_way"] and [part["name"] for part in plan["parts"]][-1] == "cleaning_up"
    for columns in (40, 80, 140):
        text = on_terminal("status", "--admin-socket", served.admin_socket, COLUMNS=str(columns))
        [bar] = re.findall(r"^plan +\[(.*)\]$", text, re.MULTILINE)
        assert re.fullmatch(r"[#|]*>[.|]*", bar) and len(bar) <= columns - 14
    assert re.search(r"\x1b\[\d+mdraining to ", text)  # not what it would be by the clock
    assert "draining to " in COLORS.sub("", text) and re.search(r"are cut in \d+\.\d s", text)


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_that_wants_no_colour_gets_none(served, environment):
    text = on_terminal("status", "--admin-socket", served.admin_socket, **environment)
    assert "\x1b" not in text and "serving" in text


def test_a_drain_that_time_bounds_shows_when_requests_are_cut(served):
    served.peer().ask("request.begin", id="a", endpoint="generate")
    served.cli("drain", "--timeout", "50s")
    served.wait_for_phase("draining")
    left = json.loads(served.cli("status", "-o", "json").stdout)["cut_left_ms"]
    assert 0 < left <= 50_000
    assert re.search(r"requests +are cut in \d+\.\d s", served.cli("status").stdout)


def test_a_stop_whose_work_is_unknown_shows_when_its_drain_ends(world):
    one = world(shutdown={"grace_period": "120s", "drain_unknown": "60s"})
    one.process = one.run(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    lastcall("drain", "--exit", "--admin-socket", one.admin_socket)
    one.wait_for_phase("draining")
    status = json.loads(lastcall("status", "-o", "json", "--admin-socket", one.admin_socket).stdout)
    assert status["in_flight"]["source"] == "unknown"
    assert 0 < status["cut_left_ms"] <= 60_000


@pytest.fixture
def runtime_directory():
    """A folder that an ordinary user can reach, unlike pytest's own folders."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        yield folder


def test_status_finds_the_run_of_the_same_user_by_itself(runtime_directory):
    """And a second `run` gets a directory of its own."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LASTCALL_")}
    environment["XDG_RUNTIME_DIR"] = runtime_directory
    as_nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    user = as_nobody if os.geteuid() == 0 else ()

    def run():
        probes = f"probes.listen=127.0.0.1:{free_port()}"
        words = [*user, LASTCALL, "run", "--set", probes, "--set", "shutdown.drain_unknown=0s",
                 "--", *SLEEPER]  # fmt: skip
        return subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)  # fmt: skip

    def status():
        return subprocess.run([*user, LASTCALL, "status"], env=environment, text=True,
                              capture_output=True, timeout=PATIENCE)  # fmt: skip

    def stop(process):
        process.terminate()
        return process.wait(timeout=2 * PATIENCE)

    first = run()
    try:
        wait_until(lambda: "serving" in status().stdout, "it is found")
        second = run()
        wait_until(lambda: len(os.listdir(runtime_directory)) == 2, "a directory of its own")
        assert stop(second) == 0
        assert "serving" in status().stdout
    finally:
        assert stop(first) == 0
    assert os.listdir(runtime_directory) == []
    assert status().returncode == 1


def test_plan_and_check_and_version_need_no_supervisor(tmp_path):
    path = tmp_path / "lastcall.yaml"
    path.write_text("shutdown: {grace_period: 20s}\n")
    plan = lastcall("plan", "--config", str(path), "--output", "json")
    assert plan.returncode == 0 and plan.stderr == ""
    assert json.loads(plan.stdout)
    check = lastcall("check", "--config", str(path))
    assert check.returncode == 0
    version = lastcall("version")
    assert version.returncode == 0 and version.stdout == lastcall("--version").stdout
    assert json.loads(lastcall("version", "--output", "json").stdout)["version"]


def test_a_reader_that_leaves_is_no_crash(served):
    with contextlib.suppress(BrokenPipeError):
        read_end, write_end = os.pipe()
        os.close(read_end)
        done = subprocess.run(
            [LASTCALL, "status", "--admin-socket", served.admin_socket],
            stdout=write_end, stderr=subprocess.PIPE, timeout=PATIENCE, check=False,
        )  # fmt: skip
        os.close(write_end)
        assert done.returncode in (1, -13)
    wait_until(lambda: served.status()["phase"] == "serving", "it goes on")
