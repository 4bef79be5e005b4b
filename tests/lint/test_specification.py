"""Comments and scenarios that cite docs/specification.md, or another page, name a section of it."""

import re

import pytest
from lint_tree import CXX, PRODUCT, ROOT, check, files, finding, line_of, read

PAGE = "docs/specification.md"
SCENARIOS = "tests/simulation/scenarios/"
ELSEWHERE = re.compile(r"\bthe design\b|\bDESIGN\b|\bspecification(?!,\s+(?:// )?')", re.IGNORECASE)
OTHERS = ("base directory specification", "KRM functions specification")


def sections():
    return set(re.findall(r"^#{2,3} (.+)$", read(PAGE), re.MULTILINE))


def cited(text):
    """(offset, section) of each "specification, 'Section'"; a line may break anywhere in it."""
    joined = re.compile(r"specification,\s+(?://\s+)?'([^']+)'")
    return [(found.start(), re.sub(r"\s+(?://\s+)?", " ", found[1]))
            for found in joined.finditer(text)]  # fmt: skip


def unknown_sections(path, text):
    return [finding(path, line_of(text, at), f"docs/specification.md has no section '{name}'")
            for at, name in cited(text) if name not in sections()]  # fmt: skip


def headings(page):
    """The headings of a page, and the words in bold that begin a paragraph or a row."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(r"^#+ (.+)$", text, re.MULTILINE) + re.findall(r"\*\*([^*]+?)\.?\*\*", text)
    return {name.lower() for name in found}


def unknown_headings(path, text):
    """Citations of the form docs/PAGE.md, 'Heading'; a line may break anywhere in one."""
    citation = r"(docs/[\w/-]+\.md),\s+(?:(?://|#)\s+)?'([^']+)'"
    found = []
    for cited_here in re.finditer(citation, text):
        page, name = cited_here[1], re.sub(r"\s+(?:(?://|#)\s+)?", " ", cited_here[2])
        if not (ROOT / page).exists() or name.lower() not in headings(page):
            found.append(finding(path, line_of(text, cited_here.start()),
                                 f"{page} has no heading '{name}'"))  # fmt: skip
    return found


def vague_sources(path, text):
    """A source that a reader cannot look up."""
    sources = re.finditer(r"Source: (?:[^\n]|\n\s*//(?! Thread rule))*", text)
    why = "names no section: specification, 'Section'"
    return [finding(path, line_of(text, source.start()), why)
            for source in sources
            if ELSEWHERE.search(source[0])
            and not any(other in source[0] for other in OTHERS)]  # fmt: skip


def unnamed_scenarios(path, text):
    found = re.match(r"# ([^:\n]+): ", text)
    if found and found[1] in sections():
        return []
    return [finding(path, 1, f"opens with no section of {PAGE}: '# Section: sentence'")]


def test_cited_sections_exist():
    check(unknown_sections, files(*CXX, under=PRODUCT))


def test_cited_headings_exist():
    places = (*PRODUCT, "packaging/", "sdk/")
    check(unknown_headings, files(*CXX, ".py", ".sh", ".yaml", under=places))


def test_sources_name_their_section():
    check(vague_sources, files(*CXX, under=PRODUCT))


def test_scenarios_open_with_a_section():
    check(unnamed_scenarios, files(".txt", under=(SCENARIOS,)))


@pytest.mark.parametrize(
    "rule, text",
    [
        (unknown_sections, "// Source: specification, 'No such thing'.\n"),
        (unknown_sections, "// Source: specification,\n// 'No such\n// thing'.\n"),
        (unknown_headings, "// Source: docs/ipc.md, 'No such thing'.\n"),
        (unknown_headings, "# see docs/no_such_page.md,\n# 'Heading'\n"),
        (vague_sources, "// Source: section 7 of the design.\n"),
        (vague_sources, "// Source: wait(2); the shutdown specification.\n"),
        (unnamed_scenarios, "# Design: a sentence.\n"),
        (unnamed_scenarios, "given serving_run\n"),
    ],
)
def test_bad_samples_are_found(rule, text):
    assert rule("core/x.hpp", text)


@pytest.mark.parametrize(
    "rule, text",
    [
        (unknown_sections, "// Source: specification, 'The\n// deadline'; wait(2).\n"),
        (unknown_headings, "// Source: docs/ipc.md, 'Answers\n// and errors'.\n"),
        (vague_sources, "// Source: wait(2); specification, 'Shim'.\n"),
        (unnamed_scenarios, "# The deadline: a sentence.\n"),
    ],
)
def test_good_samples_are_not(rule, text):
    assert not rule("core/x.hpp", text)
