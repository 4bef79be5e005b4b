"""The wall clock steps by an hour under `serve`: nothing but the time of a record moves."""

import os
import signal
import socket
import time
from datetime import datetime

import pytest
from ports import free_port
from serve_peer import PATIENCE, holds_for, wait_until
from serve_world import BUILD, SLEEPER

CLOCK_STEP = os.path.abspath(os.path.join(BUILD, "tests/helpers/clock_step.so"))
HOUR = 3600


def wall_time(record):
    return datetime.fromisoformat(record["ts"]).timestamp()


class Looked:
    """A status, and between which two instants of the monotonic clock it was taken, in ms."""

    def __init__(self, one):
        self.after = time.monotonic() * 1000
        self.status = one.status()
        self.before = time.monotonic() * 1000


def passed_between(first, second, count):
    """What `count` returns for a status has moved as far as the time, give or take a rounding."""
    moved = count(second.status) - count(first.status)
    least, most = second.after - first.before, second.before - first.after
    return least - 2 <= moved <= most + 2


def only_time_passed(first, second):
    for key in ("phase", "cause", "mode", "deadline_at_ms"):
        assert second.status.get(key) == first.status.get(key), key
    if "deadline_left_ms" in first.status:
        assert passed_between(first, second, lambda s: -s["deadline_left_ms"])
    assert passed_between(first, second, lambda s: s["phase_for_ms"])
    assert passed_between(first, second, lambda s: s["in_flight"]["oldest_ms"])


# A preloaded library comes before the sanitizer's, which does not start then.
@pytest.mark.plain_build
@pytest.mark.parametrize("hours", [1, -1], ids=["ahead", "back"])
@pytest.mark.parametrize("when", ["serving", "draining"])
def test_a_step_of_the_wall_clock_moves_no_deadline_and_no_timer(world, when, hours):
    one = world(shutdown={"grace_period": "60s", "after_stop": "exit"})
    script = f"echo >> {one.path('checked')}"
    one.config["health"]["checks"] = [
        {"name": "counted", "exec": {"command": ["/bin/sh", "-c", script]}}
    ]
    serve = one.serve(LD_PRELOAD=CLOCK_STEP, STEP_WHEN=one.path("stepped"),
                      STEP_SECONDS=str(hours * HOUR))  # fmt: skip
    shim = one.shim(*SLEEPER)
    one.wait_for_phase("serving")
    peer = one.peer()
    peer.ask("endpoint.register", endpoint="generate")
    peer.ask("request.begin", id="r", endpoint="generate")

    def drain():
        shim.send_signal(signal.SIGTERM)
        one.wait_for_phase("draining")

    def checks():
        return os.path.getsize(one.path("checked"))

    if when == "draining":
        drain()
    first = Looked(one)
    open(one.path("stepped"), "w").close()
    checked = checks()
    wait_until(lambda: checks() >= checked + 5, "five more checks")
    holds_for(lambda: serve.poll() is None and shim.poll() is None, 0.5)
    only_time_passed(first, Looked(one))
    if when == "serving":
        drain()  # with the timers of two phases
    asked = time.time()
    peer.ask("request.end", id="r", outcome="completed")
    assert shim.wait(timeout=PATIENCE) == 0
    assert serve.wait(timeout=PATIENCE) == 0
    [last] = [record for record in one.records() if "report" in record]
    assert abs(wall_time(last) - asked - hours * HOUR) < HOUR / 2, "the clock was not stepped"
    assert last["report"]["requests"]["completed"] == 1
    assert 0 <= last["report"]["time_left_ms"] <= 60_000


@pytest.mark.plain_build
def test_while_an_engine_loads_for_long_the_log_reports_what_is_awaited(world):
    one = world(health={"interval": "100ms"})
    script = f"echo >> {one.path('checked')}; echo loading; exit 1"
    one.config["health"]["checks"] = [
        {"name": "flag", "exec": {"command": ["/bin/sh", "-c", script]}}
    ]
    one.serve(LD_PRELOAD=CLOCK_STEP, STEP_CLOCK="monotonic", STEP_WHEN=one.path("stepped"),
              STEP_SECONDS="75")  # fmt: skip
    one.shim(*SLEEPER)
    one.wait_for_log("engine started")
    checked = os.path.getsize(one.path("checked"))
    wait_until(lambda: os.path.getsize(one.path("checked")) >= checked + 3, "rounds that fail")
    assert "still starting" not in one.log()
    open(one.path("stepped"), "w").close()
    one.wait_for_log("s: check 'flag': exit code 1: loading")
    [said] = [r for r in one.records() if r["msg"].startswith("still starting after ")]
    assert said["level"] == "INFO"
    assert not [r for r in one.records() if r["level"] == "WARNING" and "check" in r]


@pytest.mark.plain_build
def test_an_engine_at_another_port_than_its_check_asks_has_the_log_name_the_ports(world):
    one = world(health={"interval": "100ms"})
    asked, real = free_port(), socket.create_server(("127.0.0.1", 0))
    with real:
        url = f"http://127.0.0.1:{asked}/health"
        one.config["health"]["checks"] = [{"name": "engine", "http": {"url": url}}]
        one.serve(LD_PRELOAD=CLOCK_STEP, STEP_CLOCK="monotonic", STEP_WHEN=one.path("stepped"),
                  STEP_SECONDS="75")  # fmt: skip
        one.shim(*SLEEPER)
        one.wait_for_log("check has not passed yet")
        one.wait_for_log("engine started")
        open(one.path("stepped"), "w").close()
        one.wait_for_log("still starting after ")
        [said] = [r["msg"] for r in one.records() if r["msg"].startswith("still starting after ")]
        refused = f"check 'engine': connection refused by 127.0.0.1:{asked}; "
        assert refused + "ports with a listener here:" in said
        ports = said.rpartition(": ")[2]
        assert str(real.getsockname()[1]) in ports or " more" in ports
