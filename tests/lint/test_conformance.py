"""docs/conformance.md is what the last whole run of the kit found, and leads to its transcripts."""

import json
import re
import sys

import pytest
from lint_tree import ROOT, read

sys.path.insert(0, str(ROOT / "conformance"))
from kit import scenario, table  # noqa: E402
from kit.run import Adapter, Cell  # noqa: E402

sys.path.remove(str(ROOT / "conformance"))
RESULTS = "conformance/transcripts/results.json"


@pytest.fixture(scope="module")
def whole():
    if not (ROOT / RESULTS).exists():
        pytest.skip("the table is not made yet: ./dev conformance --docs")
    cells = [Cell(**each) for each in json.loads(read(RESULTS))]
    names = list(dict.fromkeys(cell.subject for cell in cells))
    adapters = [Adapter(ROOT / "conformance/adapters" / name) for name in names]
    return scenario.read_all(ROOT / "conformance/scenarios"), adapters, cells


def part(name):
    begin, end = table.BEGIN.format(name), table.END.format(name)
    return re.search(f"{begin}\n(.*)\n{end}", read("docs/conformance.md"), re.DOTALL).group(1)


def test_the_table_is_that_of_the_results(whole):
    again = "remake it with ./dev conformance --docs"
    assert part("table") == table.markdown(*whole), again
    assert part("reasons") == table.reasons(*whole[1:]), again
    assert part("known") == table.known(*whole[1:]), again


def test_the_figures_of_readme_are_those_of_the_table(whole):
    scenarios, _, cells = whole
    said = re.search(
        r"has (\d+) promises\. lastcall with its ingress keeps (\d+) of them, "
        r"vLLM's timeout (\d+), and tini with a sleep (\d+);",
        " ".join(read("README.md").split()),
    )
    subjects = ("lastcall-ingress", "vllm-timeout", "tini-sleep")
    held = [sum(c.subject == s and c.verdict == "held" for c in cells) for s in subjects]
    assert [int(number) for number in said.groups()] == [len(scenarios), *held]


def test_the_list_of_checks_is_that_of_the_kit():
    assert part("checks") == table.checks()


def test_every_cell_was_played(whole):
    scenarios, adapters, cells = whole
    expected = {(a.name, s.name) for a in adapters for s in scenarios}
    assert {(c.subject, c.scenario) for c in cells} == expected
    folder = ROOT / "conformance/adapters"
    assert {a.name for a in adapters} == {path.name for path in folder.iterdir()}
    missing = [c.subject for c in cells if any("not installed" in r for r in c.reasons)]
    assert not missing, "the table in the docs is of all subjects"


def test_each_failure_has_its_transcript(whole):
    for cell in whole[2]:
        if cell.verdict == "failed":
            page = read(f"conformance/transcripts/{cell.subject}.md")
            assert f"\n## {cell.scenario}\n" in page
            assert all(f"\n- {reason}\n" in page for reason in cell.reasons)


def test_each_failure_of_ours_has_its_reason(whole):
    """And no reason for a failure is given for a cell that holds."""
    for adapter in whole[1]:
        if adapter.name.startswith("lastcall-"):
            own = [c for c in whole[2] if c.subject == adapter.name and c.verdict == "failed"]
            assert set(adapter.facts["known"]) == {c.scenario for c in own}, adapter.name


def test_no_cell_is_the_kits_own_failure(whole):
    """A scenario that could not be played shows nothing about a subject."""
    assert not [c for c in whole[2] if any("could not be played" in r for r in c.reasons)]
