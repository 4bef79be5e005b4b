"""`lastcall admission`: limits and thresholds as an operator sees and changes them."""

import json
import subprocess

import pytest
from serve_admission import admission, limited, serving
from serve_peer import PATIENCE
from serve_world import LASTCALL


def command(one, *words, name="admission"):
    return subprocess.run(
        [LASTCALL, name, "--admin-socket", one.admin_socket, *words],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def test_without_a_flag_it_shows_what_holds(world):
    one = serving(world, **limited(3, 4))
    done = command(one)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert "engine_request_limit: 3" in lines and "queue_limit: 4" in lines
    assert "queue_timeout_ms: none" in lines
    assert json.loads(command(one, "-o", "json").stdout) == admission(one)


def test_limits_and_thresholds_change_at_once_and_the_rest_stays(world):
    one = serving(world, **limited(3, 4))
    done = command(
        one, "--engine-request-limit", "7", "--queue-timeout", "30s",
        "--active-decode-blocks-threshold", "0.85", "-o", "json",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    state = json.loads(done.stdout)
    assert state == admission(one)
    assert (state["engine_request_limit"], state["queue_limit"]) == (7, 4)
    assert state["queue_timeout_ms"] == 30_000
    assert state["active_decode_blocks_threshold"] == 0.85
    done = command(one, "--engine-request-limit", "null", "--active-decode-blocks-threshold=null")
    assert "engine_request_limit: none" in done.stdout.splitlines()
    assert admission(one)["active_decode_blocks_threshold"] is None
    assert admission(one)["queue_timeout_ms"] == 30_000


def test_people_see_which_requests_wait_and_that_the_engine_is_busy(world):
    one = serving(world, **limited(1, 4))
    peer = one.peer()
    peer.ask("request.begin", id="a", admit=True)
    peer.ask("request.begin", id="b", admit=True)
    rows = [line.split() for line in command(one, name="requests").stdout.splitlines()[1:]]
    assert {row[0]: "waits" in row for row in rows} == {"a": False, "b": True}
    [row] = admission_rows(one)
    assert row == "admission   1 running, 1 waiting, at most 1 and 4"
    command(one, "--engine-request-limit", "null", "--active-decode-blocks-threshold", "0.85")
    assert not admission_rows(one)
    peer.ask("load", active_decode_blocks=90, kv_total_blocks=100)
    assert admission_rows(one) == ["admission   2 running, 0 waiting; busy"]


def admission_rows(one):
    lines = command(one, name="status").stdout.splitlines()
    return [line for line in lines if line.startswith("admission")]


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--engine-request-limit", "0"),
        ("--queue-limit", "many"),
        ("--queue-limit", "-1"),
        ("--queue-timeout", "30"),
        ("--engine-wait-limit", "1.5"),
        ("--active-decode-blocks-threshold", "1.1"),
        ("--active-prefill-tokens-threshold", ""),
    ],
)
def test_a_bad_value_is_reported_and_nothing_is_changed(world, flag, value):
    one = serving(world, **limited(3, 4))
    before = admission(one)
    done = command(one, "--queue-limit=9" if flag != "--queue-limit" else "-otext",
                   f"{flag}={value}")  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("lastcall admission: ") and done.stderr.count("\n") == 1
    assert flag in done.stderr
    assert admission(one) == before
