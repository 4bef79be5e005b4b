"""With an engine that streams and takes part through the SDK."""

import os
import signal
import sys

import pytest
from ports import free_port
from serve_peer import PATIENCE, wait_until
from serve_stream import Stream, call
from serve_world import ENGINE_SIM


@pytest.fixture
def served(world):
    def start(*flags, **config):
        one = world(**config)
        one.engine_port = free_port()
        url = f"http://127.0.0.1:{one.engine_port}/health"
        one.config["health"]["checks"] = [{"name": "engine", "http": {"url": url}}]
        one.process = one.run(
            sys.executable, ENGINE_SIM, "--port", str(one.engine_port), "--sdk", *flags
        )
        one.wait_for_log('"phase begun","phase":"serving"')
        return one

    return start


def faster(one):
    """Slow until everything is seen, a stream has time to be seen and costs the test none."""
    call(one.engine_port, "POST", "/sim/control", {"rate": 100})


def test_streams_in_flight_finish_before_the_engine_gets_its_signal(served):
    one = served("--rate", "4", shutdown={"grace_period": "60s"})
    streams = [Stream(one.engine_port, 40) for _ in range(3)]
    wait_until(lambda: one.status()["in_flight"]["requests"] == 3, "three requests")
    one.process.send_signal(signal.SIGTERM)
    one.wait_for_phase("draining")
    faster(one)
    for stream in streams:
        text = stream.finished()
        assert "t39" in text and "[DONE]" in text
    assert one.process.wait(timeout=PATIENCE) == 0
    assert one.report()["requests"]["completed"] == 3


def test_a_stream_that_cannot_finish_is_handed_off_and_never_looks_finished(served):
    # Between TERM, at the half of it, and KILL there are 2.5 s.
    short = {"grace_period": "7s", "cleanup_reserve": "3500ms"}
    one = served("--rate", "5", shutdown=short)
    stream = Stream(one.engine_port, 100_000)
    wait_until(lambda: one.status()["in_flight"]["requests"] == 1, "the request")
    one.process.send_signal(signal.SIGTERM)
    text = stream.finished()
    assert "[DONE]" not in text and "event: error" in text
    assert one.process.wait(timeout=PATIENCE) == 0
    assert one.report()["phases"]["draining"]["outcome"] == "timed_out"


def test_streams_do_not_notice_that_the_supervisor_died(served):
    one = served("--rate", "4", shutdown={"grace_period": "60s"})
    stream = Stream(one.engine_port, 60)
    wait_until(lambda: one.status()["in_flight"]["requests"] == 1, "the request")
    first = one.supervisor_pid()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: one.supervisor_pid() not in (0, first), "the next life")
    wait_until(lambda: one.status()["in_flight"]["requests"] == 1, "announced again")
    one.process.send_signal(signal.SIGTERM)
    one.wait_for_phase("draining")
    faster(one)
    assert "[DONE]" in stream.finished()
    assert one.process.wait(timeout=PATIENCE) == 0
    assert one.report()["requests"]["completed"] == 1


def test_a_killed_engine_that_streamed_is_fatal(served):
    one = served("--rate", "5")
    Stream(one.engine_port, 100_000)
    wait_until(lambda: one.status()["in_flight"]["requests"] == 1, "the request")
    os.kill(one.status()["engine"]["pid"], signal.SIGKILL)
    assert one.process.wait(timeout=PATIENCE) == 1
    assert one.report()["requests"]["lost"] == 1


def test_an_engine_that_dies_in_the_drain_with_streams_in_flight_is_no_clean_stop(served):
    one = served("--rate", "5")
    Stream(one.engine_port, 100_000)
    wait_until(lambda: one.status()["in_flight"]["requests"] == 1, "the request")
    one.process.send_signal(signal.SIGTERM)
    one.wait_for_phase("draining")
    os.kill(one.status()["engine"]["pid"], signal.SIGKILL)
    assert one.process.wait(timeout=PATIENCE) == 1
    assert one.report()["requests"]["lost"] == 1
