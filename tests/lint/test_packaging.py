"""The image is built from the packages that ./dev installs, and for any processor."""

import fnmatch
import os
import re
import subprocess
from pathlib import Path

import pytest
from lint_tree import ROOT, check, files, finding, read

# A machine's name in a path or a package ties the image to one processor.
_MACHINES = re.compile(r"x86[_-]64|amd64|aarch64|arm64")


def packages_of(text):
    """Names that the stage of the tools installs."""
    stage = text.split("FROM ${BASE} AS tools", 1)[1].split("\nFROM ", 1)[0]
    install = re.search(r"install_packages\.sh \\\n(.*?)\n\n", stage, re.DOTALL).group(1)
    return set(install.replace("\\\n", " ").split())


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
    scripts = files(".sh", ".py", under=("packaging/",))
    of_images = [path for path in scripts if not path.startswith("packaging/release/")]
    check(ties_to_a_machine, ["Dockerfile", *of_images])


def locked():
    lines = [line for line in read("packaging/packages.lock").splitlines() if line[0] != "#"]
    assert lines == sorted(lines)
    return dict(line.split(" ") for line in lines)


def test_every_package_that_the_image_asks_for_is_locked():
    text = read("Dockerfile")
    stages = re.findall(r"install_packages\.sh ((?:[^&\n\\]|\\\n)*)", text)
    asked = {word for stage in stages for word in stage.replace("\\\n", " ").split()}
    asked = {word for word in asked if "/" not in word}  # of COPY
    assert {"clang-16", "libssl3"} <= asked
    assert asked <= locked().keys()


@pytest.fixture
def install(tmp_path):
    """install(mode, installed) runs the script of the image with an apt and a dpkg that it records.

    `installed` is what dpkg reports after an installation.
    """
    folder = tmp_path / "packaging"
    folder.mkdir()
    script = re.sub(r"/(tmp|etc|var/lib)/", rf"{tmp_path}/", read("packaging/install_packages.sh"))
    (folder / "install_packages.sh").write_text(script)
    (folder / "packages.lock").write_text("# A comment.\nlibone 1.0\nlibtwo 2.0\n")
    (tmp_path / "apt/preferences.d").mkdir(parents=True)
    (tmp_path / "before").write_text("")
    programs = {
        "apt-get": f'cat {tmp_path}/apt/preferences.d/* >>{tmp_path}/pins 2>/dev/null; '
                   f'echo "$*" >>{tmp_path}/calls',
        "dpkg-query": f'if grep -qs install {tmp_path}/calls; then cat {tmp_path}/after; fi',
    }  # fmt: skip
    for name, text in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)

    def run(mode, installed):
        (tmp_path / "after").write_text(installed)
        environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PACKAGES": mode}
        done = subprocess.run(
            ["sh", folder / "install_packages.sh", "libone", "libtwo"], env=environment,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        done.pins = (tmp_path / "pins").read_text() if (tmp_path / "pins").exists() else ""
        return done

    return run


def test_a_locked_version_is_pinned_below_a_security_update(install):
    done = install("locked", "libone 1.0\nlibtwo 2.0\n")
    assert done.returncode == 0 and "not the version" not in done.stdout
    pins = done.pins.split("\n\n")
    assert "Package: libone\nPin: version 1.0\nPin-Priority: 990" in pins
    assert "Package: *\nPin: release l=Debian-Security\nPin-Priority: 991" in done.pins


def test_a_version_that_the_mirror_has_dropped_fails_no_build_and_is_reported(install):
    done = install("locked", "libone 1.0\nlibtwo 2.1\n")
    assert done.returncode == 0
    assert "not the version of packages.lock:\nlibtwo 2.1\n" in done.stdout


def test_an_exact_build_takes_no_other_version(install):
    done = install("exact", "libone 1.0\nlibtwo 2.1\n")
    assert done.returncode == 1 and "libtwo 2.1" in done.stdout
    assert "Debian-Security" not in done.pins


def test_the_newest_are_not_pinned(install):
    done = install("newest", "libone 7\n")
    assert done.returncode == 0 and done.pins == "" and "not the version" not in done.stdout


def test_an_unknown_way_to_choose_versions_is_refused(install):
    done = install("latest", "")
    assert done.returncode == 2 and "expected locked, exact or newest" in done.stderr


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


@pytest.fixture
def image_programs(tmp_path):
    """Programs that note how they are called, in place of those that make and load images."""
    binaries = tmp_path / "built"
    for name in ("supervisor/cli/lastcall", "supervisor/libexec/lastcall/lastcall",
                 "shim/lastcall-shim", "router/lastcall-router"):  # fmt: skip
        (binaries / name).parent.mkdir(parents=True, exist_ok=True)
        (binaries / name).write_text("")
    for name in ("podman", "kind", "k3s"):
        note = f'echo "{name} $*" >>{tmp_path}/calls'
        answer = 'case "$*" in *inspect*|"get nodes --name "[kc]*) echo 1 ;; esac'
        (tmp_path / name).write_text(f"#!/bin/sh\n{note}\n{answer}\n")
        (tmp_path / name).chmod(0o755)

    def run(*words):
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "CONTAINER_ENGINE": "podman"}
        done = subprocess.run(
            [ROOT / "packaging/images.sh", "--binaries", binaries, "--base", "b", *words],
            env=environment, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        calls = tmp_path / "calls"
        called = calls.read_text().splitlines() if calls.exists() else []
        calls.unlink(missing_ok=True)
        return done, called

    return run


NAMES = ["lastcall-shim", "lastcall", "lastcall-router", "lastcall-demo-engine"]


def test_a_cluster_without_a_registry_gets_the_images_that_the_chart_asks_for(image_programs):
    """One test: what images.sh lays out is in one place of the tree."""
    if os.geteuid() != 0:
        pytest.skip("k3s is asked by way of sudo")
    archive = "build/image-archive.tar"
    [version] = re.findall(r"^project\(lastcall VERSION ([\d.]+)", read("CMakeLists.txt"), re.M)
    for words, loads in (
        (["kind"], f"kind load image-archive {archive} --name kind"),
        (["kind", "--cluster", "c"], f"kind load image-archive {archive} --name c"),
        (["k3s"], f"k3s ctr images import {archive}"),
    ):
        done, calls = image_programs("--load", *words)
        assert done.returncode == 0, done.stderr
        saved = [call.split()[-1] for call in calls if call.startswith("podman save")]
        assert saved == [f"docker.io/library/{name}:{version}" for name in NAMES]
        assert calls.count(loads) == len(NAMES)
        assert "helm install demo charts/lastcall -f charts" in done.stdout
    _, calls = image_programs("--without-demo-engine")
    assert calls and not any("demo" in call or "save" in call for call in calls)


def test_no_cluster_is_asked_without_its_program_or_by_an_unknown_name(image_programs):
    done, calls = image_programs("--load", "minikube")
    assert done.returncode == 2 and "takes kind or k3s, not 'minikube'" in done.stderr
    assert not calls


def test_a_cluster_that_is_not_there_is_found_before_anything_is_built(image_programs, tmp_path):
    """A build takes half an hour, and kind and k3s would fail after it."""
    if os.geteuid() != 0:
        pytest.skip("k3s is asked by way of sudo")
    done, calls = image_programs("--load", "kind", "--cluster", "gone")
    assert done.returncode == 2 and "kind create cluster --name gone" in done.stderr
    assert calls == ["kind get nodes --name gone"]
    (tmp_path / "k3s").write_text(f"#!/bin/sh\necho k3s $* >>{tmp_path}/calls\nexit 1\n")
    done, calls = image_programs("--load", "k3s")
    assert done.returncode == 2 and "k3s does not answer" in done.stderr
    assert calls == ["k3s ctr version"]


def test_the_one_container_gets_every_library_that_its_base_lacks():
    build = Path(os.environ.get("LASTCALL_BUILD_DIR", ROOT / "build/dev"))
    done = subprocess.run(
        ["ldd", build / "supervisor/libexec/lastcall/lastcall"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    every_base = r"(linux-vdso|ld-linux|libc|libm|libgcc_s|libstdc\+\+|libssl|libcrypto|libz)[.-]"
    needed = set(re.findall(r"^\s*(lib[\w+-]+\.so\.[\d.]+) =>", done.stdout, re.MULTILINE))
    given = re.findall(r"/usr/lib/\*/(lib[\w*+-]+\.so\.\*)", read("docs/operations.md"))
    lacking = {name for name in needed if not re.match(every_base, name)}
    assert lacking
    assert not [n for n in lacking if not any(fnmatch.fnmatch(n, each) for each in given)]


def test_a_processors_name_is_found():
    assert ties_to_a_machine("f", "COPY x /usr/lib/x86_64-linux-gnu/\n")
    assert not ties_to_a_machine("f", "COPY x /usr/lib/\n")
