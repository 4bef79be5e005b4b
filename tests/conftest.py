"""What all tests in Python share: the marks, and the signals that programs start with."""

import signal
import sys
from pathlib import Path

import pytest

# The modules that several folders of black boxes import, wherever a run begins to collect.
sys.path.append(str(Path(__file__).parent / "integration"))
sys.path.append(str(Path(__file__).parent))

from spread import spread  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "plain_build: what only a build without sanitizers shows (its memory, its libraries), and"
        " what waits and repeats for long, while shorter tests run the same code with them",
    )
    # A run under nohup starts with SIGHUP ignored, one in the background of a script with SIGINT
    # and SIGQUIT ignored (POSIX, 2.11), and every program that a test starts would inherit that.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):
        items[:] = spread(items)
