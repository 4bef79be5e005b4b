"""Where the built programs are, for the lints that compare docs with what the programs print."""

import os
import subprocess
from pathlib import Path

import pytest
from lint_tree import ROOT


@pytest.fixture(scope="session")
def build_dir():
    return Path(os.environ.get("LASTCALL_BUILD_DIR", ROOT / "build/dev"))


@pytest.fixture(scope="session")
def help_of(build_dir):
    """help_of('lastcall', 'drain') is what `lastcall drain --help` prints."""
    places = {
        "lastcall": build_dir / "supervisor/cli/lastcall",
        "lastcall-shim": build_dir / "shim/lastcall-shim",
    }

    def ask(program, *words):
        if not places[program].exists():
            pytest.fail(f"{places[program]} is missing; ./dev build makes it")
        command = [places[program], *words, "--help"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
        assert done.returncode == 0, f"{command} exits with {done.returncode}: {done.stderr}"
        return done.stdout

    return ask
