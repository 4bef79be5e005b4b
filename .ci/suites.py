"""Runs compiled tests as ctest has them, but all tests of one suite in one process.

A program with a sanitizer needs 15 to 60 ms for its start and its look for leaks, which is more
than most unit tests take. So here each suite of googletest is one process; every other test is a
process as with ctest. What is to run comes from ctest, and each of those tests has to appear in the
result that its process writes: a test that a process has not come to has failed.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

FILTER = "--gtest_filter="


class Job(NamedTuple):
    name: str
    command: tuple
    folder: str
    seconds: float
    tests: tuple  # [(name of googletest, name of ctest)], or nothing where the process is the test


def property_of(test, name):
    found = [each["value"] for each in test["properties"] if each["name"] == name]
    return found[0] if found else None


def jobs_of(listing, seconds):
    """The jobs for what ctest lists; tests that are no suites of googletest first, as they last."""
    alone, suites = [], defaultdict(list)
    for test in listing["tests"]:
        folder = property_of(test, "WORKING_DIRECTORY")
        limit = min(seconds, property_of(test, "TIMEOUT") or seconds)
        command = tuple(test["command"])
        filters = [word for word in command if word.startswith(FILTER)]
        if filters:
            name = filters[0][len(FILTER) :]
            rest = tuple(word for word in command if word != filters[0])
            suites[rest, folder, limit, name.split(".")[0]].append((name, test["name"]))
        else:
            alone.append(Job(test["name"], command, folder, limit, ()))
    for (command, folder, limit, suite), tests in suites.items():
        name = f"{Path(command[0]).name}:{suite}"
        alone.append(Job(name, command, folder, limit, tuple(tests)))
    return alone


def run_process(job, scratch):
    """(what is wrong with the end of the process, its output); an empty text when all is well."""
    command = list(job.command)
    if job.tests:
        command.append(FILTER + ":".join(name for name, _ in job.tests))
        command.append(f"--gtest_output=xml:{scratch}/result.xml")
    with open(f"{scratch}/output", "w+b") as output:
        process = subprocess.Popen(
            command, cwd=job.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        try:
            status = process.wait(job.seconds)
            wrong = f"its process ended with {status}" if status else ""
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            wrong = f"its process did not end in {job.seconds:g} s"
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
    """All cases, in the order in which their processes ended; prints those that did not pass."""
    cases = []
    with ThreadPoolExecutor(at_once) as pool:
        for ran, output in pool.map(run, jobs):
            for name, verdict in ran:
                if verdict is None:
                    print(f"skipped: {name}", flush=True)
            failed = [(name, verdict) for name, verdict in ran if verdict]
            if failed:
                print(output)
            for name, verdict in failed:
                print(f"FAILED: {name}: {verdict}", flush=True)
            cases += ran
    return cases


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", help="the build's")
    parser.add_argument("labels", help="of ctest, as ctest -L takes them")
    parser.add_argument("output", help="the JUnit file to write")
    parser.add_argument("--at-once", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=900, help="the limit for one process")
    options = parser.parse_args()
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
