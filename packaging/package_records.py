#!/usr/bin/env python3
"""Shows scanners of an image which Debian packages the libraries in it come from.

    package_records.py ROOTFS FILE...      records of the packages that own these files
    package_records.py ROOTFS --linked PROGRAM-SBOM   of the archives that a program is linked with

Writes ROOTFS/var/lib/dpkg/status.d/NAME, the form in which images without a package manager keep
them and which scanners read beside the base's own status file, NAME.md5sums for the files that
were named, and each package's copyright file. The base's own records stay as they are.
"""

import hashlib
import json
import re
import shutil
import sys
from pathlib import Path

from debian_packages import owner_of, owners


def stanza(name, root):
    """The control fields of an installed package, without the state of the machine it is from."""
    status = (root / "var/lib/dpkg/status").read_text()
    found = re.search(rf"^Package: {re.escape(name)}\n(?:.+\n)*", status, re.MULTILINE)
    if not found:
        raise SystemExit(f"package_records.py: {name} is not installed below {root}")
    kept, skips = [], False
    for line in found.group().splitlines():
        if not line.startswith(" "):
            skips = line.startswith(("Status:", "Conffiles:"))
        if not skips:
            kept.append(line)
    return "\n".join(kept) + "\n"


def write(rootfs, name, paths, root=Path("/")):
    """The record of one package: its control fields, its files that are here, its copyright."""
    folder = rootfs / "var/lib/dpkg/status.d"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(stanza(name, root))
    sums = [f"{hashlib.md5(Path(p).read_bytes()).hexdigest()}  {str(p).lstrip('/')}\n"
            for p in sorted(paths)]  # fmt: skip
    if sums:
        (folder / f"{name}.md5sums").write_text("".join(sums))
    copyright_file = root / "usr/share/doc" / name / "copyright"
    if copyright_file.is_file():
        place = rootfs / copyright_file.relative_to(root)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(copyright_file, place)


def by_package(paths):
    owned = owners()
    found = {}
    for path in paths:
        name = owner_of(path, owned)
        if not name:
            raise SystemExit(f"package_records.py: {path} belongs to no package")
        found.setdefault(name, []).append(path)
    return found


def linked(sbom):
    """Names of the packages whose archives are in a program; headers alone have a comment."""
    document = json.loads(Path(sbom).read_text())
    names = {package["SPDXID"]: package["name"] for package in document["packages"]}
    return {
        names[each["relatedSpdxElement"]]
        for each in document["relationships"]
        if each["relationshipType"] == "STATIC_LINK" and "comment" not in each
    }


def record_linked(rootfs, sboms, root=Path("/")):
    """`root` has the packages of the machine that the programs were compiled for."""
    for name in sorted({name for sbom in sboms for name in linked(sbom)}):
        write(rootfs, name, [], root)
        print(f"recorded {name}")


def main(arguments):
    if len(arguments) < 2:
        raise SystemExit(__doc__)
    rootfs = Path(arguments[0])
    if arguments[1] == "--linked":
        record_linked(rootfs, arguments[2:])
        return
    for name, paths in sorted(by_package(arguments[1:]).items()):
        write(rootfs, name, paths)
        print(f"recorded {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
