"""Headers say what they are, stand alone, and keep third-party types out of what others include."""

import functools
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from lint_cxx import includes_of
from lint_tree import PRODUCT, ROOT, THIRD_PARTY, check, files, finding, read

HEADERS = (".hpp", ".h")
PUBLIC = "core/instant.hpp"  # a header that other folders see


def opening(path, text):
    """The first line is a comment, and `#pragma once` follows it before any code."""
    found = []
    if not re.match(r"// \S", text):
        found.append(finding(path, 1, "does not open with a comment that says what it is"))
    first = next((line for line in text.splitlines() if line and not line.startswith("//")), "")
    if first != "#pragma once":
        found.append(finding(path, 1, "`#pragma once` is not the first line after the comment"))
    return found


@functools.cache
def seen_by():
    """{header: files that include it, through others or not}"""
    direct = {}
    for path in files(*HEADERS, ".cpp", ".c", under=PRODUCT):
        for _, kind, name in includes_of(read(path)):
            direct.setdefault(name, set()).add(path)
    reached = {}
    for header in direct:
        reached[header] = set()
        waiting = {header}
        while waiting:
            new = set().union(*(direct.get(path, ()) for path in waiting)) - reached[header]
            reached[header] |= new
            waiting = new
    return reached


def library_of(path):
    """The folder; those of supervisor/runtime are one library."""
    return re.sub(r"^(supervisor/runtime)/.*", r"\1", path.rsplit("/", 1)[0])


def third_party(path, text):
    """What is not ours stays within its folder; only Asio's types may be seen by other folders.

    A folder may have a header with third-party types for its own .cpp files.
    """
    names = [
        (line, name)
        for line, _, name in includes_of(text)
        if THIRD_PARTY.match(name) and not re.match(r"boost/asio[/.]", name)
    ]
    folder = library_of(path)
    strangers = [user for user in seen_by().get(path, ()) if library_of(user) != folder]
    if not strangers:
        return []
    message = f"is seen by {len(strangers)} files of other folders, {sorted(strangers)[0]} first"
    return [finding(path, line, f"<{name}> {message}") for line, name in names]


def compile_alone(header):
    """What clang prints for a header before which nothing was included; empty when it compiles."""
    command = "clang++-16 -std=c++20 -fsyntax-only -Wall -Wextra -Wno-pragma-once-outside-header"
    done = subprocess.run(
        [*command.split(), "-DBOOST_ASIO_SEPARATE_COMPILATION", "-DBOOST_ASIO_NO_DEPRECATED"]
        + [f"-I{ROOT}", f"-I{ROOT}/sdk/cpp/include", "-x", "c++", str(header)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.stderr if done.returncode else ""


@functools.cache
def included_first():
    """Headers that the build itself compiles alone: the first include of a source of ours."""
    found = set()
    for path in files(".cpp", under=PRODUCT):
        first = next((name for _, _, name in includes_of(read(path))), None)
        found.add(first)
    return found


def changed():
    """What differs from the main branch, or else from the last commit; new files included."""

    def lines(*command):
        git = ["git", "-c", "safe.directory=*", *command]
        done = subprocess.run(git, cwd=ROOT, capture_output=True, text=True)
        return done.stdout.splitlines()

    [base, *_] = lines("merge-base", "HEAD", "origin/main") or ["HEAD"]
    return {*lines("diff", "--name-only", base), *lines("ls-files", "--others")}


def headers_to_compile():
    """All of them take two minutes of a processor, so that is for a long run.

    Any other takes those that changed, and looks for missing includes by name (test_includes.py).
    """
    found = [header for header in files(*HEADERS, under=PRODUCT) if header not in included_first()]
    if os.environ.get("LASTCALL_TEST_LONG"):
        return found
    now = changed()
    return [header for header in found if header in now]


def test_headers_open_with_what_they_are():
    check(opening, files(*HEADERS, under=PRODUCT + ("tests/",)))


def test_headers_keep_third_party_types_in():
    check(third_party, files(*HEADERS, under=PRODUCT))


@pytest.mark.parametrize("header", headers_to_compile())
def test_header_compiles_alone(header):
    complaint = compile_alone(ROOT / header)
    if complaint:
        pytest.fail(f"{header} does not compile alone:\n{complaint}", pytrace=False)


def test_a_header_that_its_source_includes_first_is_left_to_the_build():
    assert PUBLIC not in included_first()  # it has no source of its own
    assert "core/lifecycle.hpp" in included_first()


def test_every_source_of_the_product_is_built(build_dir):
    """A file that no target names is dead, however green the rest is."""
    commands = build_dir / "compile_commands.json"
    if not commands.exists():
        pytest.fail(f"{commands} is missing; ./dev build makes it")
    built = {entry["file"] for entry in json.loads(commands.read_text())}
    for together in [Path(file) for file in built if "/Unity/unity_" in file]:
        built.update(re.findall(r'^#include "(.*)"$', together.read_text(), re.MULTILINE))
    unbuilt = [p for p in files(".cpp", ".c", under=PRODUCT) if str(ROOT / p) not in built]
    assert not unbuilt, f"in no target: {unbuilt}"


def test_a_bad_opening_is_found():
    assert not opening("a.hpp", "// What it is.\n//\n// More.\n\n#pragma once\n\n#include <map>\n")
    assert opening("a.hpp", "#pragma once\n// What it is.\n")
    assert opening("a.hpp", "// What it is.\n#include <map>\n#pragma once\n")
    assert opening("a.hpp", "// What it is.\nint x;\n")


@pytest.mark.parametrize(
    "name",
    ["boost/beast/http.hpp", "httplib.h", "yaml-cpp/yaml.h", "CLI/CLI.hpp", "nlohmann/json.hpp"]
    + ["prometheus/registry.h", "spdlog/spdlog.h", "fmt/core.h", "boost/system/error_code.hpp"],
)
def test_a_third_party_include_is_found(name):
    assert third_party(PUBLIC, f"// A.\n#pragma once\n#include <{name}>\n")


def test_asio_and_libc_are_let_through():
    text = "#include <boost/asio/io_context.hpp>\n#include <boost/asio.hpp>\n#include <sys/wait.h>"
    assert not third_party(PUBLIC, text)


def test_a_folder_may_have_a_header_for_itself():
    assert not third_party("core/nobody_includes_this.hpp", "#include <httplib.h>")


def test_indirect_includes_are_followed():
    assert any(path.startswith("config/") for path in seen_by()[PUBLIC])


def test_a_header_that_needs_another_is_found(tmp_path):
    header = tmp_path / "needy.hpp"
    header.write_text("// Needs <string>.\n#pragma once\ninline std::string name();\n")
    assert "std" in compile_alone(header)
    header.write_text("// Whole.\n#pragma once\n#include <string>\nstd::string name();\n")
    assert compile_alone(header) == ""
