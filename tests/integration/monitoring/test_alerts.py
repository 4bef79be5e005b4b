"""The alerts of charts/lastcall, asked by promtool about series of real runs (record_scenes.py)."""

import json
import shutil
import subprocess
from pathlib import Path

import promtool_rules
import pytest
import yaml
from scenes import SCENES

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
ALERTS = ROOT / "charts/lastcall/files/alerts.yaml"
PERIOD = 15  # seconds between two samples, as a scrape of every day has it
LABELS = 'namespace="ns",pod="p",instance="i"'

pytestmark = [
    pytest.mark.plain_build,
    pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool: package prometheus"),
]


def promtool(*words):
    command = ["promtool", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rules():
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"]
            for rule in group["rules"]]  # fmt: skip


def recorded(scene):
    """As promtool's input: the last sample goes on for as long as the scene sets."""
    held = SCENES[scene][2]
    columns = json.loads((HERE / f"recorded/{scene}.json").read_text())
    series = []
    for key, values in columns.items():
        name, _, labels = key.partition("{")
        inner = ",".join(part for part in (labels.rstrip("}"), LABELS) if part)
        text = ["_" if value is None else value for value in values]
        text += [text[-1]] * held if text[-1] != "_" else []
        series.append({"series": f"{name}{{{inner}}}", "values": " ".join(text)})
    return series, len(next(iter(columns.values()))) + held


def firing(scene, folder):
    series, length = recorded(scene)
    names = [rule["alert"] for rule in rules()]
    at = (length - 1) * PERIOD
    return sorted(promtool_rules.firing(ALERTS, names, series, PERIOD, at, folder))


def test_the_rules_are_well_formed():
    assert f"{len(rules())} rules found" in promtool("check", "rules", ALERTS)


@pytest.mark.parametrize("scene", SCENES)
def test_the_alerts_of_a_real_run_are_those_that_are_meant_for_it(tmp_path, scene):
    assert firing(scene, tmp_path) == sorted(SCENES[scene][1])


def test_every_alert_has_fired_in_a_real_run():
    assert {name for _, names, _ in SCENES.values() for name in names} == {
        rule["alert"] for rule in rules()
    }


def test_every_alert_explains_itself_and_what_to_do():
    page = (ROOT / "docs/alerts.md").read_text()
    words = " ".join(page.split())
    for rule in rules():
        assert {"summary", "description", "runbook"} == rule["annotations"].keys()
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"]["runbook"] in words, rule["alert"]
    assert page.count("\n## Lastcall") == len(rules())
