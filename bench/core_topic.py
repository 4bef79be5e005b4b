"""The pure core alone: bench_core, which uses Google Benchmark."""

import json

from bench import output
from figures import NotMeasured, figure

TITLE = "pure core, virtual time"
NAMES = {"begin_and_end": "begin and end", "cancel_root": "cancel of all",
         "cancel_one": "begin, cancel and end of one",
         "decide_admission": "a decision of admission"}  # fmt: skip
MOST = {"decide_admission": 200}  # nanoseconds


def _key(name):
    """`begin_and_end/1000/...` to its two words."""
    kind, count = name.split("/")[:2]
    return kind, int(count)


def benchmarked(bench, program):
    """{(name, unit): [time of each repetition]} of a program that uses Google Benchmark."""
    shortest = "0.01" if bench.quick else "0.05"
    text = output([
        program, "--benchmark_format=json", "--benchmark_repetitions=7",
        f"--benchmark_min_time={shortest}", "--benchmark_enable_random_interleaving=true",
    ])  # fmt: skip
    samples = {}
    for one in json.loads(text)["benchmarks"]:
        if one.get("error_occurred"):
            raise NotMeasured(f"{one['name']}: {one['error_message']}")
        if one["run_type"] == "iteration":
            # Where a benchmark counts items, one run of it measures several of them.
            each = 1e9 / one["items_per_second"] if "items_per_second" in one else one["cpu_time"]
            samples.setdefault((one["name"], one["time_unit"]), []).append(each)
    return samples


def core(bench):
    ordered = sorted(benchmarked(bench, bench.core).items(), key=lambda one: _key(one[0][0]))
    for (name, unit), times in ordered:
        kind, count = _key(name)
        whose = "waiting" if kind in MOST else "in flight"
        yield figure(f"{count:>6} {whose}: {NAMES[kind]}", unit, times, bound=MOST.get(kind))


MEASUREMENTS = [core]
