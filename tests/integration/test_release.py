"""What `./dev release` is made of, in small: archives do not depend on the time, the place and the
user."""

import hashlib
import importlib
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../packaging/release")


def module(name):
    sys.path.insert(0, HERE)
    try:
        return importlib.import_module(name)
    finally:
        del sys.path[0]


archives = module("archives")
EPOCH = 1_700_000_000


def tree(folder, order):
    """The same files, made in another order, at another time, with another umask."""
    for name in order:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}\n")
        path.chmod(0o755 if name.startswith("usr/bin") else 0o640 if order[0] == name else 0o644)
        os.utime(path, (1, len(order[0])))
    return folder


NAMES = ["usr/bin/tool", "usr/share/b", "usr/share/a"]


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_tarball_is_the_same_whoever_made_the_folder(tmp_path):
    made = []
    for number, order in enumerate((NAMES, NAMES[::-1])):
        out = tmp_path / f"{number}.tar.gz"
        archives.tar_gz(tree(tmp_path / str(number), order), out, EPOCH, "tool-1")
        made.append(digest(out))
    assert made[0] == made[1]
    with tarfile.open(tmp_path / "0.tar.gz") as tar:
        assert {e.mtime for e in tar} == {EPOCH} and {e.uid for e in tar} == {0}
        assert tar.getmember("tool-1/usr/bin/tool").mode == 0o755


def test_a_package_is_the_same_whoever_made_the_folder(tmp_path):
    fields = {"Package": "tool", "Version": "1", "Architecture": "all", "Maintainer": "m <m@x>",
              "Description": "a tool"}  # fmt: skip
    made = []
    for number, order in enumerate((NAMES, NAMES[::-1])):
        out = tmp_path / f"{number}.deb"
        archives.deb(tree(tmp_path / str(number), order), out, EPOCH, fields)
        made.append(digest(out))
    assert made[0] == made[1]
    listed = subprocess.run(["dpkg-deb", "--contents", tmp_path / "0.deb"], capture_output=True,
                            text=True, check=True).stdout  # fmt: skip
    assert "root/root" in listed and "./usr/bin/tool" in listed


def test_a_link_among_the_programs_stays_a_link(tmp_path, monkeypatch):
    release = module("release")
    machine = release.Machine("x86_64", tmp_path)

    def installs(*words, **how):
        if words[0] != "cmake":
            subprocess.run(words, check=True, **how)
            return
        bin_folder = machine.stage / words[words.index("--component") + 1] / "usr/bin"
        bin_folder.mkdir(parents=True)
        shutil.copy("/bin/true", bin_folder / "lastcall-kube")
        (bin_folder / "kubectl-lastcall").symlink_to("lastcall-kube")

    monkeypatch.setattr(release, "run", installs)
    machine.install()
    assert (machine.stage / "lastcall/usr/bin/kubectl-lastcall").is_symlink()


@pytest.fixture
def lastcall_deb(tmp_path, monkeypatch):
    """The package as a release makes it, of programs that are only text."""
    release = module("release")
    machine = release.Machine("x86_64", tmp_path / "out")
    monkeypatch.setattr(machine.needs, "depends", lambda *_: "libc6")
    for component in ("lastcall", "router", "shim", "sdk"):
        tree(machine.stage / component / "usr", ["bin/lastcall", release.PROGRAM])
    machine.packages("1", EPOCH)
    return tmp_path / "out/lastcall_1_amd64.deb"


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("systemd-sysusers"),
                    reason="needs root and systemd-sysusers")  # fmt: skip
def test_the_package_makes_the_user_of_its_unit_and_leaves_no_file(tmp_path, lastcall_deb):
    root = tmp_path / "root"
    (root / "var/lib/dpkg").mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    (root / "etc").mkdir()

    def dpkg(*words):
        subprocess.run(["dpkg", f"--root={root}", "--force-script-chrootless", "--force-depends",
                        "--force-unsafe-io", *words], check=True, capture_output=True)  # fmt: skip

    dpkg("--install", lastcall_deb)
    unit = (root / "usr/lib/systemd/system/lastcall.service").read_text()
    assert "User=lastcall\n" in unit
    assert "lastcall:" in (root / "etc/passwd").read_text()
    dpkg("--purge", "lastcall")
    assert not [path for path in (root / "usr").rglob("*") if not path.is_dir()]


def test_a_wheel_packed_again_has_its_files_and_one_time(tmp_path):
    made = []
    for number, year in enumerate((1999, 2020)):
        path = tmp_path / f"{number}.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr(zipfile.ZipInfo("a.py", (year, 1, 1, 0, 0, 0)), "x = 1\n")
        archives.wheel_again(path, EPOCH)
        made.append(digest(path))
    assert made[0] == made[1]
    assert zipfile.ZipFile(path).read("a.py") == b"x = 1\n"


def test_the_version_is_one(monkeypatch, tmp_path):
    release = module("release")
    assert release.version().count(".") == 2
    monkeypatch.setattr(release, "charts", lambda: [tmp_path / "charts/c"])
    monkeypatch.setattr(release, "ROOT", tmp_path)
    (tmp_path / "charts/c").mkdir(parents=True)
    (tmp_path / "sdk/python/lastcall").mkdir(parents=True)
    (tmp_path / "CMakeLists.txt").write_text("project(lastcall VERSION 1.2.3 LANGUAGES C)\n")
    (tmp_path / "sdk/python/lastcall/version.py").write_text('__version__ = "1.2.3"\n')
    (tmp_path / "charts/c/Chart.yaml").write_text("version: 1.2.4\n")
    with pytest.raises(SystemExit, match="charts/c/Chart.yaml 1.2.4"):
        release.version()


def test_a_program_brings_along_what_not_every_linux_has():
    needs = module("needs")
    root = needs.Root("/", f"{os.uname().machine}-linux-gnu")
    found = root.closure(sys.executable if os.path.islink("/bin") else "/usr/bin/python3")
    system = ("libc.so", "libm.so", "ld-linux", "libstdc++", "libgcc_s")
    assert not [name for name in found if name.startswith(system)]
    assert "libc6 (>=" in root.depends("/usr/bin/dpkg")


def test_symbols_that_the_oldest_system_lacks_are_named(monkeypatch):
    needs = module("needs")
    [libc] = [path for path in needs.Root("/", f"{os.uname().machine}-linux-gnu").folders
              if (path / "libstdc++.so.6").exists()][:1]  # fmt: skip
    asked = needs.asks_too_much(libc / "libstdc++.so.6")
    assert all(name.startswith("GLIBC_2.") for name in asked)
    monkeypatch.setitem(needs.NEWEST, "GLIBC", (2, 1))
    assert {"GLIBC_2.14", "GLIBC_2.17"} & set(needs.asks_too_much(libc / "libstdc++.so.6"))
    monkeypatch.setitem(needs.NEWEST, "GLIBC", (99, 0))
    assert not needs.asks_too_much(libc / "libstdc++.so.6")


@pytest.mark.parametrize("option", ["", "-Wl,-z,pack-relative-relocs"])
def test_relocations_that_the_oldest_system_cannot_load_are_named(tmp_path, option):
    source, program = tmp_path / "one.cpp", tmp_path / "one"
    source.write_text('const char* words[] = {"a", "b"};\n'
                      "int main(int n, char**) { return words[n % 2][0]; }\n")  # fmt: skip
    subprocess.run(["clang++-16", "-fPIE", "-pie", "-fuse-ld=lld", *option.split(),
                    str(source), "-o", str(program)], check=True)  # fmt: skip
    found = module("needs").asks_too_much(program)
    assert found == (["GLIBC_ABI_DT_RELR"] if option else [])


def exits_with_7(path):
    """The smallest program for arm64."""
    code = struct.pack("<3I", 0xD2800BA8, 0xD28000E0, 0xD4000001)  # x8 = exit, x0 = 7, svc
    ident = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    base, size = 0x400000, 64 + 56 + len(code)
    header = struct.pack("<2HI3QI6H", 2, 183, 1, base + 120, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    segment = struct.pack("<2I6Q", 1, 5, 0, base, base, size, size, 0x10000)
    path.write_bytes(ident + header + segment + code)
    path.chmod(0o755)
    return path


def test_a_program_for_arm64_runs_apart_and_here_nothing_changes(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    program, known = exits_with_7(tmp_path / "seven"), "/proc/sys/fs/binfmt_misc/qemu-aarch64"
    before = os.path.exists(known)
    words = [sys.executable, "-B", os.path.join(HERE, "with_arm64.py")]
    done = subprocess.run([*words, "sh", "-c", f"echo $$ $(id -u); {program}"],
                          capture_output=True, text=True)  # fmt: skip
    if done.returncode == 77:
        pytest.skip("neither the kernel nor qemu-user runs programs for arm64 here")
    assert done.returncode == 7, done.stderr
    assert done.stdout == "1 0\n"
    assert os.path.exists(known) == before


def test_the_root_of_the_other_machine_is_made_in_a_fresh_clone(tmp_path):
    """mmdebstrap makes its target and not what that lies in; a fresh clone has no build folder."""
    asked = tmp_path / "bin/mmdebstrap"
    asked.parent.mkdir()
    asked.write_text('#!/bin/sh\nfor last; do :; done\n[ -d "$(dirname "$last")" ] && exit 9\n')
    asked.chmod(0o755)
    apt = tmp_path / "bin/apt-get"  # names no source, so that the target is the last argument
    apt.write_text("#!/bin/sh\n")
    apt.chmod(0o755)
    done = subprocess.run(
        [os.path.join(HERE, "arm64_root.sh"), "build/arm64-root", "libc6-dev"], cwd=tmp_path,
        env={**os.environ, "PATH": f"{asked.parent}:{os.environ['PATH']}"}, capture_output=True,
        text=True)  # fmt: skip
    assert done.returncode == 9, "it is there when mmdebstrap is called"


SOURCE = """#include "part/shown.hpp"
const char* here() { return shown([] { return 1; }); }
"""
HEADER = """template <class T> const char* shown(T) { return __PRETTY_FUNCTION__; }
inline const char* file() { return __FILE__; }
"""


def compiled(folder, launcher):
    """One object, made as ninja of a release makes it: all of its paths are absolute."""
    (folder / "build/release").mkdir(parents=True)
    (folder / "part").mkdir()
    (folder / "part/one.cpp").write_text(SOURCE + "const char* there() { return file(); }\n")
    (folder / "part/shown.hpp").write_text(HEADER)
    flags = ["-ffile-prefix-map=../../=./", "-fdebug-compilation-dir=.", "-g1", "-O1"]
    subprocess.run([*launcher, "clang++-16", *flags, f"-I{folder}", "-o", "one.o", "-c",
                    str(folder / "part/one.cpp")],
                   cwd=folder / "build/release", check=True)  # fmt: skip
    return (folder / "build/release/one.o").read_bytes()


@pytest.mark.parametrize("relative", [True, False])
def test_no_compiler_reads_the_name_of_the_folder(tmp_path, relative):
    here, there = (
        compiled(tmp_path / name, ["sh", os.path.join(HERE, "relative.sh"), tmp_path / name]
                 if relative else [])
        for name in ("here", "a folder elsewhere")
    )  # fmt: skip
    assert (here == there) is relative  # without the script the lambda shows where it is
    assert (b"(lambda at ../../part/one.cpp:2:" in here) is relative


def test_a_cache_serves_another_folder(tmp_path, monkeypatch):
    if shutil.which("ccache") is None:
        pytest.skip("ccache is not installed")
    release, made = module("release"), []
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "cache"))
    for name in ("here", "a folder elsewhere"):
        monkeypatch.setattr(release, "ROOT", tmp_path / name)
        scripts = tmp_path / name / "packaging/release"
        scripts.mkdir(parents=True)
        shutil.copy(os.path.join(HERE, "relative.sh"), scripts)
        made.append(compiled(tmp_path / name, release.Machine.launcher().split(";")))
    assert made[0] == made[1]
    said = subprocess.run(["ccache", "--print-stats"], capture_output=True, text=True).stdout
    hits = [int(row.split("\t")[1]) for row in said.splitlines()
            if row.startswith(("direct_cache_hit\t", "preprocessed_cache_hit\t"))]  # fmt: skip
    assert sum(hits) == 1, said


DOCKERFILE = """# a comment
ARG BASE=debian
FROM ${BASE} AS one
RUN a && \\
    b  # of nobody
FROM ${BASE} AS two
LABEL title="t" \\
      version="${VERSION}"
COPY --from=collect /rootfs /
USER 1:1
ENTRYPOINT ["/a"]
CMD ["b"]
FROM two AS three
COPY --from=collect /more /
CMD []
"""


def test_an_image_is_started_as_in_the_dockerfile():
    oci = module("oci")
    stages = oci.stages(DOCKERFILE, {"VERSION": "7"})
    assert stages["one"].instructions == [("RUN", "a && b # of nobody")]
    assert oci.copied(stages, "three") == ["/rootfs", "/more"]
    assert oci.first_base(stages, "three") == "${BASE}"
    two, three = (oci.configuration(stages, name) for name in ("two", "three"))
    assert two["Labels"] == {"title": "t", "version": "7"} and two["Cmd"] == ["b"]
    assert three == {**two, "Cmd": []}
    with pytest.raises(SystemExit, match="RUN in the stage one"):
        oci.configuration(stages, "one")


def layout_of(tmp_path, name, order):
    oci, folder = module("oci"), tree(tmp_path / f"{name}-files", order)
    (folder / "run").mkdir()
    (folder / "run").chmod(0o2770)
    for path in filter(Path.is_file, folder.rglob("*")):
        path.chmod(0o644)
        os.utime(path, (1, 1))  # a base keeps the times of its packages
    base = tmp_path / f"{name}.tar"
    with tarfile.open(base, "w") as tar:
        for path in (folder, *(folder / each for each in order)):
            tar.add(path, f"./{path.relative_to(folder)}", recursive=False)
        device = tarfile.TarInfo("./dev/null")
        device.type = tarfile.CHRTYPE
        tar.addfile(device)
    layout = oci.Layout(tmp_path / name, "arm64", EPOCH)
    layers = [layout.base_layer(base), layout.folder_layer(folder)]
    layout.add("tool:1", layers, {"Cmd": ["tool"]})
    layout.write(tmp_path / f"{name}.oci.tar")
    return layout, tmp_path / f"{name}.oci.tar"


def test_an_image_is_the_same_whoever_made_its_files(tmp_path):
    layout, one = layout_of(tmp_path, "one", NAMES)
    _, two = layout_of(tmp_path, "two", NAMES[::-1])
    assert digest(one) == digest(two)
    for path in layout.blobs.iterdir():
        assert digest(path) == path.name
    base, own = layout.layers("tool:1")
    with tarfile.open(base) as tar:
        assert [each.name for each in tar] == sorted(NAMES)  # and no device
    with tarfile.open(own) as tar:
        assert tar.getmember("run").mode == 0o2770
        assert {each.mtime for each in tar} == {EPOCH}


def test_libraries_of_another_machine_are_found_without_its_loader(monkeypatch):
    monkeypatch.syspath_prepend(os.path.dirname(HERE))
    sbom, packages = importlib.import_module("sbom"), importlib.import_module("debian_packages")
    other, triple = Path("/proc/self/root"), f"{os.uname().machine}-linux-gnu"  # a root like any
    program = os.path.realpath("/usr/bin/dpkg")
    here = [{os.path.basename(path) for path in paths}
            for paths in sbom.loaded_libraries(program, Path("/"), triple)]  # fmt: skip
    there = sbom.loaded_libraries(program, other, triple)
    assert [{os.path.basename(path) for path in paths if "/ld-linux" not in path}
            for paths in there] == here  # fmt: skip
    owned = packages.owners(other)
    names = {packages.owner_of(path, owned, other) for paths in there for path in paths}
    assert None not in names and "libc6" in names
    assert packages.packages(names, other)["libc6"] == packages.packages({"libc6"})["libc6"]
