"""Shells complete what the router's command line takes, and nothing else."""

import os
import re
import shutil
import subprocess

import pytest
from router_world import command

FOLDER = os.path.join(os.path.dirname(__file__), "../../../packaging/completions")
BASH = """
source "$1/lastcall-router.bash"
shift
compopt() { :; }  # complains outside of a real completion
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_lastcall_router
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(*words, at=None):
    done = subprocess.run(
        ["bash", "-c", BASH, "bash", os.path.abspath(FOLDER), "lastcall-router", *words],
        capture_output=True, text=True, check=True, cwd=at,
    )  # fmt: skip
    return set(done.stdout.split())


def options(*words):
    """The options that `--help` prints."""
    text = command(*words, "--help").stdout
    return set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text.split("Options:", 1)[1]))


def test_bash_completes_what_help_lists(tmp_path):
    assert completed("") == options() | {"check"}
    assert completed("check", "") == options("check")
    assert completed("--co") == {"--config"}
    assert completed("--set", "") == set()
    (tmp_path / "router.yaml").write_text("")
    assert completed("--config", "rou", at=tmp_path) == {"router.yaml"}
    assert completed("check", "-c", "rou", at=tmp_path) == {"router.yaml"}


@pytest.mark.parametrize(
    ("shell", "name"), [("zsh", "_lastcall-router"), ("fish", "lastcall-router.fish")]
)
def test_other_shells_read_theirs_and_know_every_option(shell, name):
    path = os.path.join(FOLDER, name)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for option in options():
        dashes, word = re.fullmatch(r"(--?)([a-z-]+)", option).groups()
        short = "-s " if dashes == "-" else "-l "
        assert (option if shell == "zsh" else short + word) in text, option
    assert "check" in text
    if shutil.which(shell):
        subprocess.run([shell, "-n", path], check=True)
