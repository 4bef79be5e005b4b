"""The Debian packages of this machine, or of a folder that has another one: which package a file is
from, and what is known of each.

Read from dpkg's own files and dpkg-query, so that nothing is asked of a network.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

RECORDS = "var/lib/dpkg"
_FIELDS = ("Package", "Version", "Architecture", "source:Package", "source:Version")


@dataclass(frozen=True, order=True)
class Package:
    name: str
    version: str
    architecture: str
    source: str
    source_version: str


def owners(root="/"):
    """{path: name of the package that installed it}, paths as they are within `root`"""
    info = Path(root) / RECORDS / "info"
    if not info.is_dir():
        raise SystemExit(f"{info} is missing: expected a Debian system, whose packages can be read")
    found = {}
    for path in info.glob("*.list"):
        name = path.stem.split(":")[0]
        for line in path.read_text().splitlines():
            found[line] = name
    return found


def owner_of(path, owned, root="/"):
    """The package of a file, by any of the names that merged /usr and links give it; or nothing."""
    names = [os.path.normpath(path), os.path.realpath(path)]
    if str(root) != "/":
        names = [f"/{os.path.relpath(names[0], root)}",
                 f"/{os.path.relpath(names[1], os.path.realpath(root))}"]  # fmt: skip
    for name in names:
        for spelled in (name, name.removeprefix("/usr"), f"/usr{name}"):
            if spelled in owned:
                return owned[spelled]
    return None


def packages(names, root="/"):
    """{name: Package} of installed packages."""
    names = sorted(names)
    if not names:
        return {}
    if str(root) != "/":
        rows = packages_of_status((Path(root) / RECORDS / "status").read_text())
        return {each.name: each for each in rows if each.name in names}
    form = "\\t".join(f"${{{field}}}" for field in _FIELDS) + "\\n"
    done = subprocess.run(
        ["dpkg-query", "-W", "-f", form, *names], capture_output=True, text=True, check=True
    )
    rows = (line.split("\t") for line in done.stdout.splitlines())
    return {row[0]: Package(*row) for row in rows}


def packages_of_status(text):
    """[Package] of a status file of dpkg: those that are installed."""
    found = []
    for stanza in text.split("\n\n"):
        lines = [line.split(": ", 1) for line in stanza.splitlines() if not line.startswith(" ")]
        fields = {line[0]: line[1] for line in lines if len(line) == 2}
        if not fields.get("Status", "install ok installed").endswith(" installed"):
            continue
        if "Package" in fields:
            source, _, version = fields.get("Source", fields["Package"]).partition(" ")
            found.append(
                Package(
                    fields["Package"], fields["Version"], fields["Architecture"], source,
                    version.strip("()") or fields["Version"],
                )
            )  # fmt: skip
    return found
