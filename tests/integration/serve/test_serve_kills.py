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

import pytest
from ports import free_port
from serve_peer import PATIENCE, wait_until
from serve_stream import Stream
from serve_world import ENGINE_SIM

WORKERS = 4  # each takes every fourth record, so that the runs of one mode are spread
TOKENS = (10, 25, 40)


class Life:
    """One run: from an engine with work to the exit of its container."""

    def __init__(self, world, mode, grace):
        self.one = world(
            identity={"advertise": "http://127.0.0.1:1"},
            shutdown={"grace_period": grace, "cleanup_reserve": "1s"},
        )
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

    def start(self, mode):
        port = free_port()
        self.one.config["health"]["checks"] = [
            {"name": "engine", "http": {"url": f"http://127.0.0.1:{port}/health"}}
        ]
        command = (
            sys.executable, ENGINE_SIM, "--sdk", "--port", str(port), "--rate", "50",
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
        self.container.send_signal(signal.SIGTERM)

        def seen():
            return len(self.one.records()) - before

        wait_until(lambda: seen() >= kill_after or self.container.poll() is not None, "a record")
        is_there = seen() >= kill_after
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.supervisor, signal.SIGKILL)
        return is_there

    def ended_well(self):
        assert self.container.wait(timeout=PATIENCE) == 0
        for stream, count in zip(self.streams, TOKENS, strict=True):
            text = stream.finished()
            assert text.endswith("data: [DONE]\n\n"), text[-300:]
            assert f"t{count - 1} " in text
        with open(self.one.path("trace"), encoding="utf-8") as file:
            events = [json.loads(line)["event"] for line in file]
        assert events.count("end") == len(TOKENS)
        assert "cancel" not in events
        wait_until(lambda: not self.one.processes_left(), "no process is left")


def stops(world, mode, first, grace):
    """Runs after run, until the stop has no more records; yields the life of each."""
    for kill_after in range(first, 200, WORKERS):
        life = Life(world, mode, grace)
        is_there = life.stop(kill_after)
        life.ended_well()
        yield life
        if not is_there:
            return
    pytest.fail("a stop logs without end")


@pytest.mark.parametrize("first", range(1, WORKERS + 1))
def test_a_supervisor_killed_after_any_record_loses_nothing(world, first):
    for life in stops(world, "run", first, "20s"):
        report = life.one.reports()[-1]
        assert report["requests"]["lost"] == 0
        assert report["exit_code"] == 0
        assert os.listdir(life.registry) == []
        assert not os.path.exists(life.leftover)


@pytest.mark.parametrize("first", range(1, WORKERS + 1))
def test_a_supervisor_that_nobody_starts_again_loses_nothing(world, first):
    for _ in stops(world, "beside", first, "4s"):
        pass
