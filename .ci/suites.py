"""Runs compiled tests as ctest has them, but all tests of one suite in one process.

A program with a sanitizer needs 15 to 60 ms for its start and its look for leaks, which is more
than most unit tests take. So here each suite of googletest is one process; every other test is a
process as with ctest. What is to run comes from ctest, and each of those tests has to appear in the
result that its process writes: a test that a process has not come to has failed. A property of
ctest that would be ignored here is refused.
"""

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

FILTER = "--gtest_filter="
KNOWN = {"LABELS", "WORKING_DIRECTORY", "TIMEOUT", "ENVIRONMENT"}
# Each test of googletest has it; here the result of its process contains what was skipped.
KNOWN_OF_SUITES = {"SKIP_REGULAR_EXPRESSION"}


class Job(NamedTuple):
    name: str
    command: tuple
    folder: str
    environment: tuple  # of "NAME=VALUE", besides this process's own
    seconds: float
    tests: tuple  # [(name of googletest, name of ctest)], or nothing where the process is the test


def properties_of(test, known):
    found = {each["name"]: each["value"] for each in test["properties"]}
    if unknown := sorted(found.keys() - known):
        sys.exit(f"suites.py: cannot run {test['name']}: it has the properties {unknown}, expected "
                 f"none but {sorted(known)}")  # fmt: skip
    return found


def jobs_of(listing, seconds):
    """The jobs for what ctest lists: the suites come last, as the other tests take longest.

    A suite has as much time as its tests have together, but not more than `seconds`.
    """
    jobs, suites = [], defaultdict(list)
    for test in listing["tests"]:
        command = tuple(test["command"])
        filters = [word for word in command if word.startswith(FILTER)]
        found = properties_of(test, KNOWN | KNOWN_OF_SUITES if filters else KNOWN)
        place = found.get("WORKING_DIRECTORY"), tuple(found.get("ENVIRONMENT", ()))
        limit = min(seconds, found.get("TIMEOUT") or seconds)
        if filters:
            name = filters[0][len(FILTER) :]
            rest = tuple(word for word in command if word != filters[0])
            suites[rest, place, name.split(".")[0]].append((name, test["name"], limit))
        else:
            jobs.append(Job(test["name"], command, *place, limit, ()))
    for (command, place, suite), tests in suites.items():
        limit = min(seconds, sum(limit for _, _, limit in tests))
        names = tuple((name, shown) for name, shown, _ in tests)
        jobs.append(Job(f"{Path(command[0]).name}:{suite}", command, *place, limit, names))
    return jobs


# The processes that run, each in a session of its own, so that it ends with all that it started.
running = set()


def kill(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def run_process(job, scratch):
    """(what is wrong with the end of the process, its output); an empty text when all is well."""
    command = list(job.command)
    if job.tests:
        command.append(FILTER + ":".join(name for name, _ in job.tests))
        command.append(f"--gtest_output=xml:{scratch}/result.xml")
    with open(f"{scratch}/output", "w+b") as output:
        process = subprocess.Popen(
            command, cwd=job.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            env=dict(os.environ, **dict(each.split("=", 1) for each in job.environment)),
            start_new_session=True,
        )  # fmt: skip
        running.add(process)
        try:
            status = process.wait(job.seconds)
            wrong = f"its process ended with {status}" if status else ""
        except subprocess.TimeoutExpired:
            kill(process)
            process.wait()
            wrong = f"its process did not end in {job.seconds:g} s"
        running.discard(process)
        output.seek(0)
        return wrong, output.read().decode(errors="replace")


def read_results(path):
    """{name of googletest: what is wrong with it, nothing, or None for one that was skipped}."""
    try:
        root = xml.etree.ElementTree.parse(path).getroot()
    except (FileNotFoundError, xml.etree.ElementTree.ParseError):
        return {}  # the process did not come to its end
    results = {}
    for case in root.iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        failures = [each.get("message") or "failed" for each in case.findall("failure")]
        is_skipped = case.get("result") == "skipped" and not failures
        has_run = case.get("status") == "run"
        results[name] = None if is_skipped else "\n".join(failures)
        if not (has_run or is_skipped):
            results[name] = "it was not run"
    return results


def run(job):
    """([(name of ctest, what is wrong, nothing, or None)], output of the process)."""
    with tempfile.TemporaryDirectory() as scratch:
        wrong, output = run_process(job, scratch)
        results = read_results(f"{scratch}/result.xml") if job.tests else {}
    if not job.tests:
        return [(job.name, wrong)], output
    cases = [(shown, results.get(name, wrong or "it was not run")) for name, shown in job.tests]
    if wrong and not any(verdict for _, verdict in cases):
        cases.append((f"{job.name}: the end of its process", wrong))
    return cases, output


def write_junit(path, cases):
    root = xml.etree.ElementTree.Element("testsuite")
    for name, verdict in cases:
        case = xml.etree.ElementTree.SubElement(root, "testcase", name=name)
        if verdict is None:
            xml.etree.ElementTree.SubElement(case, "skipped")
        elif verdict:
            # XML has no place for most control characters, which the output of a test may hold.
            text = re.sub(r"[^\t\n\x20-\ud7ff\ue000-\ufffd]", "?", verdict)
            xml.etree.ElementTree.SubElement(case, "failure", message=text)
    xml.etree.ElementTree.ElementTree(root).write(path, encoding="utf-8")


def run_all(jobs, at_once):
    """All cases, in the order of the jobs; prints those that did not pass."""
    cases = []
    with ThreadPoolExecutor(at_once) as pool:
        try:
            for ran, output in pool.map(run, jobs):
                cases += ran
                print_those_that_did_not_pass(ran, output)
        except BaseException:  # an interrupt, which the sessions of the processes do not get
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(running):
                kill(process)
            raise
    return cases


def print_those_that_did_not_pass(cases, output):
    failed = [(name, verdict) for name, verdict in cases if verdict]
    for name, verdict in cases:
        if verdict is None:
            print(f"skipped: {name}", flush=True)
    if failed:
        print(output)
    for name, verdict in failed:
        print(f"FAILED: {name}: {verdict}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", help="the build's")
    parser.add_argument("labels", help="of ctest, as ctest -L takes them")
    parser.add_argument("output", help="the JUnit file to write")
    parser.add_argument("--at-once", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=900, help="the limit for one process")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    ctest = ["ctest", "--test-dir", options.folder, "-L", options.labels, "--show-only=json-v1"]
    listing = json.loads(subprocess.run(ctest, stdout=subprocess.PIPE, check=True).stdout)
    jobs = jobs_of(listing, options.seconds)
    cases = run_all(jobs, options.at_once)
    write_junit(options.output, cases)
    failed = sum(bool(verdict) for _, verdict in cases)
    print(f"{len(cases)} tests in {len(jobs)} processes, {failed} failed")
    return 1 if failed or len(cases) < len(listing["tests"]) or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
