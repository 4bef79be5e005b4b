#!/usr/bin/env python3
"""Makes what a release is made of, the same bytes each time: release.py [OUT] [OPTION]...

    --machines x86_64,aarch64   of which the programs are made; default: both


OUT (build/dist) gets a .deb for each program and for the C++ SDK, a tarball with the libraries that
a program brings along, a bill of materials for each program, the Python wheel and sdist, the
charts, and SHA256SUMS. What is for arm64 takes build/arm64-root, which arm64_root.sh has unpacked.

The time in all of it is SOURCE_DATE_EPOCH, else that of the last commit. The version is the one of
CMakeLists.txt, and everything else that has one must agree.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
import archives  # noqa: E402
from needs import Root, asks_too_much, needed  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "libexec/lastcall/lastcall"  # what the launcher, bin/lastcall, becomes
PROGRAMS = {
    "lastcall": f"supervisor/{PROGRAM}", "lastcall-doctor": "supervisor/cli/lastcall-doctor",
    "lastcall-kube": "supervisor/cli/lastcall-kube", "lastcall-shim": "shim/lastcall-shim",
    "lastcall-router": "router/lastcall-router",
}  # fmt: skip
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
MAINTAINER = "lastcall maintainers <maintainers@lastcall.invalid>"
TEXTS = {
    "lastcall": (
        "lifecycle sidecar for LLM engines\n"
        " Stands beside an engine (vLLM, SGLang, TensorRT-LLM, any OpenAI-compatible server) and\n"
        " makes every stop a clean one: deregister, drain, hand off, clean up, tell the truth."),
    "lastcall-shim": (
        "PID 1 for an LLM engine's container\n"
        " One static program: holds the engine's signals, reaps, and enforces the deadline of a\n"
        " stop. Without a socket it is a plain init."),
    "lastcall-router": (
        "one front for many LLM engines\n"
        " Sends each request to one of many workers, to another one where that fails, and lets\n"
        " most streams go on elsewhere when their worker ends."),
    "lastcall-dev": (
        "C++ SDK of lastcall\n"
        " Headers, a static library without dependencies, a CMake package and a .pc file."),
}  # fmt: skip


def say(words):
    print(f"release: {words}", flush=True)


def version():
    """The one that everything has."""
    found = {}
    for path, pattern in (
        ("CMakeLists.txt", r"project\(lastcall VERSION ([\d.]+)"),
        ("sdk/python/lastcall/version.py", r'"([\d.]+)"'),
        *((f"{chart.relative_to(ROOT)}/Chart.yaml", r"^version: (\S+)") for chart in charts()),
    ):
        match = re.search(pattern, (ROOT / path).read_text(), re.MULTILINE)
        found[path] = match.group(1) if match else "none"
    if len(set(found.values())) != 1:
        rows = ", ".join(f"{path} {value}" for path, value in found.items())
        sys.exit(f"release: the versions differ, expected one: {rows}")
    return found["CMakeLists.txt"]


def charts():
    return sorted(path.parent for path in (ROOT / "charts").glob("*/Chart.yaml"))


def epoch():
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, text=True,
                          capture_output=True, check=True)  # fmt: skip
    return int(done.stdout)


class Machine:
    """The programs of one kind of machine: compiled, and installed into folders by component."""

    def __init__(self, name, out):
        self.name, self.out = name, out
        self.triple = f"{name}-linux-gnu"
        self.build = ROOT / f"build/release-{name}"
        self.root = Path("/") if name == os.uname().machine else ROOT / "build/arm64-root"
        self.needs = Root(self.root, self.triple)
        self.stage = out / "stage" / name

    @staticmethod
    def launcher():
        """The folder of the sources is in no file of the release: no compiler gets it."""
        relative = ["/bin/sh", ROOT / "packaging/release/relative.sh", ROOT]
        ccache = shutil.which("ccache")  # which may take what another clone has compiled
        return ";".join(map(str, [*relative, *(["env", "CCACHE_NOHASHDIR=1", ccache] if ccache
                                               else [])]))  # fmt: skip

    def compile(self):
        words = [
            "cmake", "--preset", "release", "-S", str(ROOT), "-B", str(self.build),
            # Everyday builds let ccache rewrite paths, so that clones share what is compiled; what
            # __FILE__ becomes would then depend on whether there is a ccache.
            "-DCCACHE_PROGRAM=", *(f"-DCMAKE_{each}_COMPILER_LAUNCHER={self.launcher()}"
                                   for each in ("C", "CXX")),
            "-DLASTCALL_BUILD_TESTS=OFF", "-DLASTCALL_BUILD_BENCH=OFF",
            "-DLASTCALL_PACK_RELOCATIONS=OFF",  # Ubuntu 22.04 cannot load packed ones
            "-DCMAKE_INSTALL_PREFIX=/usr", f"-DCMAKE_INSTALL_LIBDIR=lib/{self.triple}",
            *(f"-DCMAKE_{each}_FLAGS=-ffile-prefix-map=../../=./ -fdebug-compilation-dir=."
              for each in ("C", "CXX")),
        ]  # fmt: skip
        if self.root != Path("/"):
            words += ["--toolchain", str(ROOT / "cmake/aarch64.cmake"),
                      f"-DLASTCALL_ARM64_ROOT={self.root}"]  # fmt: skip
        say(f"compiles for {self.name}")
        run(*words)
        run("ninja", "-C", str(self.build), *PROGRAMS.values(), "lastcall", "lastcall_client")

    def install(self):
        shutil.rmtree(self.stage, ignore_errors=True)
        for component in ("lastcall", "router", "shim", "sdk"):
            run("cmake", "--install", str(self.build), "--component", component, "--strip",
                env={**os.environ, "DESTDIR": str(self.stage / component)})  # fmt: skip
        for component in ("lastcall", "router", "shim"):
            usr = self.stage / component / "usr"
            for program in (*(usr / "bin").iterdir(), *usr.glob(PROGRAM)):
                if not program.is_symlink():  # it would become a copy
                    run("llvm-strip-16", str(program))
        for library in (self.stage / "sdk").rglob("*.a"):
            run("llvm-strip-16", "--strip-debug", str(library))
        for page in self.stage.rglob("man1/*.1"):
            archives.write_gz(f"{page}.gz", page.read_bytes(), 0)  # gzip -n
            page.unlink()

    def complete(self, other):
        """A program of another machine cannot be asked what it completes; they are the same."""
        for folder in ("bash-completion", "zsh", "fish"):
            share = "lastcall/usr/share"
            target = self.stage / share / folder
            if not target.exists():
                shutil.copytree(other.stage / share / folder, target)

    def packages(self, number, at):
        for name, component in (("lastcall", "lastcall"), ("lastcall-router", "router"),
                                ("lastcall-shim", "shim"), ("lastcall-dev", "sdk")):  # fmt: skip
            folder = self.out / "stage/deb"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(self.stage / component, folder, symlinks=True)
            share = folder / "usr/share/doc" / name
            share.mkdir(parents=True)
            shutil.copy(ROOT / "LICENSE", share / "copyright")
            fields = {
                "Package": name, "Version": number, "Architecture": DEBIAN[self.name],
                "Maintainer": MAINTAINER, "Section": "libdevel" if component == "sdk" else "admin",
                "Priority": "optional", "Description": TEXTS[name],
            }  # fmt: skip
            if name == "lastcall":
                unit = folder / "usr/lib/systemd/system"
                unit.mkdir(parents=True)
                shutil.copy(ROOT / "packaging/hosts/lastcall.service", unit)
                users = folder / "usr/lib/sysusers.d"
                users.mkdir()
                (users / "lastcall.conf").write_text(
                    'u lastcall - "LLM engine under lastcall" /var/lib/lastcall\n')
                programs = [p for p in (folder / "usr/bin").iterdir() if not p.is_symlink()]
                needs = self.needs.depends(folder / "usr" / PROGRAM, *programs)
                fields["Depends"] = f"lastcall-shim (= {number}), {needs}"
            if name == "lastcall-router":
                fields["Depends"] = self.needs.depends(folder / "usr/bin/lastcall-router")
                fields["Recommends"] = f"lastcall (= {number})"  # its `run` holds the signals
            scripts = {each: ROOT / f"packaging/release/{name}_{each}.sh"
                       for each in ("postinst", "postrm")}  # fmt: skip
            archives.deb(folder, self.out / f"{name}_{number}_{DEBIAN[self.name]}.deb", at, fields,
                         scripts={n: p for n, p in scripts.items() if p.exists()})  # fmt: skip

    def tarball(self, number, at):
        """A tarball of all programs, and of the libraries that not every Linux has."""
        name = f"lastcall-{number}-linux-{self.name}"
        folder = self.out / "stage/tar"
        shutil.rmtree(folder, ignore_errors=True)
        for component in ("lastcall", "router", "shim"):
            shutil.copytree(self.stage / component / "usr", folder, symlinks=True,
                            dirs_exist_ok=True)  # fmt: skip
        # The launcher and the shim are static; kubectl-lastcall is a link.
        programs = [p for p in (*folder.glob("bin/*"), *folder.glob(PROGRAM))
                    if not p.is_symlink() and needed(p)]  # fmt: skip
        (folder / "lib/lastcall").mkdir(parents=True)
        for soname, path in self.needs.closure(*programs).items():
            library = folder / "lib/lastcall" / soname
            shutil.copy(path, library)
            run("patchelf", "--set-rpath", "$ORIGIN", str(library))
        for program in programs:
            up = os.path.relpath(folder / "lib/lastcall", program.parent)
            run("patchelf", "--set-rpath", f"$ORIGIN/{up}", str(program))
        for path in [*folder.glob("bin/*"), *folder.glob(PROGRAM), *folder.glob("lib/lastcall/*")]:
            if too_new := asks_too_much(path):
                sys.exit(f"release: {path.name} of {self.name} asks for {', '.join(too_new)}, "
                         "which Ubuntu 22.04 does not have")  # fmt: skip
        shutil.copy(ROOT / "LICENSE", folder)
        shutil.copytree(ROOT / "packaging/hosts", folder / "share/lastcall/hosts")
        archives.tar_gz(folder, self.out / f"{name}.tar.gz", at, name)

    def bills(self, number):
        """The bills of materials, from what the linker and the compiler read."""
        for name, target in PROGRAMS.items():
            run(sys.executable, "-B", str(ROOT / "packaging/sbom.py"), "program", str(self.build),
                target, str(self.out / f"{name}-{number}-{self.name}.spdx.json"),
                "--root", str(self.root), "--triple", self.triple)  # fmt: skip


def run(*words, **how):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          cwd=how.pop("cwd", ROOT), **how)  # fmt: skip
    if done.returncode:
        sys.exit(f"release: {' '.join(words)} ended with {done.returncode}:\n{done.stdout[-3000:]}")


def python_packages(out, at):
    source = out / "stage/python"
    shutil.rmtree(source, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc", "build", "*.egg-info", ".*cache")
    shutil.copytree(ROOT / "sdk/python", source, ignore=ignored)
    shutil.copy(ROOT / "LICENSE", source)
    for kind in ("sdist", "wheel"):  # a process each: one would reuse what the other has read
        code = f"import sys; from setuptools.build_meta import build_{kind} as b; b(sys.argv[1])"
        run(sys.executable, "-c", code, str(out), cwd=source,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(at)})  # fmt: skip
    if len(list(out.glob("*.whl"))) != 1:
        sys.exit("release: setuptools has made no wheel")
    for path in out.glob("*.whl"):
        archives.wheel_again(path, at)
    for path in out.glob("lastcall-*.tar.gz"):
        if "-linux-" not in path.name:
            archives.sdist_again(path, at)


def chart_packages(out, at):
    for chart in charts():
        number = re.search(r"^version: (\S+)", (chart / "Chart.yaml").read_text(), re.M).group(1)
        folder = out / "stage/chart"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(chart, folder)  # what it links to comes along
        archives.tar_gz(folder, out / f"{chart.name}-chart-{number}.tgz", at, chart.name,
                        first=("Chart.yaml",))  # fmt: skip


def sums(out):
    rows = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
            for path in sorted(out.iterdir()) if path.is_file()]  # fmt: skip
    (out / "SHA256SUMS").write_text("".join(rows))
    return len(rows)


def main():
    parser = argparse.ArgumentParser(description="makes the files of a release")
    parser.add_argument("out", nargs="?", type=Path, default=ROOT / "build/dist")
    parser.add_argument("--machines", default="x86_64,aarch64")
    options = parser.parse_args()
    names = options.machines.split(",")
    if unknown := set(names) - set(DEBIAN):
        parser.error(f"unknown machine {', '.join(unknown)}; there are {', '.join(DEBIAN)}")
    number, at, out = version(), epoch(), options.out.resolve()
    os.umask(0o022)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    machines = [Machine(name, out) for name in names]
    for each in machines:
        each.compile()
        each.install()
    for each in machines:
        each.complete(machines[0])
        each.packages(number, at)
        each.tarball(number, at)
        each.bills(number)
    python_packages(out, at)
    chart_packages(out, at)
    shutil.rmtree(out / "stage")
    say(f"{sums(out)} files of {number} in {out}")


if __name__ == "__main__":
    main()
