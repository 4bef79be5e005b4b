"""SECURITY.md names tests that exist, in each place of an attacker; so does tests/security."""

import re

import pytest
from lint_tree import ROOT, files, read

PAGE = "SECURITY.md"
CASES = "tests/security/README.md"


def places():
    """(title, text) of each place from which an attacker may come."""
    whole = read(PAGE).split("## Who can do what", 1)[1].split("\n## ", 1)[0]
    return [tuple(part.split("\n", 1)) for part in whole.split("\n### ")[1:]]


def code_of(suffix):
    return "\n".join(read(path) for path in files(suffix, under="tests/"))


def test_every_place_of_an_attacker_names_its_defence_and_its_proof():
    silent = [title for title, text in places() if not re.search("Shown by .*`", text, re.DOTALL)]
    assert len(places()) == 8 and silent == []


@pytest.mark.parametrize("page", [PAGE, CASES])
@pytest.mark.parametrize(
    ("name", "suffix", "definition"),
    [
        (r"`(test_\w+)`", ".py", r"^def {}\("),
        (r"`([A-Z]\w+\.[A-Z]\w+)`", ".cpp", r"^TEST(?:_F|_P)?\({}\)"),
    ],
)
def test_each_proof_that_it_names_exists(name, suffix, definition, page):
    code = code_of(suffix)
    named = set(re.findall(name, read(page)))
    missing = [each for each in named
               if not re.search(definition.format(each.replace(".", r",\s*")), code, re.M)]
    assert len(named) > (5 if page == PAGE else 0) and missing == []


def test_the_fuzz_targets_that_it_names_are_there():
    named = set(re.findall(r"`(fuzz_\w+)`", read(PAGE)))
    assert named and [each for each in named
                      if not (ROOT / f"tests/fuzz/{each}.cpp").exists()] == []  # fmt: skip
