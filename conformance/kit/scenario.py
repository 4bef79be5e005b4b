"""Scenarios are data: one TOML file each, read strictly. docs/conformance.md has the keys."""

import inspect
import tomllib
from dataclasses import dataclass, field

from .checks import CHECKS
from .run import Run

KEYS = {"title", "why", "order", "quick", "needs", "grace_s", "limits", "ready", "states_grace",
        "engine", "steps", "expect"}  # fmt: skip


class BadScenario(Exception):
    pass


@dataclass
class Scenario:
    """`needs` holds for every subject; needs_of() adds those of the engine's flags."""

    name: str
    title: str
    why: str
    order: int
    quick: bool = False
    needs: list = field(default_factory=list)
    grace_s: int = 10
    limits: dict | None = None
    waits_ready: bool = True
    states_grace: bool = True
    engine: dict = field(default_factory=dict)
    steps: list = field(default_factory=list)
    expect: list = field(default_factory=list)

    def needs_of(self, knobs):
        """The needs with an adapter whose own engine understands only the flags in `knobs`."""
        lies = set(self.engine) - {"token_ms"} - set(knobs)
        return list(dict.fromkeys([*self.needs, *(["lying engine"] if lies else [])]))


def _fits(function, arguments, skipped):
    names = list(inspect.signature(function).parameters.values())[skipped:]
    unknown = set(arguments) - {p.name for p in names}
    lacking = {p.name for p in names if p.default is p.empty} - set(arguments)
    return unknown, lacking


def read(path):
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise BadScenario(f"{path.name}: {error}") from None
    problems = [f"unknown key '{key}'" for key in sorted(set(data) - KEYS)]
    problems += [f"'{key}' is missing" for key in ("title", "why", "order", "steps", "expect")
                 if key not in data]  # fmt: skip
    for number, step in enumerate(data.get("steps", ()), 1):
        function = getattr(Run, f"step_{step.get('do')}", None)
        if function is None:
            problems.append(f"step {number}: unknown 'do = \"{step.get('do')}\"'")
            continue
        unknown, lacking = _fits(function, {k for k in step if k != "do"}, 1)
        problems += [f"step {number}: unknown '{key}'" for key in sorted(unknown)]
        problems += [f"step {number}: '{key}' is missing" for key in sorted(lacking)]
    for number, each in enumerate(data.get("expect", ()), 1):
        function = CHECKS.get((each.get("who"), each.get("that")))
        if function is None:
            words = f"{each.get('who')}: {each.get('that')}"
            problems.append(f"expect {number}: there is no check {words}")
            continue
        unknown, lacking = _fits(function, {k for k in each if k not in ("who", "that")}, 1)
        problems += [f"expect {number}: unknown '{key}'" for key in sorted(unknown)]
        problems += [f"expect {number}: '{key}' is missing" for key in sorted(lacking)]
    if problems:
        raise BadScenario("\n".join(f"{path.name}: {problem}" for problem in problems))
    return _made(path.stem, data)


def _made(name, data):
    needs = list(data.get("needs", ()))
    acts = any(step["do"] == "signal" and step["to"] in ("core", "worker")
               for step in data["steps"])  # fmt: skip
    if acts:
        needs.append("lying engine")
    if not data.get("states_grace", True):
        needs.append("unannounced grace")
    return Scenario(
        name, data["title"], data["why"], data["order"], data.get("quick", False), needs,
        data.get("grace_s", 10), data.get("limits"), data.get("ready", True),
        data.get("states_grace", True), data.get("engine", {}), data["steps"], data["expect"],
    )  # fmt: skip


def read_all(folder):
    scenarios = [read(path) for path in sorted(folder.glob("*.toml"))]
    return sorted(scenarios, key=lambda scenario: (scenario.order, scenario.name))
