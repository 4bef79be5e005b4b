"""The tree as the lints see it: files that are tracked or about to be, and how findings are
reported.

A rule is a function of (path, text) that returns findings, 'path:line: what is wrong'. Each test
file runs its rules over the tree, and over bad samples that they must find: no lint is a test that
cannot fail.
"""

import functools
import os
import re
import subprocess
from pathlib import Path

import pytest
from lint_exceptions import EXCEPTIONS

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = (
    "base/", "core/", "supervisor/", "relay/", "shim/", "ipc/", "sdk/cpp/", "config/", "telemetry/",
    "probes/", "discovery/", "ingress/", "inject/", "router/",
)
CXX = (".cpp", ".hpp", ".c", ".h")
THIRD_PARTY = re.compile(
    r"^(boost|nlohmann|spdlog|fmt|yaml-cpp|prometheus|CLI|gtest|gmock|openssl|curl|httplib|zlib)\b"
)
SHELL = (".sh",)
SCRIPTS = ("dev", ".ci/run")
TEXT = CXX + SHELL + (".py", ".md", ".txt", ".cmake", ".json", ".jsonl", ".yaml", ".yml", ".toml")


@functools.cache
def tree_files():
    """Paths relative to the root; without git (a source archive) a walk finds them."""
    git = ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others"]
    done = subprocess.run(git + ["--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 0:
        found = done.stdout.splitlines()
    else:
        skipped = {"build", ".git", "__pycache__"}
        found = []
        for folder, folders, names in os.walk(ROOT):
            folders[:] = [name for name in folders if name not in skipped]
            found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names]
    return tuple(sorted({path for path in found if (ROOT / path).is_file()}))


def files(*suffixes, under=("",)):
    return [
        path for path in tree_files() if path.endswith(suffixes) and path.startswith(tuple(under))
    ]


def core_files():
    """The pure core. LC_ASSERT's own file may write one line before the process ends."""
    core = files(*CXX, under=("core/",))
    return [path for path in core if path != "core/check.hpp"]


def text_files():
    others = SCRIPTS + ("Dockerfile", ".clang-tidy", ".clang-format")
    return [path for path in tree_files() if path.endswith(TEXT) or path in others]


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def finding(path, line, message):
    return f"{path}:{line}: {message}"


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def check(rule, paths):
    """Fails with all findings of a rule that the list of exceptions does not name.

    An exception that excuses nothing any more fails as well: the list only ever gets shorter.
    """
    assert paths, "this lint found no file to look at"
    name = rule.__name__
    excused = {path for rule_name, path in EXCEPTIONS if rule_name == name}
    findings = []
    for path in paths:
        found = rule(path, read(path))
        if path in excused:
            excused.discard(path) if found else None
        else:
            findings += found
    findings += [f"{path}: needs no exception from '{name}' any more" for path in sorted(excused)]
    if findings:
        pytest.fail("\n".join([f"{name}: {len(findings)} findings", *findings]), pytrace=False)
