"""The fuzz targets, their corpora and what is written about them are in step."""

import re

import pytest
from lint_tree import ROOT, files, read

PAGE = "tests/fuzz/README.md"
LISTS = "tests/fuzz/http_differences.cpp"


def rows_after(mark, page):
    """The cells of each row of the table after a mark."""
    table = page.split(f"<!-- {mark} -->", 1)[1].split("|---", 1)[1].split("\n\n", 1)[0]
    lines = table.splitlines()[1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def array_of(name, code):
    return code.split(f"{name}[] = {{", 1)[1].split("\n};", 1)[0]


def test_requests_that_we_alone_refuse_are_written_down():
    listed = re.findall(r'^    "(.*)",$', array_of("kStricter", read(LISTS)), re.MULTILINE)
    assert listed == [row[0] for row in rows_after("stricter", read(PAGE))]


def test_differences_from_another_parser_are_written_down():
    listed = re.findall(r'^    \{"(\w+)", "(.*)",$', array_of("kDifferences", read(LISTS)),
                        re.MULTILINE)
    assert listed == [tuple(row) for row in rows_after("differences", read(PAGE))]


@pytest.mark.parametrize("path", [p for p in files(".cpp", under="tests/fuzz/")
                                  if "/fuzz_" in p])
def test_each_target_has_a_corpus_and_is_named(path):
    name = path.rsplit("fuzz_", 1)[1].removesuffix(".cpp")
    assert any((ROOT / "tests/fuzz/corpus" / name).iterdir())
    assert f"`{name}`" in read(PAGE)
    assert "BoundedWork const work(" in read(path), "the work that a byte may cause is bounded"
    assert f"fuzz_{name}" in read("tests/fuzz/CMakeLists.txt") or name.startswith("http_re")
