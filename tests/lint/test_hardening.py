"""A release is hardened: its options are there for every file, and a program made with them passes.

The check that reads a program is the one that the image's build runs on what ships.
"""

import importlib.util
import json
import os
import re
import shlex
import subprocess

import pytest
from lint_tree import ROOT

SOURCE = """#include <cstdio>
#include <cstring>
#include <string>
int main(int count, char** words) {
  char copy[64];
  std::strcpy(copy, words[count - 1]);
  std::string text(copy);
  return text.empty() ? 0 : std::printf("%c", text[static_cast<unsigned>(count)]);
}
"""
# It has no call whose buffer the compiler has to check, as a small program may not.
UNCHECKED = """#include <cstdio>
#include <string>
int main(int count, char** words) {
  char text[64] = {};
  std::string const all(words[0]);
  std::puts(&text[static_cast<unsigned>(count) % sizeof text]);
  return all[static_cast<unsigned>(count)];
}
"""
# The shim has the C library alone, the launcher nothing.
SOURCES = {
    "lastcall": SOURCE,
    "lastcall-kube": UNCHECKED,
    "lastcall-shim": "int main(int count, char**) { return count; }\n",
    "launcher": (ROOT / "supervisor/launcher/launcher.cpp").read_text(),
}
# Where its options are from, and which it is of a build.
PROGRAMS = {
    "lastcall": ("supervisor/cli/main.cpp", "supervisor/libexec/lastcall/lastcall"),
    "lastcall-shim": ("shim/main.cpp", "shim/lastcall-shim"),
    "launcher": ("supervisor/launcher/launcher.cpp", "supervisor/cli/lastcall"),
}
COMPILED = ("-D_FORTIFY_SOURCE=2", "-D_GLIBCXX_ASSERTIONS", "-fstack-protector-strong",
            "-fstack-clash-protection", "-ftrivial-auto-var-init=zero")  # fmt: skip


@pytest.fixture(scope="module")
def problems():
    spec = importlib.util.spec_from_file_location("hardening", ROOT / "packaging/hardening.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.problems


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A release that is configured, not built."""
    folder = tmp_path_factory.mktemp("release")
    done = subprocess.run(
        ["cmake", "--preset", "release", "-B", folder, "-DLASTCALL_BUILD_TESTS=OFF",
         "-DLASTCALL_BUILD_BENCH=OFF"],
        cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def options(release):
    """{name of a program: (options of the compiler, of the linker)}, as ninja would use them."""
    commands = json.loads((release / "compile_commands.json").read_text())
    rules = (release / "build.ninja").read_text()
    found = {}
    for name, (main, target) in PROGRAMS.items():
        [command] = [c["command"] for c in commands if c["file"] == str(ROOT / main)]
        compiler = [w for w in shlex.split(command) if re.match(r"-[Df](?!LASTCALL|no-pch)", w)]
        build = re.search(rf"^build {target}: .*?\n\n", rules, re.MULTILINE | re.DOTALL).group()
        linker = re.findall(r"^  (?:LINK_)?FLAGS = (.*)$", build, re.MULTILINE)
        words = shlex.split(" ".join(linker))
        found[name] = (compiler, [w for w in words if not w.startswith("-Wl,--symbol-ordering")])
    return found


@pytest.fixture
def link(options, tmp_path):
    """link(name, without, more) is a program made as `name` is, without some of its options."""

    def make(name, without=(), more=()):
        compiler, linker = options["lastcall" if name == "lastcall-kube" else name]
        path = tmp_path / "program.cpp"
        path.write_text(SOURCES[name])
        kept = [w for w in [*compiler, *linker] if not w.startswith(tuple(without) or "!")]
        command = ["clang++-16", "-O2", "-Qunused-arguments", str(path), "-o", tmp_path / name]
        subprocess.run([*command, *kept, *more], check=True, capture_output=True, timeout=120)
        return tmp_path / name

    return make


def test_every_file_of_a_release_is_compiled_hardened(release):
    commands = json.loads((release / "compile_commands.json").read_text())
    lacking = [(os.path.relpath(each["file"], ROOT), option) for each in commands
               for option in COMPILED if option not in each["command"]]  # fmt: skip
    assert len(commands) > 200 and lacking == []


def test_what_others_link_is_machine_code(release):
    """GNU ld, with which most engines in C++ are linked, does not read LLVM's bitcode."""
    commands = json.loads((release / "compile_commands.json").read_text())
    optimised = {os.path.relpath(c["file"], ROOT): re.findall(r"-f(?:no-)?lto\b", c["command"])[-1:]
                 for c in commands}  # fmt: skip
    rules = (release / "build.ninja").read_text()
    archive = re.search(r"^build sdk/cpp/liblastcall\.a: \S+ (.*?) \|\|", rules, re.MULTILINE)
    parts = [re.sub(r"CMakeFiles/[^/]+\.dir/(.*)\.o$", r"\1", each)
             for each in archive.group(1).split()]  # fmt: skip
    assert {"sdk/cpp/client.cpp", "base/json_reader.cpp", "ipc/encode.cpp"} <= set(parts)
    assert [each for each in parts if optimised[each] != ["-fno-lto"]] == []
    assert optimised["supervisor/cli/main.cpp"] == ["-flto"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_with_a_releases_options_is_hardened(link, problems, name):
    assert problems(link(name)) == []


def test_a_program_without_a_call_to_check_is_no_problem_beside_one_that_has_some(link, problems):
    assert problems(link("lastcall"), link("lastcall-kube")) == []
    assert any("checked form" in problem for problem in problems(link("lastcall-kube")))


def test_objects_are_marked_for_control_flow_enforcement(options, tmp_path):
    if os.uname().machine != "x86_64":
        pytest.skip("another processor, another mark")
    (tmp_path / "a.cpp").write_text(SOURCE)
    for compiler, _ in options.values():
        command = ["clang++-16", "-O2", *compiler, "-fno-lto", "-c", "a.cpp", "-o", "a.o"]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
        notes = subprocess.run(["readelf", "-nW", "a.o"], cwd=tmp_path, capture_output=True,
                               text=True).stdout  # fmt: skip
        assert re.search(r"x86 feature: IBT, SHSTK", notes)


def test_large_frames_are_probed(options, tmp_path):
    if os.uname().machine != "x86_64":
        pytest.skip("reads instructions of one processor")
    (tmp_path / "a.cpp").write_text("void use(char*); void f() { char b[20000]; use(b); }\n")
    compiler, _ = options["lastcall-shim"]
    command = ["clang++-16", "-O2", *compiler, "-fno-lto", "-S", "a.cpp", "-o", "-"]
    code = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60).stdout
    steps = [int(size) for size in re.findall(r"subq\s+\$(\d+), %rsp", code)]
    assert steps and max(steps) <= 4096


@pytest.mark.parametrize(
    ("name", "without", "more", "words"),
    [
        ("lastcall", ("-fPIC", "-fPIE"), ("-no-pie",), "position-independent"),
        ("lastcall-shim", ("-static-pie", "-fPIE", "-fPIC"), ("-static", "-no-pie"),
         "position-independent"),
        ("lastcall", ("-Wl,-z,relro",), ("-Wl,-z,norelro",), "GNU_RELRO"),
        ("lastcall", ("-Wl,-z,now",), ("-Wl,-z,lazy",), "BIND_NOW"),
        ("lastcall", (), ("-Wl,-z,execstack",), "executable stack"),
        ("lastcall", (), ("-Wl,-rpath,/opt/lib",), "path of its own"),
        ("lastcall", ("-fstack-protector",), ("-fno-stack-protector",), "canaries"),
        ("lastcall", ("-D_FORTIFY",), (), "checked form"),
        ("lastcall", ("-D_GLIBCXX",), (), "preconditions"),
    ],
)  # fmt: skip
def test_an_option_that_is_missing_is_found(link, problems, name, without, more, words):
    found = problems(link(name, without, more))
    assert any(words in problem for problem in found), found


def test_programs_of_a_release_are_hardened(build_dir, problems):
    if "CMAKE_BUILD_TYPE:STRING=Release" not in (build_dir / "CMakeCache.txt").read_text():
        pytest.skip("not a release; the image's build checks the one that ships")
    assert problems(*(build_dir / target for _, target in PROGRAMS.values())) == []
