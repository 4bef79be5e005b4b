"""The supervisor is killed after each single record that a graceful stop logs, one run each.

Three streams are in flight, an instance is registered, a hook and a path are to be cleaned up. With
a parent that starts the supervisor again the stop goes on as if nothing had been; without one the
shim finishes alone. Either way every stream reaches its last token, and the exit code is 0.
"""

import contextlib
import json
import os
import signal
import sys
from functools import partial

import pytest
from in_time import unless_late
from known_process import monotonic_ms
from ports import free_port
from serve_peer import PATIENCE, wait_until
from serve_stream import Stream, call
from serve_world import ENGINE_SIM

WORKERS = 4  # each takes every fourth record, so that the runs of one mode are spread
TOKENS = (10, 25, 40)


class Life:
    """One run: from an engine with work to the exit of its container."""

    def __init__(self, world, mode, grace_ms, reserve_ms):
        self.one = world(
            identity={"advertise": "http://127.0.0.1:1"},
            shutdown={"grace_period": f"{grace_ms}ms", "cleanup_reserve": f"{reserve_ms}ms"},
        )
        self.time_of_streams_ms = grace_ms - reserve_ms - 500  # with a cancel_settle of 300 ms
        self.registry = self.one.path("instances")
        self.leftover = self.one.path("lora-1")
        os.mkdir(self.registry)
        self.one.config["discovery"] = [{"file": {"directory": self.registry}}]
        self.one.config["cleanup"] = {
            "paths": [self.one.path("lora-*")],
            "hooks": [{"name": "note", "command": ["/bin/true"]}],
        }
        with open(self.leftover, "w"):
            pass
        self.container = self.start(mode)
        self.supervisor = self.one.supervisor_pid()
        self.streams = [Stream(self.port, count) for count in TOKENS]
        wait_until(self.is_streaming, "three streams")
        call(self.port, "POST", "/sim/control", {"rate": 50})

    def start(self, mode):
        port = free_port()
        self.one.config["health"]["checks"] = [
            {"name": "engine", "http": {"url": f"http://127.0.0.1:{port}/health"}}
        ]
        command = (
            sys.executable, ENGINE_SIM, "--sdk", "--port", str(port),
            "--rate", "4",  # until all of them are seen
            "--trace", self.one.path("trace"),
        )  # fmt: skip
        self.port = port
        if mode == "run":
            container = self.one.run(*command)
        else:
            self.one.serve()
            container = self.one.shim(*command)
        self.one.wait_for_log('"phase begun","phase":"serving"')
        return container

    def is_streaming(self):
        return self.one.status()["in_flight"]["requests"] == len(TOKENS)

    def stop(self, kill_after):
        """True when the stop had that many records; the supervisor was killed after the last."""
        before = len(self.one.records())
        self.began_ms = monotonic_ms()
        self.container.send_signal(signal.SIGTERM)

        def seen():
            return len(self.one.records()) - before

        wait_until(lambda: seen() >= kill_after or self.container.poll() is not None, "a record")
        is_there = seen() >= kill_after
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.supervisor, signal.SIGKILL)
        self.code = self.container.wait(timeout=PATIENCE)
        return is_there

    def was_late(self):
        """The streams ran, undisturbed, until their time was up, or the engine until KILL."""
        until = self.began_ms + self.time_of_streams_ms
        in_time = [event["event"] for event in self.events() if event["at_ms"] < until]
        ran_on = in_time.count("end") < len(TOKENS) and "signal" not in in_time
        return ran_on or self.code == 137

    def events(self):
        with open(self.one.path("trace"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def ended_well(self):
        assert self.code == 0
        for stream, count in zip(self.streams, TOKENS, strict=True):
            text = stream.finished()
            assert text.endswith("data: [DONE]\n\n"), text[-300:]
            assert f"t{count - 1} " in text
        events = [event["event"] for event in self.events()]
        assert events.count("end") == len(TOKENS)
        assert "cancel" not in events
        wait_until(lambda: not self.one.processes_left(), "no process is left")


def stops(world, mode, first, grace_ms, reserve_ms):
    """Runs after run, until the stop has no more records; yields the life of each."""

    def stopped(kill_after):
        life = Life(world, mode, grace_ms, reserve_ms)
        return life, life.stop(kill_after)

    for kill_after in range(first, 200, WORKERS):
        life, is_there = unless_late(partial(stopped, kill_after), lambda end: end[0].was_late())
        life.ended_well()
        yield life
        if not is_there:
            return
    pytest.fail("a stop logs without end")


@pytest.mark.parametrize("first", range(1, WORKERS + 1))
def test_a_supervisor_killed_after_any_record_loses_nothing(world, first):
    for life in stops(world, "run", first, 20_000, 1_000):
        report = life.one.reports()[-1]
        assert report["requests"]["lost"] == 0
        assert report["exit_code"] == 0
        assert os.listdir(life.registry) == []
        assert not os.path.exists(life.leftover)


@pytest.mark.plain_build
@pytest.mark.parametrize("first", range(1, WORKERS + 1))
def test_a_supervisor_that_nobody_starts_again_loses_nothing(world, first):
    # Alone, the shim gives TERM after 2.5 s, when the streams have ended, and KILL after 4.4 s.
    for _ in stops(world, "beside", first, 5_000, 2_500):
        pass
