"""The runner of suites: what a process has not shown of a test is a failure of that test."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lint_tree import ROOT

PASSING = """<testsuites><testsuite name="One">
<testcase name="a" status="run" result="completed" classname="One"/>
<testcase name="b" status="run" result="completed" classname="One"/>
</testsuite></testsuites>"""


def listed(**properties):
    return [{"name": name, "value": value} for name, value in properties.items()]


@pytest.fixture
def suites(monkeypatch):
    spec = importlib.util.spec_from_file_location("suites", ROOT / ".ci/suites.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "suites", module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def play(suites, tmp_path):
    """{name: verdict} of a program of googletest that writes this result and runs that command."""

    def cases(result, then="exit 0", names=("One.a", "One.b"), seconds=30, **properties):
        program = tmp_path / "program"
        program.write_text(
            f'#!/bin/sh\nfor word; do case $word in --gtest_output=xml:*) to=${{word#*:}};;'
            f' esac; done\ncat >"$to" <<"END"\n{result}\nEND\n{then}\n'
        )
        program.chmod(0o755)
        tests = [
            {
                "name": f"program:{name}",
                "command": [str(program), f"--gtest_filter={name}"],
                "properties": listed(WORKING_DIRECTORY=str(tmp_path), **properties),
            }
            for name in names
        ]
        jobs = suites.jobs_of({"tests": tests}, seconds)
        return dict(suites.run_all(jobs, 2))

    return cases


def test_tests_of_one_suite_share_a_process(suites):
    def test(name, *command):
        return {"name": name, "command": command, "properties": []}

    listing = {"tests": [
        test("x:A.a", "x", "--gtest_filter=A.a"), test("x:A.b/0", "x", "--gtest_filter=A.b/0"),
        test("x:B.a", "x", "--gtest_filter=B.a"), test("sim", "sim", "--count", "8"),
        test("y:A.a", "y", "--gtest_filter=A.a")]}  # fmt: skip
    jobs = suites.jobs_of(listing, 900)
    shared = [[shown for _, shown in job.tests] for job in jobs]
    assert shared == [[], ["x:A.a", "x:A.b/0"], ["x:B.a"], ["y:A.a"]]
    assert jobs[0].command == ("sim", "--count", "8")


def test_what_passes_passes(play):
    assert play(PASSING) == {"program:One.a": "", "program:One.b": ""}


def test_one_that_failed_and_one_that_was_skipped_are_told_from_the_others(play):
    failed = PASSING.replace(
        'name="a" status="run" result="completed" classname="One"/>',
        'name="a" status="run" result="completed" classname="One"><failure message="1 is 2"/>'
        "</testcase>")  # fmt: skip
    skipped = failed.replace('name="b" status="run" result="completed"',
                             'name="b" status="run" result="skipped"')  # fmt: skip
    assert play(skipped, "exit 1") == {"program:One.a": "1 is 2", "program:One.b": None}


def test_one_that_the_process_did_not_run_has_failed(play):
    assert play(PASSING, names=("One.a", "One.c")) == {
        "program:One.a": "", "program:One.c": "it was not run"}  # fmt: skip
    notrun = PASSING.replace('name="b" status="run"', 'name="b" status="notrun"')
    assert play(notrun)["program:One.b"] == "it was not run"


@pytest.mark.parametrize("result", ["", "<testsuites><testsuite>"])
def test_all_tests_of_a_process_that_crashed_have_failed(play, result):
    ended = "its process ended with -6"
    assert play(result, "kill -ABRT $$") == {"program:One.a": ended, "program:One.b": ended}


def test_a_leak_that_is_found_at_the_end_is_a_failure_of_its_own(play):
    assert play(PASSING, "exit 23")["program:One: the end of its process"] == (
        "its process ended with 23")  # fmt: skip


def test_a_process_that_does_not_end_is_killed(play):
    verdicts = play("", "exec sleep 600", seconds=0.5)
    assert set(verdicts.values()) == {"its process did not end in 0.5 s"}


def has_ended(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(") ", 1)[1][0] in "ZX"
    except FileNotFoundError:
        return True


def wait_until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


CHILD = "sleep 600 & echo $! >child.new; mv child.new child; wait"


def test_what_a_process_that_does_not_end_has_started_is_killed_too(play, tmp_path):
    assert set(play("", CHILD, seconds=5).values()) == {"its process did not end in 5 s"}
    wait_until(lambda: has_ended((tmp_path / "child").read_text().strip()))


@pytest.mark.parametrize("word", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_interrupted_ends_what_it_has_started(tmp_path, word):
    test = {"name": "x", "command": ["sh", "-c", CHILD],
            "properties": listed(WORKING_DIRECTORY=str(tmp_path))}  # fmt: skip
    ctest = tmp_path / "ctest"
    ctest.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps({'tests': [test, test]})}\nEND\n")
    ctest.chmod(0o755)
    words = [ROOT / ".ci/suites.py", tmp_path, "x", tmp_path / "out.xml", "--at-once", "1"]
    path = f"{tmp_path}:{os.environ['PATH']}"
    process = subprocess.Popen(
        [sys.executable, "-B", *words], env={**os.environ, "PATH": path}, stderr=subprocess.DEVNULL
    )
    wait_until((tmp_path / "child").exists)
    process.send_signal(word)
    assert process.wait(60) != 0
    wait_until(lambda: has_ended((tmp_path / "child").read_text().strip()))


def test_a_test_has_the_environment_that_ctest_would_give_it(play):
    done = play(PASSING, '[ "$WORDS" = "a b=c" ]', ENVIRONMENT=["X=1", "WORDS=a b=c"])
    assert done == {"program:One.a": "", "program:One.b": ""}


def test_tests_of_different_environments_share_no_process(suites):
    tests = [{"name": name, "command": ["x", f"--gtest_filter=A.{name}"],
              "properties": listed(ENVIRONMENT=[f"X={name}"])} for name in "ab"]  # fmt: skip
    assert [job.environment for job in suites.jobs_of({"tests": tests}, 9)] == [("X=a",), ("X=b",)]


def test_a_suite_has_the_time_of_its_tests(suites):
    tests = [{"name": name, "command": ["x", f"--gtest_filter=A.{name}"],
              "properties": listed(TIMEOUT=4)} for name in "abc"]  # fmt: skip
    assert [suites.jobs_of({"tests": tests}, most)[0].seconds for most in (900, 9, 3)] == [12, 9, 3]


def test_a_property_that_would_be_ignored_is_refused(suites):
    tests = [{"name": "x", "command": ["x"], "properties": listed(LABELS=["unit"], WILL_FAIL=True)}]
    with pytest.raises(SystemExit, match="cannot run x: it has the properties .'WILL_FAIL'."):
        suites.jobs_of({"tests": tests}, 900)


def test_the_summary_counts_what_the_runner_writes(suites, tmp_path):
    spec = importlib.util.spec_from_file_location("summary", ROOT / ".ci/summary.py")
    summary = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(summary)
    suites.write_junit(tmp_path / "a.xml", [("fine", ""), ("not here", None), ("bad", "\x1b[0m")])
    lines, status = summary.summarise(tmp_path)
    assert (lines[-1], status) == ("1 passed, 1 failed, 1 skipped", 1)
