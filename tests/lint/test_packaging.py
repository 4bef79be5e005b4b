"""The image is built from the packages that ./dev installs, and for any processor."""

import fnmatch
import os
import re
import subprocess
from pathlib import Path

from lint_tree import ROOT, check, finding, read

# A machine's name in a path or a package ties the image to one processor.
_MACHINES = re.compile(r"x86[_-]64|amd64|aarch64|arm64")


def packages_of(text):
    """Names after `apt-get install` in the stage that compiles."""
    stage = text.split("FROM ${BASE} AS compile", 1)[1].split("\nFROM ", 1)[0]
    install = re.search(r"apt-get install((?:[^&]|&(?!&))*)", stage).group(1)
    return {word for word in install.replace("\\\n", " ").split() if not word.startswith("-")}


def packages_of_dev(text):
    """What a build installs there."""
    listed = re.search(r"^build_packages=\((.*?)^\)", text, re.MULTILINE | re.DOTALL).group(1)
    return set(re.sub(r"#.*", "", listed).split())


def ties_to_a_machine(path, text):
    return [
        finding(path, number, f"names a processor: {match.group()}")
        for number, line in enumerate(text.splitlines(), 1)
        if (match := _MACHINES.search(line))
    ]


def test_the_image_needs_nothing_that_a_build_by_dev_does_not_install():
    packages = packages_of(read("Dockerfile"))
    assert "clang-16" in packages
    assert packages <= packages_of_dev(read("dev"))


def test_the_image_builds_on_any_processor():
    check(ties_to_a_machine, ["Dockerfile", "packaging/collect_rootfs.sh", "packaging/images.sh"])


def test_a_bootstrap_that_fails_leaves_no_base(tmp_path):
    """A later run takes the base that is there, so an empty one would stay for good."""
    programs = {
        "mmdebstrap": "exit 1",
        "podman": f'echo "$1" >>{tmp_path}/calls; [ "$1" != image ]',
    }
    for name, text in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CONTAINER_ENGINE": "podman"}
    done = subprocess.run(
        [ROOT / "packaging/images.sh", "--base", "bootstrap"],
        env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert (tmp_path / "calls").read_text().split() == ["image"]


def test_the_one_container_gets_every_library_that_its_base_lacks():
    build = Path(os.environ.get("LASTCALL_BUILD_DIR", ROOT / "build/dev"))
    done = subprocess.run(
        ["ldd", build / "supervisor/cli/lastcall"], capture_output=True, text=True, check=True
    )
    every_base = r"(linux-vdso|ld-linux|libc|libm|libgcc_s|libstdc\+\+|libssl|libcrypto|libz)[.-]"
    needed = set(re.findall(r"^\s*(lib[\w+-]+\.so\.[\d.]+) =>", done.stdout, re.MULTILINE))
    given = re.findall(r"/usr/lib/\*/(lib[\w*+-]+\.so\.\*)", read("docs/operations.md"))
    lacking = {name for name in needed if not re.match(every_base, name)}
    assert lacking
    assert not [n for n in lacking if not any(fnmatch.fnmatch(n, each) for each in given)]


def test_a_processors_name_is_found():
    assert ties_to_a_machine("f", "COPY x /usr/lib/x86_64-linux-gnu/\n")
    assert not ties_to_a_machine("f", "COPY x /usr/lib/\n")
