#!/usr/bin/env python3
"""Records the scenes: record_scenes.py [SCENE...]; writes recorded/SCENE.json, which test_alerts.py
reads.

Each holds the samples of one real run, of the families that the alerts ask for, by series.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "serve"))
ALERTS = HERE.parents[2] / "charts/lastcall/files/alerts.yaml"
SAMPLE = re.compile(r"^([a-z_]+)(\{.*\})? (\S+)$", re.MULTILINE)


def families():
    return set(re.findall(r"\b((?:lastcall|dynamo)_[a-z_]+)\b", ALERTS.read_text()))


def samples(text, wanted):
    return {name + (labels or ""): value for name, labels, value in SAMPLE.findall(text)
            if name in wanted}  # fmt: skip


def record(scene, make, wanted):
    """One dict of series and values for each look."""
    run = scene(make)
    one = next(run)
    looks = []
    ended = False
    while not ended:
        found = samples(one.get("/metrics")[1], wanted)
        if found:
            looks.append(found)
        try:
            next(run)
        except StopIteration:
            ended = True
    return looks


def main():
    from scenes import SCENES
    from serve_world import worlds

    for name in sys.argv[1:] or SCENES:
        with worlds(tempfile.mkdtemp) as make:
            looks = record(SCENES[name][0], make, families())
        series = sorted({key for look in looks for key in look})
        columns = {key: [look.get(key) for look in looks] for key in series}
        (HERE / f"recorded/{name}.json").write_text(json.dumps(columns, indent=1) + "\n")
        print(f"{name}: {len(looks)} looks, {len(series)} series")


if __name__ == "__main__":
    main()
