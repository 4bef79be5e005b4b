#!/usr/bin/env python3
"""Makes the images of the Dockerfile without a container engine, for both machines.

    oci_images.py DIST [--machines x86_64,aarch64] [--try]

Takes the programs and their bills of materials from build/release-MACHINE and DIST, where
release.py has put them, and writes for each machine DIST/lastcall-images-VERSION-ARCH.oci.tar, an
OCI layout with lastcall, lastcall-shim and lastcall-router, and the bills of the images. The
stages, their commands, labels and entry points are those of the Dockerfile, and what is not
understood there is an error. Stages run in roots of Debian 12 that mmdebstrap makes (kept as a tar
in build/userlands), arm64's under qemu-user (with_arm64.py). Needs root.

--try: unpacks the layers of each image into a fresh root and runs its programs there.
"""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent)]
import oci  # noqa: E402
import package_records  # noqa: E402
import release  # noqa: E402

IMAGES = {"shim": "lastcall-shim", "supervisor": "lastcall", "router": "lastcall-router"}
# Where the Dockerfile's first stages put a program, beside its bill of materials.
PLACES = {"lastcall": "program/lastcall", "lastcall-doctor": "lastcall-doctor",
          "lastcall-kube": "lastcall-kube", "lastcall-shim": "lastcall-shim",
          "lastcall-router": "lastcall-router"}  # fmt: skip
TRIED = {"shim": [["/lastcall-shim", "--version"], ["/lastcall-shim", "--install", "/tried"]],
         "supervisor": [["/usr/bin/lastcall", "version"], ["/usr/bin/lastcall", "plan"],
                        ["/usr/bin/lastcall-kube", "--help"],
                        ["/usr/bin/lastcall-shim", "/usr/bin/lastcall", "check"]],
         "router": [["/usr/bin/lastcall-router", "--help"]]}  # fmt: skip


class Machine:
    """The things that are needed to run commands of one kind of machine below a folder."""

    def __init__(self, name):
        self.name, self.debian = name, release.DEBIAN[name]
        self.triple = f"{name}-linux-gnu"
        self.is_here = name == os.uname().machine
        self.libraries = Path("/") if self.is_here else ROOT / "build/arm64-root"

    def apart(self, *words, **how):
        """A process in namespaces of its own, in which programs of this machine run."""
        plain = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        foreign = [sys.executable, "-B", str(HERE / "with_arm64.py")]
        return run(*(plain if self.is_here else foreign), *words, **how)

    def inside(self, root, *words, **variables):
        """The command in `root`, with /proc, /dev and names of hosts as they are here."""
        (root / "etc").mkdir(exist_ok=True)
        for folder in ("proc", "dev"):
            (root / folder).mkdir(exist_ok=True)
        script = (
            'mount --rbind /dev "$1/dev"; mount -t proc none "$1/proc"; root=$1; shift; '
            'exec chroot "$root" "$@"'
        )
        variables = {"PATH": oci.PATH, "HOME": "/tmp", **variables}
        return self.apart("sh", "-euc", script, "sh", str(root), *words, env=variables)

    def base(self, epoch):
        """A fresh Debian 12 as a tar."""
        kept = ROOT / f"build/userlands/image-base-{self.debian}.tar"
        if not kept.exists():
            release.say(f"makes a base for {self.debian}")
            kept.parent.mkdir(parents=True, exist_ok=True)
            part = kept.with_suffix(".part.tar")
            self.apart("mmdebstrap", "--quiet", "--mode=root", f"--architectures={self.debian}",
                       "--variant=minbase", "--dpkgopt=force-unsafe-io", "bookworm", str(part),
                       *sources(), env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)})  # fmt: skip
            part.rename(kept)
        return kept


def run(*words, **how):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, **how)  # fmt: skip
    if done.returncode:
        shown = " ".join(map(str, words))
        sys.exit(f"images: {shown} ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return done.stdout


def sources():
    """Where this machine has Debian 12's packages from, as lines of sources.list."""
    form = "deb $(REPO_URI) $(RELEASE) main"
    lines = run("apt-get", "indextargets", "--format", form, "Created-By: Packages",
                "Origin: Debian", "Component: main").splitlines()  # fmt: skip
    return [line for line in lines if re.search(r" bookworm[a-z-]* main$", line)]


def programs(machine, number, out, into):
    """Lays out what the Dockerfile's stage `compile` has in /out."""
    build = ROOT / f"build/release-{machine.name}"
    (into / "program").mkdir(parents=True)
    shutil.copy(build / "supervisor/cli/lastcall", into / "lastcall")  # the launcher
    for name, target in release.PROGRAMS.items():
        shutil.copy(build / target, into / PLACES[name])
        shutil.copy(out / f"{name}-{number}-{machine.name}.spdx.json", into / f"{name}.spdx.json")
    shim = into / "shim-rootfs"
    (shim / "etc").mkdir(parents=True)
    shutil.copy("/etc/os-release", shim / "etc/os-release")
    package_records.record_linked(shim, [into / "lastcall-shim.spdx.json"], machine.libraries)


def copy(words, root, compiled):
    """COPY of what the tree or the stage `compile` has; a pattern may match nothing."""
    at = ROOT
    if words[0].startswith("--from="):
        if words.pop(0) != "--from=compile":
            sys.exit("images: the stages that run take files of 'compile' alone")
        at = compiled.parent  # its /out is `compiled`
    *given, target = words
    place = root / target.strip("/")
    if target.endswith("/") or len(given) > 1:
        place.mkdir(parents=True, exist_ok=True)
    for pattern in given:
        for path in map(Path, sorted(glob.glob(str(at / pattern.lstrip("/"))))):
            if path.is_dir():
                shutil.copytree(path, place, symlinks=True, dirs_exist_ok=True,
                                ignore=shutil.ignore_patterns("__pycache__"))  # fmt: skip
            else:
                shutil.copy(path, place)


def play(stage, machine, root, compiled, values):
    for instruction, rest in stage.instructions:
        if instruction in ("ARG", "ENV"):
            for name, value in oci.pairs(rest):
                values.setdefault(name, value) if instruction == "ARG" else values.update(
                    {name: value})  # fmt: skip
        elif instruction == "COPY":
            copy(rest.split(), root, compiled)
        elif instruction == "RUN":
            machine.inside(root, "sh", "-c", rest, **values)
        else:
            sys.exit(f"images: the Dockerfile's {stage.name} has {instruction}, which is unknown")


def images(machine, number, at, out, is_tried):
    stages = oci.stages((ROOT / "Dockerfile").read_text(), {"VERSION": number})
    base = machine.base(at)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        work = Path(folder)
        programs(machine, number, out, work / "out")
        root = work / "root"
        root.mkdir()
        run("tar", "--extract", "--directory", root, "--file", base, "--exclude=./dev/*")
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
        release.say(f"lays out images for {machine.debian}")
        values = {"SOURCE_DATE_EPOCH": str(at)}
        for name in ("libraries", "collect"):
            play(stages[name], machine, root, work / "out", values)
        layout = oci.Layout(work / "layout", machine.debian, at)
        of_base = layout.base_layer(base)
        for name, image in IMAGES.items():
            layers = [layout.folder_layer(root / source.strip("/"))
                      for source in oci.copied(stages, name)]  # fmt: skip
            is_bare = oci.first_base(stages, name) == "scratch"
            layout.add(f"{image}:{number}", ([] if is_bare else [of_base]) + layers,
                       oci.configuration(stages, name))  # fmt: skip
            own = root / oci.copied(stages, name)[-1].strip("/")
            bill = own / f"usr/share/lastcall/{image}.spdx.json"
            shutil.copy(bill, out / f"{image}-image-{number}-{machine.debian}.spdx.json")
            if is_tried:
                try_image(machine, layout, f"{image}:{number}", TRIED[name], work / "tried")
        layout.write(out / f"lastcall-images-{number}-{machine.debian}.oci.tar")


def try_image(machine, layout, reference, commands, root):
    """Unpacks its layers, like any engine, and runs its programs."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for layer in layout.layers(reference):
        run("tar", "--extract", "--gzip", "--directory", root, "--file", layer)
    (root / "tried").mkdir()  # the volume that the shim is copied into
    for words in commands:
        machine.inside(root, *words)
    release.say(f"{reference} for {machine.debian}: {len(commands)} commands ran")
    shutil.rmtree(root)


def main():
    parser = argparse.ArgumentParser(description="makes images without a container engine")
    parser.add_argument("out", type=Path)
    parser.add_argument("--machines", default="x86_64,aarch64")
    parser.add_argument("--try", action="store_true", dest="is_tried")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("images: needs root")
    number, at, out = release.version(), release.epoch(), options.out.resolve()
    os.umask(0o022)
    for name in options.machines.split(","):
        images(Machine(name), number, at, out, options.is_tried)
    release.say(f"{release.sums(out)} files of {number} in {out}")


if __name__ == "__main__":
    main()
