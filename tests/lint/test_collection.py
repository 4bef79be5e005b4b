"""Every folder of tests can be run by itself, as a stage or a developer does."""

import subprocess
import sys

import pytest
from lint_tree import ROOT

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
