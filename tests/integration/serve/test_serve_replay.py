"""A log of level debug makes the same decisions again, and a changed one does not."""

import json
import os
import signal
import subprocess

import pytest
from serve_peer import PATIENCE, wait_until
from serve_world import LASTCALL, SLEEPER


def replay(path, *options):
    return subprocess.run(
        [LASTCALL, "replay", str(path), *options],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The log of a life with a drain, a resume, cancels, a restart and a stop with work."""
    from serve_world import World

    one = World(tmp_path_factory.mktemp("w"), log={"level": "debug"})
    try:
        run = one.run("/bin/sh", "-c", "echo '{not our line'; exec sleep 3600")
        one.wait_for_log('"phase begun","phase":"serving"')
        peer = one.peer()
        peer.ask("endpoint.register", endpoint="generate")
        for i in range(3):
            peer.ask("request.begin", id=f"r{i}", endpoint="generate")
        operator = one.operator()
        operator.ask("cancel", ids=["r0"])
        peer.expect("cancel", ids=["r0"])
        peer.send("cancel.done", id="r0")
        peer.ask("request.end", id="r0", outcome="cancelled")
        operator.ask("drain")
        operator.ask("resume")
        os.kill(one.supervisor_pid(), signal.SIGKILL)
        one.wait_for_log('"type":"shim_hello"', 2)
        peer = one.peer(live=1)
        peer.ask("request.begin", id="r1", endpoint="generate", resumed=True)
        run.send_signal(signal.SIGTERM)
        peer.expect("phase", phase="draining")
        one.operator().ask("drain", exit=True, timeout_ms=300)
        peer.expect("cancel", ids=["r1"])
        assert run.wait(timeout=PATIENCE) == 0
        wait_until(lambda: '"type":"exit_supervisor"' in one.log(), "the last step")
        return one.log()
    finally:
        one.close()


def is_step(line):
    return '"msg":"step"' in line


def test_a_recorded_life_is_replayed_action_by_action(recorded, tmp_path):
    path = tmp_path / "log"
    path.write_text(recorded)
    done = replay(path)
    steps = sum(is_step(line) for line in recorded.splitlines())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"replayed {steps} steps of 2 starts: every action is the same\n"
    assert json.loads(replay(path, "-o", "json").stdout) == {
        "ok": True, "file": str(path), "steps": steps, "starts": 2,
    }  # fmt: skip


def test_words_before_each_line_do_no_harm(recorded, tmp_path):
    path = tmp_path / "log"
    lines = [f"2026-01-31T12:00:00Z stderr F {line}\n" for line in recorded.split("\n")]
    path.write_text("".join(lines))
    assert replay(path).returncode == 0


def tampered(recorded, tmp_path, chosen, change):
    """The number of the changed line, and what replay reports about it."""
    lines = recorded.splitlines()
    index = next(i for i, line in enumerate(lines) if chosen(line))
    lines[index] = change(lines[index])
    assert lines[index] != recorded.splitlines()[index]
    path = tmp_path / "log"
    path.write_text("\n".join(lines) + "\n")
    done = replay(path)
    assert done.returncode == 1
    place, said = f"{path}:{index + 1}: ", done.stderr
    assert said.startswith(place), said
    return said[len(place) :]


def test_a_changed_action_is_named_with_its_line(recorded, tmp_path):
    said = tampered(
        recorded, tmp_path, lambda line: '"type":"start_engine"' in line,
        lambda line: line.replace('{"type":"start_engine"}', '{"type":"rearm"}'),
    )  # fmt: skip
    assert "(shim_hello): action 1 differs" in said or "differs" in said
    assert 'recorded: {"type":"rearm"}' in said
    assert 'replayed: {"type":"start_engine"}' in said


def test_a_changed_event_shows_in_its_actions(recorded, tmp_path):
    said = tampered(
        recorded, tmp_path, lambda line: is_step(line) and '"type":"stop_signal_held"' in line,
        lambda line: line.replace('_held","name":"TERM"', '_held","name":"INT"'),
    )  # fmt: skip
    assert "(stop_signal_held)" in said


@pytest.mark.parametrize(
    "change,words",
    [
        (lambda line: line[: len(line) // 2], "not valid JSON"),
        (lambda line: line.replace('"shim_hello"', '"shim_hallo"'), "is not an event"),
        (lambda line: line.replace('"n":', '"m":'), "n: expected"),
        (lambda line: line.replace('"at_ms":', '"at":'), "at_ms: expected"),
        (lambda line: line.replace('"actions":[', '"actions":7,"x":['), "actions: expected"),
    ],
)
def test_a_line_that_was_broken_is_named(recorded, tmp_path, change, words):
    said = tampered(
        recorded, tmp_path, lambda line: is_step(line) and '"type":"shim_hello"' in line, change
    )
    assert words in said


def test_a_line_that_is_missing_is_noticed(recorded, tmp_path):
    lines = recorded.splitlines()
    index = next(i for i, line in enumerate(lines) if is_step(line))
    following = next(i for i in range(index + 1, len(lines)) if '"n":' in lines[i])
    path = tmp_path / "log"
    path.write_text("\n".join(lines[:index] + lines[index + 1 :]) + "\n")
    done = replay(path, "-o", "json")
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert answer["line"] == following and "records are missing" in answer["problem"]


def test_a_log_that_begins_in_the_middle_is_refused(recorded, tmp_path):
    lines = recorded.splitlines()
    index = next(i for i, line in enumerate(lines) if is_step(line))
    path = tmp_path / "log"
    path.write_text("\n".join(lines[index:]) + "\n")
    done = replay(path)
    assert done.returncode == 1
    assert f"{path}:1: the log does not begin with a start" in done.stderr


def test_a_file_that_is_no_such_log_is_2(tmp_path):
    path = tmp_path / "log"
    path.write_text("hello\n")
    for name, why in (
        (path, "no step in it"), (tmp_path / "none", "No such file"), (tmp_path, "a directory"),
        ("/proc/self/mem", "cannot read /proc/self/mem: Input/output error"),
    ):  # fmt: skip
        done = replay(name)
        assert (done.returncode, done.stdout) == (2, "")
        assert why in done.stderr
    assert replay("-x").returncode == 2


def test_a_file_without_line_ends_is_not_read_into_memory(tmp_path):
    path = tmp_path / "log"
    with open(path, "w", encoding="utf-8") as log:
        log.write("hello\n")
        log.truncate(10 << 30)  # it has no blocks
    done = replay(path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{path}:2: a line of more than 64 MiB, expected a log" in done.stderr


def test_a_reload_in_the_log_is_replayed_too(world):
    one = world(log={"level": "debug"})
    run = one.run(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    one.config["health"]["unresponsive_after"] = "9s"
    one.write_config()
    one.operator().ask("reload")
    one.wait_for_log('"type":"health_limits_changed"')
    run.send_signal(signal.SIGTERM)
    assert run.wait(timeout=PATIENCE) == 0
    assert replay(one.path("log")).returncode == 0


def test_cancels_that_are_sent_before_their_step_is_logged_are_replayed_after_it(world):
    """The first end cancels the other request, whose own end then begins the next phase. That is
    provided for before it is logged, and sends what waits for the peer."""
    one = world(log={"level": "debug"})
    run = one.run(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    peer = one.peer()
    for endpoint, graceful in (("held", True), ("loose", False)):
        peer.ask("endpoint.register", endpoint=endpoint, graceful_shutdown=graceful)
        peer.ask("request.begin", id=endpoint, endpoint=endpoint)
    run.send_signal(signal.SIGTERM)
    peer.expect("phase", phase="draining")
    peer.send_together(
        *({"op": "request.end", "id": each, "outcome": "completed"} for each in ("held", "loose"))
    )
    assert run.wait(timeout=PATIENCE) == 0
    assert replay(one.path("log")).stderr == ""
