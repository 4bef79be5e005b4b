"""Sums up a test run: every JUnit file of the folder, and the stages that ran.

Prints the names of what failed, then one line 'N passed, N failed, N skipped'. A stage that failed
although none of the tests in this run did (a build, the linters, a sanitizer's report) counts as
one failure, so that the line never reports less than the exit status. Nothing run is a failure too.

A long run is to show everything: it also prints why tests were skipped, so that 'passed' does not
hide what this machine could not show (namespaces, cgroups, containers).
"""

import os
import sys
import xml.etree.ElementTree
from collections import Counter
from pathlib import Path


def outcome(case):
    tags = {child.tag for child in case}
    if tags & {"failure", "error"} or case.get("status") == "fail":
        return "failed"
    return "skipped" if "skipped" in tags else "passed"


def read_cases(folder):
    """Yields (name, outcome) of each test, a test cut off in the middle of a file included."""
    for path in sorted(folder.glob("*.xml")):
        try:
            root = xml.etree.ElementTree.parse(path).getroot()
        except xml.etree.ElementTree.ParseError as error:
            yield f"{path.name}: cannot read: {error}", "failed"
            continue
        for case in root.iter("testcase"):
            yield f"{path.stem}: {case.get('name')}", outcome(case)


def read_skipped(folder):
    """[(reason, names of the tests)], the reason with the most tests first."""
    groups = {}
    for path in sorted(folder.glob("*.xml")):
        try:
            root = xml.etree.ElementTree.parse(path).getroot()
        except xml.etree.ElementTree.ParseError:
            continue  # counted as failed
        for case in root.iter("testcase"):
            for skipped in case.iter("skipped"):
                reason = skipped.get("message") or "no reason given"
                groups.setdefault(reason, []).append(f"{path.stem}: {case.get('name')}")
    return sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))


def read_failed_stages(folder):
    stages = folder / "stages"
    lines = stages.read_text().splitlines() if stages.exists() else []
    return [name for status, name in (line.split("\t", 1) for line in lines) if status != "0"]


def summarise(folder, is_long=False):
    """The lines to print, and the exit status."""
    cases = list(read_cases(folder))
    counts = Counter(result for _, result in cases)
    skipped = read_skipped(folder) if is_long else []
    lines = [f"not shown here: {reason} ({len(names)}, as {names[0]})" for reason, names in skipped]
    lines += [f"failed: {name}" for name, result in cases if result == "failed"]
    stages = read_failed_stages(folder)
    lines += [f"failed stage: {name}" for name in stages]
    failed = counts["failed"] or len(stages)
    ran = counts["passed"] + failed
    if ran == 0:
        lines.append("no test ran")
    lines.append(f"{counts['passed']} passed, {failed} failed, {counts['skipped']} skipped")
    return lines, 1 if failed or ran == 0 else 0


if __name__ == "__main__":
    text, status = summarise(Path(sys.argv[1]), bool(os.environ.get("LASTCALL_TEST_LONG")))
    print("\n".join(text))
    sys.exit(status)
