"""The conformance kit: lastcall's own rows in short, and that the kit can detect a failure."""

import importlib
import json
import os
import re
import subprocess
import sys

import pytest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
KIT = os.path.join(ROOT, "conformance/run.py")
SPEC = """#!{python}
import json, sys
if sys.argv[1] == "describe":
    print(json.dumps({{"title": "t", "cannot": {cannot}}}))
else:
    request = json.load(sys.stdin)
    port = request["engine_port"]
    engine = {{"name": "engine", "argv": [request["engine"]]}}
    print(json.dumps({{"entry": port, "ready": [f"http://127.0.0.1:{{port}}/health"],
                       "containers": [engine]}}))
"""


def kit_module(name):
    sys.path.insert(0, os.path.join(ROOT, "conformance"))
    try:
        return importlib.import_module(f"kit.{name}")
    finally:
        del sys.path[0]


def isolated():
    return kit_module("pod").isolated()


def kit(*words):
    return subprocess.run([sys.executable, "-B", KIT, *words], capture_output=True, text=True,
                          timeout=150)  # fmt: skip


def cells(path):
    with open(path) as file:
        return {(cell["subject"], cell["scenario"]): cell for cell in json.load(file)}


def test_lastcall_with_its_ingress_holds_the_quick_scenarios(tmp_path):
    results = tmp_path / "cells.json"
    done = kit("lastcall-ingress", "--quick", "--jobs", "4", "--patience", "5", "--grace", "20",
               "--must-hold", "lastcall-ingress", "--results", str(results),
               "--transcripts")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(cells(results)) >= 8


def test_ten_seconds_of_unannounced_grace_are_enough_for_run():
    """Docker's default, PID 1, no configuration: nothing is killed, and clients are notified."""
    if not isolated():
        pytest.skip("no PID namespace can be made here")
    done = kit("lastcall-sdk", "--scenario", "unannounced-grace", "--must-hold", "lastcall-sdk",
               "--transcripts")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_promise_that_is_broken_is_a_failure_with_a_transcript(tmp_path):
    """The adapter is in sh, and its engine dies of its TERM."""
    results = tmp_path / "cells.json"
    words = ("bare", "--scenario", "short-stream-completes", "--results", str(results))
    assert kit(*words).returncode == 0
    cell = cells(results)["bare", "short-stream-completes"]
    assert cell["verdict"] == "failed"
    assert re.search(r"a was cut after \d+ of 60 tokens", " ".join(cell["reasons"]))
    assert "kubelet   SIGTERM to engine" in cell["transcript"]
    assert "engine    signal role=main name=TERM" in cell["transcript"]
    assert kit(*words, "--must-hold", "bare").returncode == 1


def test_a_feature_that_a_subject_does_not_claim_is_not_applicable(tmp_path):
    folder, results = tmp_path / "adapters", tmp_path / "cells.json"
    folder.mkdir()
    for name, cannot in (("able", "{}"), ("unable", '{"admission": "it is small"}')):
        (folder / name).write_text(SPEC.format(python=sys.executable, cannot=cannot))
        (folder / name).chmod(0o755)
    done = kit("--adapters", str(folder), "--scenario", "client-leaves-queue",
               "--results", str(results))  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = cells(results)
    assert found["unable", "client-leaves-queue"]["reasons"] == ["it is small"]
    assert found["able", "client-leaves-queue"]["verdict"] == "failed"  # it let more than two run


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["nobody"], "no such subject: nobody"),
        (["--scenario", "nothing"], "no such scenario: nothing"),
    ],
)
def test_bad_usage_names_what_is_wrong(words, complaint):
    done = kit(*words)
    assert (done.returncode, complaint in done.stderr) == (2, True), done.stderr


def test_an_adapter_that_does_not_answer_in_json_is_named(tmp_path):
    (tmp_path / "broken").write_text("#!/bin/sh\necho no\n")
    (tmp_path / "broken").chmod(0o755)
    done = kit("--adapters", str(tmp_path), "--scenario", "short-stream-completes")
    assert done.returncode == 2
    assert "broken describe: expected JSON, got: no" in done.stderr


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("order = 10", "orders = 10"), "unknown key 'orders'"),
        (('do = "stop"', 'do = "halt"'), "step 2: unknown 'do = \"halt\"'"),
        (("until = 20", "til = 20"), "step 1: unknown 'til'"),
        (('that = "complete"', 'that = "happy"'), "expect 1: there is no check client: happy"),
        (('of = "a"\n', ""), "expect 1: 'of' is missing"),
    ],
)
def test_a_wrong_scenario_is_refused_in_words(tmp_path, change, complaint):
    scenario = kit_module("scenario")
    with open(os.path.join(ROOT, "conformance/scenarios/short-stream-completes.toml")) as file:
        text = file.read()
    assert change[0] in text
    (tmp_path / "bad.toml").write_text(text.replace(*change))
    with pytest.raises(scenario.BadScenario, match=re.escape(complaint)):
        scenario.read(tmp_path / "bad.toml")


def test_each_failure_of_a_form_of_lastcall_is_explained_below_the_table():
    with open(os.path.join(ROOT, "docs/conformance.md"), encoding="utf-8") as file:
        page = file.read()
    names = dict(re.findall(r"^\| ([A-Z]) \| `([a-z-]+)`", page, re.MULTILINE))
    failed, explained = set(), set()
    for scenario, row in re.findall(r"^\| `([a-z-]+)`: (.*)\|$", page, re.MULTILINE):
        marks = [mark.strip() for mark in row.split(" | ")][1:]
        failed |= {(name, scenario) for name, mark in zip(names.values(), marks, strict=True)
                   if "lastcall" in name and "✗" in mark}  # fmt: skip
    _, _, known = page.partition("<!-- known:begin -->")
    for line in known.partition("<!-- known:end -->")[0].splitlines()[3:]:
        scenarios, subjects = (re.findall(r"`([a-z-]+)`", cell) for cell in line.split("|")[1:3])
        explained |= {(name, scenario) for name in subjects for scenario in scenarios}
    assert failed and failed == explained
