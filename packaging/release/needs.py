"""The shared libraries that a program is loaded with, and their Debian packages, for any machine.

Read from ELF by readelf and from dpkg's lists below `root`, so that nothing of another machine is
run: `root` is / or an unpacked Debian.
"""

import os
import re
import subprocess
from pathlib import Path

# A program finds these libraries where it runs, and a tarball brings all others along. apt itself
# needs the compiler's two, and Debian 12's own libstdc++ would need a newer libc than all the rest.
SYSTEM = re.compile(
    r"^(lib(c|m|dl|rt|pthread|resolv)\.so\.\d+|ld-linux.*|libstdc\+\+\.so\.6|libgcc_s\.so\.1)$"
)
# The versions of the oldest system on which a tarball is to run: Ubuntu 22.04, the libstdc++ of GCC
# 12.
NEWEST = {"GLIBC": (2, 35), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}


def needed(path):
    done = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True, check=True)
    return re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout)


def asks_too_much(path):
    """The versions of the system's libraries, like GLIBC_2.36, that are newer than NEWEST."""
    done = subprocess.run(["readelf", "-V", str(path)], capture_output=True, text=True, check=True)
    needs = re.search(r"^Version needs section(?:.|\n)*", done.stdout, re.MULTILINE)
    asked = set(re.findall(r"Name: ([A-Z]+)_(\S+)", needs.group() if needs else ""))
    return sorted(f"{kind}_{number}" for kind, number in asked if kind in NEWEST
                  and (_numbers(number) is None or _numbers(number) > NEWEST[kind]))  # fmt: skip


def _numbers(version):
    """Names that are not a number are left out: GLIBC_ABI_DT_RELR is packed relocations, which 2.36
    began with."""
    is_number = re.fullmatch(r"\d+(\.\d+)*", version)
    return tuple(map(int, version.split("."))) if is_number else None


class Root:
    def __init__(self, root, triple):
        self.root = Path(root)
        self.folders = [self.root / f"{usr}lib/{triple}" for usr in ("usr/", "")]
        self._owners = None

    def library(self, name):
        for folder in self.folders:
            if (folder / name).exists():
                return folder / name
        raise SystemExit(f"{name} is in none of {', '.join(map(str, self.folders))}")

    def closure(self, *programs):
        """{name: path} of the libraries that are not the system's own, found in depth."""
        found, left = {}, [name for program in programs for name in needed(program)]
        while left:
            name = left.pop()
            if name not in found and not SYSTEM.match(name):
                found[name] = self.library(name)
                left += needed(found[name])
        return dict(sorted(found.items()))

    def depends(self, *programs):
        """The Depends field: for each package what its own shlibs file asks for."""
        packages = {self._owner(self.library(name)) for program in programs
                    for name in needed(program) if not name.startswith("ld-linux")}  # fmt: skip
        return ", ".join(sorted(self._asked_for(name) for name in packages))

    def _asked_for(self, package):
        """As "libssl3 (>= 3.0.0)"; of libc the version that was linked."""
        if package == "libc6":
            return f"libc6 (>= {self._version(package)})"
        for path in (self.root / "var/lib/dpkg/info").glob(f"{package}:*.shlibs"):
            for line in path.read_text().splitlines():
                asked = line.split(None, 2)[2]
                if asked.split()[0] == package and "|" not in asked:
                    return asked
        return package

    def _owner(self, path):
        if self._owners is None:
            self._owners = {}
            for listing in (self.root / "var/lib/dpkg/info").glob("*.list"):
                for line in listing.read_text().splitlines():
                    if ".so" in line:
                        self._owners[line.removeprefix("/usr")] = listing.stem.split(":")[0]
        plain = "/" + os.path.relpath(path, self.root)
        real = "/" + os.path.relpath(os.path.realpath(path), os.path.realpath(self.root))
        for name in (plain, real):
            if owner := self._owners.get(name.removeprefix("/usr")):
                return owner
        raise SystemExit(f"no package owns {path}")

    def _version(self, name):
        status = (self.root / "var/lib/dpkg/status").read_text()
        stanza = re.search(rf"^Package: {re.escape(name)}\n(?:.+\n)*", status, re.MULTILINE).group()
        version = re.search(r"^Version: (.*)$", stanza, re.MULTILINE).group(1)
        return version.rpartition("-")[0] or version  # without Debian's revision
