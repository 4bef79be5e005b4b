"""The pure core alone: bench_core, which uses Google Benchmark."""

import json

from bench import output
from figures import NotMeasured, figure

TITLE = "pure core, virtual time"
NAMES = {"begin_and_end": "begin and end", "cancel_root": "cancel of all"}


def _key(name):
    """`begin_and_end/1000/...` to its two words."""
    kind, count = name.split("/")[:2]
    return kind, int(count)


def core(bench):
    shortest = "0.01" if bench.quick else "0.05"
    text = output([
        bench.core, "--benchmark_format=json", "--benchmark_repetitions=7",
        f"--benchmark_min_time={shortest}", "--benchmark_enable_random_interleaving=true",
    ])  # fmt: skip
    samples = {}
    for one in json.loads(text)["benchmarks"]:
        if one.get("error_occurred"):
            raise NotMeasured(f"{one['name']}: {one['error_message']}")
        if one["run_type"] == "iteration":
            samples.setdefault((one["name"], one["time_unit"]), []).append(one["cpu_time"])
    ordered = sorted(samples.items(), key=lambda one: _key(one[0][0]))
    for (name, unit), times in ordered:
        kind, count = _key(name)
        yield figure(f"{count:>6} in flight: {NAMES[kind]}", unit, times)


MEASUREMENTS = [core]
