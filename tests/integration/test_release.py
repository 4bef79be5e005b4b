"""What `./dev release` is made of, in small: archives do not depend on when, where and by whom."""

import hashlib
import importlib
import os
import subprocess
import sys
import tarfile
import zipfile

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
    assert not [name for name in found if name.startswith(("libc.so", "libm.so", "ld-linux"))]
    assert "libc6 (>=" in root.depends("/usr/bin/dpkg")
