"""Each phase of a lifecycle as a place to stay in: entered, held by a file, and left again.

Rule: every stop here is one TERM at the shim, so that cause and deadline have one source.
"""

import os
import signal
import sys
import threading
from dataclasses import dataclass, field

from serve_peer import PATIENCE, wait_until

HELD_ENGINE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "held_engine.py")


@dataclass(frozen=True)
class Phase:
    name: str  # as the supervisor reports it
    holds: tuple = ()  # arguments of held_engine.py
    config: dict = field(default_factory=dict)
    is_in_stop: bool = True  # the TERM came before the phase
    goes_on_with: tuple = ()  # files that end it


PHASES = {
    "starting": Phase("starting", is_in_stop=False),
    "serving": Phase("serving", ("request",), is_in_stop=False, goes_on_with=("finish",)),
    "deregistering": Phase(
        "deregistering",
        config={"discovery": [{"ipc": {}}], "shutdown": {"deregister_timeout": "20s"}},
        goes_on_with=("left",),
    ),
    "draining": Phase("draining", ("request",), goes_on_with=("finish",)),
    "drained": Phase("drained", is_in_stop=False),
    "cleaning_up": Phase("cleaning_up", ("term",), goes_on_with=("go",)),
}


class Held:
    """A world in a phase; mode "run", or "beside" with a kubelet that restarts the supervisor."""

    def __init__(self, world, phase, mode, **shutdown):
        self.phase = PHASES[phase]
        self.one = world(**self.phase.config)
        self.one.config["shutdown"] = {
            **self.one.config["shutdown"], "grace_period": "60s",
            **self.phase.config.get("shutdown", {}), **shutdown,
        }  # fmt: skip
        self.one.config["health"]["checks"] = [
            {"name": "gate", "exec": {"command": ["/usr/bin/test", "-e", self.one.path("gate")]}}
        ]
        self.mode = mode
        self.kubelet = None
        try:
            self._start()
            self._enter()
        except BaseException:
            self.let_go()  # no other process knows of it yet
            raise

    def _start(self):
        command = (sys.executable, HELD_ENGINE, self.one.directory, *self.phase.holds)
        if self.mode == "run":
            self.shim = self.one.run(*command)
        else:
            self.kubelet = Kubelet(self.one)
            self.shim = self.one.shim(*command)

    def let_go(self):
        """Nothing is started again from now on; what runs ends with its world."""
        if self.kubelet:
            self.kubelet.stop()

    def _enter(self):
        one = self.one
        wait_until(lambda: os.path.exists(one.path("up")), "the engine runs")
        wait_until(lambda: [p["name"] for p in self.status()["peers"]] == ["held"], "its SDK")
        if self.phase.name != "starting":
            self.make("gate")
            one.wait_for_phase("serving")
        if self.phase.name == "drained":
            one.operator().ask("drain")
        if self.phase.is_in_stop:
            self.term()
        one.wait_for_phase(self.phase.name)
        for name in {"deregistering": ["asked"], "cleaning_up": ["ended"]}.get(self.phase.name, []):
            wait_until(lambda: os.path.exists(one.path(name)), name)
        if self.phase.goes_on_with == ("finish",):
            wait_until(lambda: self.status()["in_flight"]["requests"] == 1, "the request")
        self.entered = self.status()

    def status(self):
        return self.one.status()

    def make(self, name):
        open(self.one.path(name), "w").close()

    def term(self):
        self.shim.send_signal(signal.SIGTERM)

    def stop_supervisor(self, number):
        pid = self.one.supervisor_pid()
        os.kill(pid, number)
        return pid

    def go_on(self):
        """To the clean end, whatever is missing for it."""
        self.make("gate")
        if not self.phase.is_in_stop:
            self.term()
        for name in self.phase.goes_on_with:
            self.make(name)

    def ends_with(self, code, patience=PATIENCE):
        """The shim does; and what it had started is gone with it."""
        assert self.shim.wait(timeout=patience) == code
        self.let_go()
        wait_until(lambda: not self.one.processes_left(), "no process is left")


class Kubelet:
    """Starts the supervisor, and again whenever it ends, until asked to stop."""

    def __init__(self, one):
        self._one = one
        self._lock = threading.Lock()
        self._is_over = False
        self._current = one.serve()
        self._thread = threading.Thread(target=self._restart, daemon=True)
        self._thread.start()

    def _restart(self):
        while True:
            self._current.wait()
            with self._lock:  # or the one that `stop` kills would not be the last
                if self._is_over:
                    return
                self._current = self._one.serve()

    def stop(self):
        """And the supervisor with it."""
        with self._lock:
            self._is_over = True
            self._current.send_signal(signal.SIGCONT)
            self._current.kill()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
