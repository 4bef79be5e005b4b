"""The configuration as users give it: bad files, flags on top, budgets that do not fit."""

import contextlib
import json
import os
import signal
import subprocess

import pytest
from serve_peer import PATIENCE, wait_until
from serve_world import LASTCALL, SLEEPER


def lastcall(*words, environment=None):
    return subprocess.run(
        [LASTCALL, *words], capture_output=True, text=True, errors="replace", timeout=PATIENCE,
        check=False, env=environment,
    )  # fmt: skip


ALIAS_BOMB = b"a0: &a0 [x, x]\n" + b"".join(
    f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n".encode() for i in range(1, 40)
)
BAD_FILES = {
    "quoted number": (b'admission: {queue_limit: "64"}\n', [":1:26: admission.queue_limit: '64'"]),
    "2 MiB": (b"#" + b"x" * (2 << 20) + b"\n", [": larger than 1 MiB"]),
    "alias bomb": (ALIAS_BOMB, [":1:5: a0: an anchor", ":2:10: a1[0]: an alias"]),
    "anchor": (b"log: &l {level: info}\n", [":1:6: log: an anchor"]),
    "invalid UTF-8": (b"# caf\xe9\n", [":1:6: invalid UTF-8 (byte 0xe9)"]),
    "NUL": (b"log: {level: in\0fo}\n", [":1:16: a NUL byte"]),
    "negative duration": (
        b"shutdown: {late_accept: -1s}\n",
        [":1:25: shutdown.late_accept: '-1s' is negative"],
    ),
    "overflowing duration": (
        b"shutdown: {late_accept: 99999999999999999999s}\n",
        [":1:25: shutdown.late_accept: '99999999999999999999s' is out of range"],
    ),
    "two documents": (b"log: {}\n---\nlog: {}\n", [":2:1: a second document"]),
    "all at once": (
        b"zebra: 1\nlog: {level: loud}\nshutdown: {grace_period: 60}\n",
        [":1:1: zebra: unknown key", ":2:14: log.level: 'loud'", ":3:26: shutdown.grace_period"],
    ),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_exit_2_with_every_place(name, tmp_path):
    text, places = BAD_FILES[name]
    path = tmp_path / "c.yaml"
    path.write_bytes(text)
    for command in (["check"], ["plan"], ["serve"], ["run", "--", "true"]):
        done = lastcall(command[0], "--config", str(path), *command[1:])
        assert done.returncode == 2, command
        for place in places:
            assert str(path) + place in done.stderr, command
        assert done.stdout == ""


def test_a_configuration_that_is_not_a_file_is_exit_2(tmp_path):
    for path, why in (
        (tmp_path, "a directory, expected a file"),
        (tmp_path / "none.yaml", "cannot open: No such file or directory"),
    ):
        done = lastcall("check", "--config", str(path))
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{path}: {why}\n" in done.stderr


def test_a_pipe_is_read_to_its_end_though_its_writer_is_late():
    check = subprocess.Popen(
        [LASTCALL, "check", "--config", "/dev/stdin"], stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    pipe = os.readlink(f"/proc/self/fd/{check.stdin.fileno()}")

    def opened():
        folder = f"/proc/{check.pid}/fd"
        with contextlib.suppress(OSError):  # a descriptor that was closed meanwhile
            return sum(os.readlink(f"{folder}/{fd}") == pipe for fd in os.listdir(folder)) > 1
        return False

    wait_until(lambda: opened() or check.poll() is not None)
    _, errors = check.communicate("zebra: 1\n", timeout=PATIENCE)
    assert "/dev/stdin:1:1: zebra: unknown key" in errors
    assert check.returncode == 2


@pytest.mark.parametrize("command", ["serve", "run"])
def test_a_pipe_is_refused_by_what_reads_its_configuration_again(command):
    """The supervisor would find the pipe empty, and serve with the defaults."""
    engine = ["--", "true"] if command == "run" else []
    done = subprocess.run(
        [LASTCALL, command, "--config", "/dev/stdin", *engine], input="log: {level: info}\n",
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("/dev/stdin: a pipe, expected a file that a restart")


def test_a_file_that_run_has_as_its_input_is_the_supervisors_configuration(world):
    one = world(log={"level": "error"})
    with open(one.write_config(), "rb") as file:
        done = subprocess.run(
            [LASTCALL, "run", "--config", "/dev/stdin", "--set", "log={level: info, format: json}",
             "--", "true"],
            stdin=file, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
    assert f'"admin_socket":"{one.admin_socket}"' in done.stderr


def test_an_empty_file_means_the_defaults(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_bytes(b"")
    done = lastcall("check", "--config", str(path))
    assert (done.returncode, done.stdout) == (0, f"{path}: ok\n")


@pytest.mark.parametrize("command", ["check", "plan", "serve", "run"])
def test_a_flag_that_is_wrong_is_named_as_the_place(command):
    engine = ["--", "true"] if command == "run" else []
    done = lastcall(
        command, "--config", "/dev/null", "--set", "log.level=loud", "--set", "a.b=1",
        "--set", "cleanup.paths=[/tmp/a, x]", *engine,
    )  # fmt: skip
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert lines[0].startswith("--set log.level: log.level: 'loud', expected trace")
    assert lines[1].startswith("--set a.b: a: unknown key, expected one of identity")
    assert lines[2].startswith("--set cleanup.paths: cleanup.paths[1]: 'x', expected an absolute")


def test_the_last_of_two_flags_for_one_key_holds():
    flags = ("--set", "shutdown.grace_period=20s", "--set", "shutdown={grace_period: 30s}")
    for order, total in ((flags, 30_000), (flags[2:] + flags[:2], 20_000)):
        done = lastcall("plan", "--config", "/dev/null", "-o", "json", *order)
        assert json.loads(done.stdout)["budgets"]["total_ms"] == total


def test_flags_reach_the_supervisor_of_run_mode(world):
    one = world(log={"level": "error"})
    run = one.run(*SLEEPER, options=("--set", "log={level: info, format: json}"))
    one.wait_for_log('"phase begun","phase":"serving"')
    run.send_signal(signal.SIGTERM)
    assert run.wait(timeout=PATIENCE) == 0


SMALL_POD = {"LASTCALL_POD_GRACE_SECONDS": "6"}
CUT = "shutdown.grace_period: 8000ms cut to 4000ms: the pod or container grants 6000ms"


def test_budgets_over_the_pods_grace_are_cut_and_reported_everywhere(world):
    one = world()
    path = one.write_config()
    plan = lastcall("plan", "--config", path, environment=SMALL_POD)
    assert plan.returncode == 0
    assert CUT in plan.stderr and "   4.000s  exit" in plan.stdout
    check = lastcall("check", "--config", path, environment=SMALL_POD)
    assert check.returncode == 0
    assert CUT in check.stderr
    strict = lastcall("check", "--strict", "--config", path, environment=SMALL_POD)
    assert (strict.returncode, strict.stdout) == (2, "")
    one.serve(**SMALL_POD)
    one.wait_for_log(CUT)
    status = one.status()
    assert any(CUT in warning for warning in status["warnings"])
    assert one.operator().welcome["grace_ms"] == 4000


def test_check_strict_is_content_without_warnings():
    done = lastcall("check", "--strict", "--config", "/dev/null", environment={})
    assert (done.returncode, done.stdout) == (0, "/dev/null: ok\n")


def drained_with_a_request(world, second_signal):
    one = world(shutdown={"second_signal": second_signal, "grace_period": "100s"})
    run = one.run(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    peer = one.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    run.send_signal(signal.SIGTERM)
    peer.expect("phase", phase="draining")
    return one, run, peer


def test_a_second_signal_that_forces_cuts_the_requests_and_ends_the_engine(world):
    one, run, peer = drained_with_a_request(world, "force")
    run.send_signal(signal.SIGINT)
    peer.expect("cancel", mode="kill", reason="grace_timeout", ids=["r"])
    assert run.wait(timeout=PATIENCE) == 0  # long before the deadline, 100 s away
    report = one.report()
    assert report["cause"] == "signal" and report["mode"] == "graceful"
    assert report["signals_ignored"] == 0  # it was obeyed


def test_a_second_signal_is_ignored_by_default(world):
    one, run, peer = drained_with_a_request(world, "ignore")
    run.send_signal(signal.SIGTERM)
    wait_until(lambda: one.status()["signals_ignored"] == 1, "it was counted")
    assert one.status()["phase"] == "draining"
    peer.ask("request.end", id="r", outcome="completed")
    assert run.wait(timeout=PATIENCE) == 0
    assert one.report()["requests"]["completed"] == 1
