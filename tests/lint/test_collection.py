"""Tests are found: every folder can be run by itself, and names have one style."""

import re
import subprocess
import sys

import pytest
from lint_tree import ROOT, check, files, finding

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
