"""Tests are found: every folder can be run by itself, and names have one style."""

import re
import subprocess
import sys

import pytest
from lint_tree import ROOT, check, files, finding, line_of

INTEGRATION = ROOT / "tests/integration"
FOLDERS = sorted(path.parent for path in INTEGRATION.glob("*/conftest.py"))


def test_there_are_folders():
    assert len(FOLDERS) >= 5


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_folder_is_collected_alone(folder):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", folder],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def misnamed(path, text):
    has_tests = re.search(r"^TEST(_F|_P)?\(", text, re.MULTILINE) is not None
    if not has_tests or path.endswith("_test.cpp"):
        return []
    return [finding(path, 1, "holds tests: its name ends in _test.cpp")]


def test_files_of_unit_tests_have_one_style_of_names():
    check(misnamed, files(".cpp", under=("tests/unit/",)))
    assert misnamed("tests/unit/core/test_x.cpp", "TEST(X, y) {}\n")
    assert not misnamed("tests/unit/core/fake.cpp", "int x;\n")


def misnamed_tests(path, text):
    """Names that are no sentences in the style Words_like_these."""
    tests = re.finditer(r"^TEST(?:_F|_P)?\(\s*\w+,\s*(\w+)\)", text, re.MULTILINE)
    return [
        finding(path, line_of(text, test.start()), f"{test[1]}: expected Words_like_these")
        for test in tests
        if not re.fullmatch(r"[A-Z0-9]\w*_\w+", test[1])
    ]


def test_unit_tests_have_one_style_of_names():
    check(misnamed_tests, files(".cpp", under=("tests/unit/",)))
    assert misnamed_tests("x_test.cpp", "TEST(X, holds_things) {}\n")
    assert misnamed_tests("x_test.cpp", "TEST_F(X,\n       HoldsThings) {}\n")
    assert not misnamed_tests("x_test.cpp", "TEST(X, Holds_things) {}\n")
