#!/usr/bin/env python3
"""The conformance kit: scenarios of an engine's life, played with inits and sidecars.

    run.py [SUBJECT...] [--scenario NAME]... [--quick] [--jobs N] [--repeat N]
           [--results FILE] [--docs] [--list] ... (see --help)

Prints a line for each cell, then the table. Without subjects it plays all of conformance/adapters.
Ends with 0 when every cell was played, whatever its verdict; with `--must-hold SUBJECT` a failure
of that subject ends it with 1. 2 is bad usage, and 3 means that the kit itself could not do what a
scenario requires.

Needs Python 3.11, util-linux and a kernel with user namespaces; no root, no cluster, no network.
"""

import argparse
import concurrent.futures
import os
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

from kit import scenario as scenarios  # noqa: E402
from kit import table  # noqa: E402
from kit.run import Adapter, Cell, Unable, play  # noqa: E402

SIGNS = {"held": "held", "failed": "FAILED", "not applicable": "n/a"}
ORDER = ("lastcall-ingress", "lastcall-sdk", "lastcall-run", "lastcall-pair", "bare", "sleep",
         "tini", "tini-sleep", "dumb-init", "catatonit", "vllm-timeout", "nginx", "haproxy",
         "queue-proxy", "dynamo", "dynamo-lastcall")  # fmt: skip


class BadUsage(Exception):
    pass


def options_of():
    parser = argparse.ArgumentParser(description="plays scenarios with inits and sidecars")
    add = parser.add_argument
    add("subjects", nargs="*", help="names in conformance/adapters")
    add("--scenario", action="append", default=[], help="play only this one (repeatable)")
    add("--quick", action="store_true", help="play only the scenarios that are marked quick")
    add("--jobs", type=int, default=4 * (os.cpu_count() or 1), help="cells that run in parallel")
    add("--repeat", type=int, default=1, help="play each cell N times; one failure counts")
    add("--patience", type=float, default=1, help="a factor for the times of the expectations")
    add("--grace", type=int, help="seconds of grace in place of the scenarios' own")
    add("--adapters", type=Path, default=HERE / "adapters", help="use another folder of adapters")
    add("--results", type=Path, help="write the cells here, as JSON")
    add("--from", dest="earlier", type=Path, action="append", default=[], metavar="FILE",
        help="take the cells of an earlier run instead of playing them again")
    add("--docs", action="store_true", help="remake docs/conformance.md and the transcripts")
    add("--must-hold", action="append", default=[], metavar="SUBJECT",
        help="end with 1 if this subject fails a scenario")
    add("--transcripts", action="store_true", help="print the transcripts of failed cells")
    add("--list", action="store_true", help="list the subjects and scenarios")
    return parser.parse_args()


def adapters_of(folder, names):
    found = {path.name: path for path in folder.iterdir() if os.access(path, os.X_OK)}
    unknown = [name for name in names if name not in found]
    if unknown:
        known = ", ".join(sorted(found))
        raise BadUsage(f"no such subject: {', '.join(unknown)}; there are: {known}")
    place = {name: n for n, name in enumerate(ORDER)}
    chosen = names or sorted(found, key=lambda name: (place.get(name, 99), name))
    return [Adapter(found[name]) for name in chosen]


def usage(text):
    print(f"run.py: {text}", file=sys.stderr)
    return 2


class Player:
    def __init__(self, options, count):
        self.options, self.left, self.unable = options, count, []
        self._lock, self._locks = threading.Lock(), {}

    def play(self, scenario, adapter):
        guard = self._lock_of(adapter)
        with guard:
            cell = self._play(scenario, adapter)
        with self._lock:
            self.left -= 1
            words = f"{SIGNS[cell.verdict]:<7} {adapter.name:<17} {scenario.name}"
            if cell.verdict == "failed":
                words += ": " + "; ".join(cell.reasons)
            print(f"[{self.left:>3}] {words}", flush=True)
            if cell.verdict == "failed" and self.options.transcripts:
                print(cell.transcript, flush=True)
        return cell

    def _lock_of(self, adapter):
        with self._lock:
            fresh = threading.Lock() if adapter.facts.get("exclusive") else _Nothing()
            return self._locks.setdefault(adapter.name, fresh)

    def _play(self, scenario, adapter):
        cell = None
        for _ in range(self.options.repeat):
            try:
                cell = play(scenario, adapter)
            except Unable as problem:
                self.unable.append(f"{adapter.name}, {scenario.name}: {problem}")
                why = f"could not be played: {problem}"
                return Cell(adapter.name, scenario.name, "failed", [why])
            if cell.verdict != "held":
                break
        return cell


class _Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def main():
    options = options_of()
    try:
        chosen = scenarios.read_all(HERE / "scenarios")
    except scenarios.BadScenario as problem:
        return usage(str(problem))
    unknown = set(options.scenario) - {s.name for s in chosen}
    if unknown:
        return usage(f"no such scenario: {', '.join(sorted(unknown))}")
    if options.scenario:
        chosen = [s for s in chosen if s.name in options.scenario]
    if options.quick:
        chosen = [s for s in chosen if s.quick]
    for each in chosen:
        each.grace_s = options.grace or each.grace_s
        each.expect = [{k: v * options.patience if k == "s" else v for k, v in e.items()}
                       for e in each.expect]  # fmt: skip
    try:
        adapters = adapters_of(options.adapters, options.subjects)
    except (BadUsage, Unable) as problem:
        return usage(str(problem))
    if options.list:
        for each in adapters:
            missing = f" (missing: {each.missing})" * bool(each.missing)
            print(f"{each.name:<17} {each.title}{missing}")
        for each in chosen:
            print(f"{each.name:<{table.WIDTH}} {each.title}")
        return 0
    known = table.by_place([cell for path in options.earlier for cell in table.read_results(path)])
    wanted = [(s, a) for s in chosen for a in adapters]
    left = [(s, a) for s, a in wanted if (a.name, s.name) not in known]
    player = Player(options, len(left))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        known |= table.by_place(pool.map(lambda pair: player.play(*pair), left))
    cells = [known[a.name, s.name] for s, a in wanted]
    print("\n" + table.text(chosen, adapters, cells))
    if options.results:
        table.write_results(options.results, cells)
    if options.docs:
        table.write_docs(HERE.parent, chosen, adapters, cells)
    for problem in player.unable:
        print(f"run.py: {problem}", file=sys.stderr)
    if player.unable:
        return 3
    lost = [c for c in cells if c.verdict == "failed" and c.subject in options.must_hold]
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
