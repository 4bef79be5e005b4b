"""The supervisor is killed or frozen right after it has announced what it does: the stop still ends
by its deadline, and with the code of its cause, because the shim was left a will before that word.
"""

import json
import os
import signal
import sys
import threading
import time

import pytest
from ports import free_port
from serve_peer import wait_until
from serve_stream import Stream
from serve_world import ENGINE_SIM, SLEEPER, STUBBORN

CLEANING = '"phase begun","phase":"cleaning_up"'
FAULTS = {"killed": signal.SIGKILL, "frozen": signal.SIGSTOP}


class Striker(threading.Thread):
    """Sends the supervisor a signal as soon as its log has this."""

    def __init__(self, one, text, number):
        super().__init__(daemon=True)
        self.one, self.text, self.number = one, text.encode(), number
        self.supervisor = one.supervisor_pid()
        self.log = open(one.path("log"), "rb", buffering=0)  # noqa: SIM115
        self.start()

    def run(self):
        seen = b""
        until = time.monotonic() + 30
        while self.text not in seen and time.monotonic() < until:
            seen = seen[-200:] + self.log.read()
        os.kill(self.supervisor, self.number)
        self.struck_at = time.monotonic()
        self.log.close()


class Stop:
    """A world that serves in this mode, and a cause for it to stop."""

    def __init__(self, world, mode, cause, command=SLEEPER):
        self.one = one = world()
        self.broken = one.path("broken")
        one.config["health"]["checks"] = [
            {"name": "gate", "exec": {"command": ["/usr/bin/test", "!", "-e", self.broken]},
             "failure_threshold": 1}
        ]  # fmt: skip
        self.message = one.path("termination")
        with open(self.message, "w"):
            pass
        self.ready = one.path("ready")
        command = [word.format(ready=self.ready) for word in command]
        if mode == "run":
            self.container = one.run(*command, LASTCALL_TERMINATION_LOG=self.message)
        else:
            one.serve()
            wait_until(lambda: os.path.exists(one.socket), "the socket")
            self.container = one.shim(*command, LASTCALL_TERMINATION_LOG=self.message)
        one.wait_for_log('"phase begun","phase":"serving"')
        if command[0] != SLEEPER[0]:
            wait_until(lambda: os.path.exists(self.ready), "the engine ignores TERM")
        self.peer = one.peer(name="sdk")
        if cause in ("drain", "cleaning_up"):
            self.peer.ask("request.begin", id="held")

    def cause(self, cause):
        """What the supervisor logs about it, at the latest before it acts."""
        if cause == "check":
            with open(self.broken, "w"):
                pass
        elif cause == "sdk":
            self.peer.send("fatal", reason="cuda", detail="device lost")
        elif cause == "drain":
            self.container.send_signal(signal.SIGTERM)
        else:
            self.container.send_signal(signal.SIGTERM)
            self.one.wait_for_log('"phase begun","phase":"draining"')
            self.peer.send("request.end", id="held", outcome="completed")

    def report(self):
        with open(self.message) as file:
            return json.loads(file.read())


WORDS = {"check": "fatal stop", "sdk": "fatal stop",
         "drain": '"phase begun","phase":"draining"', "cleaning_up": CLEANING}  # fmt: skip


@pytest.mark.parametrize("mode", ["run", "beside"])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("cause", WORDS)
def test_a_stop_ends_in_time_and_with_its_code_without_its_supervisor(world, cause, fault, mode):
    stop = Stop(world, mode, cause)
    striker = Striker(stop.one, WORDS[cause], FAULTS[fault])
    stop.cause(cause)
    code = stop.container.wait(timeout=30)
    took = time.monotonic() - striker.struck_at
    assert code == (1 if cause in ("check", "sdk") else 0)
    assert took < 12, "5 s after a fatal event, else 8 s; a busy machine takes its time"
    is_alone = fault == "frozen" or mode == "beside"
    if is_alone and not stop.one.reports():
        report = stop.report()
        assert report["cause"] == {"check": "dead", "sdk": "fatal"}.get(cause, "signal")
        assert report["mode"] == ("fatal" if cause in ("check", "sdk") else "graceful")
        assert report["exit_code"] == code
        assert report["engine"]["ordered"] is True
        if cause == "drain":
            assert report["in_flight_at_phase"] == 1, "what ran when nobody was left to count it"


def test_streams_that_died_with_their_supervisor_are_in_the_report_of_the_shim(world):
    port, listen = free_port(), free_port()
    upstream = f"127.0.0.1:{port}"
    one = world(engine={"kind": "vllm", "url": f"http://{upstream}"},
                ingress={"listen": f"127.0.0.1:{listen}", "upstream": upstream})  # fmt: skip
    message = one.path("termination")
    with open(message, "w"):
        pass
    one.serve()
    wait_until(lambda: os.path.exists(one.socket), "the socket")
    shim = one.shim(sys.executable, ENGINE_SIM, "--port", str(port), "--rate", "20",
                    LASTCALL_TERMINATION_LOG=message)  # fmt: skip
    one.wait_for_log('"phase begun","phase":"serving"')
    streams = [Stream(listen, 5000) for _ in range(2)]
    wait_until(lambda: one.status()["in_flight"]["requests"] == 2, "both run")
    shim.send_signal(signal.SIGTERM)
    one.wait_for_log(WORDS["drain"])
    os.kill(one.supervisor_pid(), signal.SIGKILL)
    assert shim.wait(timeout=30) == 0
    assert not any("[DONE]" in stream.finished() for stream in streams)
    with open(message) as file:
        report = json.loads(file.readline())
    assert (report["in_flight"], report["in_flight_at_phase"]) == ("ingress", 2)
    assert set(report["requests"].values()) == {0}, "nobody was left to count them"


def test_streams_that_died_with_their_supervisor_are_in_the_report_of_the_next_one(world):
    port, listen = free_port(), free_port()
    upstream = f"127.0.0.1:{port}"
    one = world(engine={"kind": "vllm", "url": f"http://{upstream}"},
                ingress={"listen": f"127.0.0.1:{listen}", "upstream": upstream})  # fmt: skip
    run = one.run(sys.executable, ENGINE_SIM, "--port", str(port), "--rate", "20")
    one.wait_for_log('"phase begun","phase":"serving"')
    streams = [Stream(listen, 5000) for _ in range(2)]
    wait_until(lambda: one.status()["in_flight"]["requests"] == 2, "both run")
    run.send_signal(signal.SIGTERM)
    one.wait_for_log(WORDS["drain"])
    os.kill(one.supervisor_pid(), signal.SIGKILL)
    assert run.wait(timeout=30) == 0
    assert not any("[DONE]" in stream.finished() for stream in streams)
    report = one.report()
    assert (report["in_flight"], report["in_flight_at_phase"]) == ("unknown", 2)


@pytest.mark.parametrize("text", ["fatal stop", CLEANING, '"engine signalled"'])
def test_a_fatal_stop_kills_a_stubborn_engine_wherever_the_supervisor_hangs(world, text):
    stop = Stop(world, "beside", "check", STUBBORN)
    Striker(stop.one, text, signal.SIGSTOP)
    stop.cause("check")
    assert stop.container.wait(timeout=30) == 1


def test_an_engine_that_died_of_itself_is_still_fatal_when_the_supervisor_dies_of_the_news(world):
    stop = Stop(world, "beside", "engine")
    Striker(stop.one, "fatal stop", signal.SIGKILL)
    os.kill(stop.one.status()["engine"]["pid"], signal.SIGKILL)
    assert stop.container.wait(timeout=30) == 1
    assert stop.report()["cause"] == "engine_exited"


def test_a_stop_that_the_supervisor_ends_itself_has_its_own_report(world):
    stop = Stop(world, "beside", "drain")
    stop.cause("cleaning_up")
    assert stop.container.wait(timeout=30) == 0
    assert "phases" in stop.report() and "supervisor" not in stop.report()


@pytest.mark.parametrize("mode", ["run", "beside"])
def test_a_supervisor_that_was_frozen_for_the_whole_stop_was_present(world, mode):
    stop = Stop(world, mode, "signal")
    os.kill(stop.one.supervisor_pid(), signal.SIGSTOP)
    stop.container.send_signal(signal.SIGTERM)
    assert stop.container.wait(timeout=30) == 0
    assert stop.report()["supervisor"] == "present"
