"""One cell of the table: one scenario with one subject, from its pod to its verdict."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import pod as pods
from .checks import CHECKS
from .client import Call
from .trace import Transcript, now_ms, wait_until

HERE = Path(__file__).resolve().parents[1]
ENGINE = HERE / "engine.py"
START_S = 40  # a subject has this long to get ready


class Unable(Exception):
    """The kit itself could not do what a scenario asks for; this is not about the subject."""


@dataclass
class Cell:
    subject: str
    scenario: str
    verdict: str  # held, failed, not applicable
    reasons: list = field(default_factory=list)
    transcript: str = ""
    seconds: float = 0.0


def flat(value):
    """Texts of nested lists in order: an adapter may put the engine's command into its own."""
    return [value] if isinstance(value, str) else [word for each in value for word in flat(each)]


class Adapter:
    """A program that answers its verbs `describe` and `pod` in JSON; `pod` reads a request."""

    def __init__(self, path):
        self.name, self.path = path.name, path
        self.facts = self._run("describe", {})
        self.title = self.facts["title"]
        self.missing = self.facts.get("missing")

    def _run(self, verb, request):
        done = subprocess.run([str(self.path), verb], input=json.dumps(request), text=True,
                              capture_output=True, timeout=60)  # fmt: skip
        try:
            return json.loads(done.stdout)
        except ValueError:
            words = (done.stderr or done.stdout).strip()[-400:]
            raise Unable(f"{self.name} {verb}: expected JSON, got: {words}") from None

    def cannot(self, scenario):
        cannot = self.facts.get("cannot", {})
        return [cannot[n] for n in scenario.needs_of(self.facts.get("knobs", ())) if n in cannot]

    def pod(self, request):
        description = self._run("pod", request)
        for container in description["containers"]:
            container["argv"] = flat(container["argv"])
        return description


class Run:
    """What the steps of a scenario act on and its checks look at."""

    def __init__(self, scenario, adapter):
        self.scenario, self.adapter, self.transcript = scenario, adapter, Transcript()
        self.calls, self.marks, self.operator = {}, {}, {}
        self.zombies, self.left, self.pod, self.ended_ms = [], [], None, None
        self.folder = tempfile.mkdtemp(prefix="kit-", dir="/tmp")  # short: it holds sockets
        self.trace = os.path.join(self.folder, "engine.jsonl")
        self._read, self._reading, self.ports = 0, threading.Lock(), []

    # --- start and end

    def start(self):
        scenario = self.scenario
        ports = self.ports = pods.free_ports(10)
        knobs = {"token_ms": 50, **scenario.engine}
        words = [str(ENGINE), "--port", str(ports[0]), "--trace", self.trace]
        for name, value in knobs.items():
            words += [f"--{name.replace('_', '-')}", str(value)]
        open(self.trace, "w").close()
        self.description = self.adapter.pod({
            "scenario": scenario.name, "dir": self.folder, "grace_s": scenario.grace_s,
            "engine": [sys.executable, *words], "engine_port": ports[0], "ports": ports[1:],
            "token_ms": knobs["token_ms"], "limits": scenario.limits,
            "stated": scenario.states_grace,
        })  # fmt: skip
        self.grace_s = self.description.get("grace_s", scenario.grace_s)
        self.pod = pods.Pod(self.description, self.folder, self.grace_s, self.transcript)
        if scenario.waits_ready and not wait_until(
            lambda: self.pod.is_ready or self.pod.engine.ended.is_set(), START_S
        ):
            raise Unable("the pod did not become ready: " + self._tails())
        self.read_trace()

    def _tails(self):
        return " | ".join(f"{c.name}: {c.text()[-600:]}" for c in self.pod.containers)

    def close(self):
        self.ended_ms = now_ms()
        if self.pod is not None:
            self.pod.close()
            self.read_trace()
            for call in self.calls.values():
                call.join(5)

    def remove(self):
        pods.return_ports(self.ports)
        shutil.rmtree(self.folder, ignore_errors=True)

    def read_trace(self):
        with self._reading, open(self.trace) as file:
            file.seek(self._read)
            while (line := file.readline()).endswith("\n"):
                self._read = file.tell()
                entry = json.loads(line)
                what, at_ms = entry.pop("event"), entry.pop("at_ms")
                self.transcript.add("engine", what, at_ms=at_ms, **entry)

    def engine_event(self, what, **fields):
        """The first such event, of any id where the subject gives ids of its own."""
        self.read_trace()
        if not self.description.get("request_ids", True):
            fields.pop("id", None)
        return self.transcript.first("engine", what, **fields)

    # --- steps

    def step_request(self, name, tokens, stream=True, until=1, within=20):
        """A client sends a request; the step ends when `until` tokens have come (0: at once)."""
        call = Call(name, self.description["entry"], tokens, stream, self.transcript,
                    path=self.description.get("path", "/v1/completions"),
                    words_are_tokens=self.description.get("words_are_tokens", True))  # fmt: skip
        self.calls[name] = call
        call.start()
        if until and stream:
            wait_until(lambda: call.got >= until or call.outcome, within)
        elif until:
            wait_until(lambda: self.engine_event("begin", id=name) or call.outcome, within)

    def step_hang_up(self, name):
        self.calls[name].hang_up()
        self.mark("hang_up")

    def step_stop(self):
        """The kubelet deletes the pod."""
        self.pod.delete()
        self.mark("stop", self.pod.deleted_ms)

    def step_after_stop(self, s):
        """Waits until so much time has passed since the stop."""
        time.sleep(max(0, s - (now_ms() - self.marks["stop"]) / 1000))

    def step_signal(self, to, name):
        """To `pid1`, `main`, `core` or `worker`, or to `helper`, the subject's process."""
        pid = self._process(to)
        self.transcript.add("kit", f"SIG{name} to {to}", pid=pid)
        self.mark("signal")
        try:
            os.kill(pid, getattr(signal, "SIG" + name))
        except ProcessLookupError:
            self.transcript.add("kit", f"{to} has ended already")

    def _process(self, to):
        if to == "pid1":
            return self.pod.engine.pid
        if to == "helper":
            return self._helper()
        role = self.engine_event("process", role=to)
        pid = role and self.pod.engine.inner_process(role.fields["pid"])
        if not pid:
            raise Unable(f"the engine has no {to}")
        return pid

    def _helper(self):
        """The process of the adapter's container whose command contains the adapter's words."""
        helper = self.description["helper"]
        container = next(c for c in self.pod.containers if c.name == helper["container"])
        found = wait_until(
            lambda: [p for _, p, _, command in container.processes()[::-1]
                     if helper["command"] in command], 5)  # fmt: skip
        if not found:
            raise Unable(f"no process has {helper['command']!r} in its command")
        return found[0]

    def step_operator(self, verb):
        done = subprocess.run(self.description["operator"][verb], capture_output=True, text=True,
                              timeout=self.grace_s + 30)  # fmt: skip
        self.operator[verb] = done.returncode
        self.transcript.add("operator", verb, code=done.returncode)

    def step_wait(self, until, within, of=None, mark=None):
        """Waits for a condition, for up to `within` seconds; `time` waits for all of them."""
        conditions = {
            "call": lambda: self.calls[of].outcome,
            "ended": self.pod.has_ended,
            "exit": self.pod.engine.ended.is_set,
            "ready": lambda: self.pod.is_ready,
            "not ready": lambda: not self.pod.is_ready or self.pod.engine.ended.is_set(),
            "core gone": lambda: self.engine_event("core_gone"),
            "aborted": lambda: self.engine_event("abort", id=of),
            "started": lambda: self.engine_event("begin", id=of),
            "time": lambda: False,
        }
        wait_until(conditions[until], within)
        if mark:
            self.mark(mark)

    def step_find_zombies(self):
        """Finds zombies in the engine's container that last, not those about to be reaped."""
        def zombies():
            return [p[1] for p in self.pod.engine.processes() if p[2] == "Z"]

        wait_until(lambda: not zombies(), 2)
        self.zombies = zombies()

    def mark(self, name, at_ms=None):
        self.marks[name] = now_ms() if at_ms is None else at_ms

    # --- the verdict

    def verdict(self):
        failures = []
        for expected in self.scenario.expect:
            arguments = {k: v for k, v in expected.items() if k not in ("who", "that")}
            found = CHECKS[expected["who"], expected["that"]](self, **arguments)
            if found:
                failures.append(found)
        return failures


def play(scenario, adapter):
    """Runs the steps and judges the outcome. A failure of the kit itself is raised as Unable."""
    reasons = [adapter.missing] if adapter.missing else adapter.cannot(scenario)
    if reasons:
        return Cell(adapter.name, scenario.name, "not applicable", reasons)
    started = time.monotonic()
    run = Run(scenario, adapter)
    try:
        run.start()
        for step in scenario.steps:
            arguments = {k: v for k, v in step.items() if k != "do"}
            getattr(run, "step_" + step["do"])(**arguments)
        if "stop" in run.marks:
            wait_until(run.pod.has_ended, run.grace_s + 5)
        if not pods.isolated() and run.pod.engine.ended.is_set():
            run.left = pods.descendants(run.pod.engine.pid)
        run.close()
        failures = run.verdict()
        text = run.transcript.text() + outputs(run)
    finally:
        if run.ended_ms is None:
            run.close()
        run.remove()
    verdict = "failed" if failures else "held"
    return Cell(adapter.name, scenario.name, verdict, failures, plain(text, run),
                round(time.monotonic() - started, 1))  # fmt: skip


def outputs(run):
    """The last lines of each container's output, and its termination message."""
    rows = []
    for container in run.pod.containers:
        lines = container.text().strip().splitlines()[-3:]
        rows += [f"  {container.name}| {line[:300]}" for line in lines]
        if message := container.message().strip():
            rows.append(f"  {container.name}, termination message| {message[:600]}")
    return "\n" + "\n".join(rows) if rows else ""


def plain(text, run):
    """The text without paths of this machine."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    for place, name in ((run.folder, "DIR"), (str(HERE.parent), "."), (sys.prefix, "PYTHON"),
                        (os.path.expanduser("~"), "HOME")):  # fmt: skip
        text = text.replace(place, name)
    return text
