#!/usr/bin/env python3
"""Software bills of material in SPDX 2.3 (JSON), from what a build really read.

    sbom.py program BUILD TARGET OUT [--root FOLDER --triple TRIPLE]
        of a program that ninja built in BUILD: the packages whose libraries it is linked with,
        whose headers were compiled into it, and the tools that did it; FOLDER has the packages of
        the machine that it was cross-compiled for
    sbom.py image NAME OUT [--status FILE] [--library FILE]... [--program SBOM]...
        of an image: its base's packages by dpkg's status file, the owners of the libraries that
        were copied into it, and its programs by their own documents

Nothing is declared by hand: the linker reports which files it read, the compiler's dependency
records which headers, dpkg which package they are from.
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import quote

from debian_packages import owner_of, owners, packages, packages_of_status

ROOT = Path(__file__).resolve().parents[1]
NONE = "NOASSERTION"
TOOLS = ("clang-16", "lld-16", "cmake", "ninja-build")


def run(*command, cwd=None):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"sbom.py: {command[0]} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def version():
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"^project\(lastcall VERSION ([\d.]+)", text, re.MULTILINE)[1]


def spdx_id(*words):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(words))


class Document:
    """One SPDX document: elements by their id, and relationships, each of them once."""

    def __init__(self, name):
        self.name = name
        self.packages, self.files, self.relationships = {}, {}, {}

    def relate(self, one, kind, other, comment=None):
        entry = {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
        self.relationships.setdefault((one, kind, other), entry | ({"comment": comment} if comment
                                                                   else {}))  # fmt: skip

    def add_own(self, name, purpose):
        identity = spdx_id("Package", name)
        self.packages[identity] = {
            "SPDXID": identity, "name": name, "versionInfo": version(),
            "downloadLocation": NONE, "filesAnalyzed": False, "primaryPackagePurpose": purpose,
            "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
            "copyrightText": NONE,
        }  # fmt: skip
        return identity

    def add_debian(self, package):
        identity = spdx_id("Debian", package.name, package.architecture)
        purl = f"pkg:deb/debian/{quote(package.name)}@{quote(package.version, safe='~')}"
        purl += f"?arch={package.architecture}&distro=debian-12&upstream={quote(package.source)}"
        self.packages[identity] = {
            "SPDXID": identity, "name": package.name, "versionInfo": package.version,
            "supplier": "Organization: Debian", "downloadLocation": NONE, "filesAnalyzed": False,
            "sourceInfo": f"built from: {package.source} {package.source_version}",
            "licenseConcluded": NONE, "licenseDeclared": NONE, "copyrightText": NONE,
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": purl}],
        }  # fmt: skip
        return identity

    def add_file(self, path, name):
        content = Path(path).read_bytes()
        sums = [{"algorithm": kind, "checksumValue": hashlib.new(kind, content).hexdigest()}
                for kind in ("SHA1", "SHA256")]  # fmt: skip
        identity = spdx_id("File", name)
        self.files[identity] = {
            "SPDXID": identity, "fileName": f"./{name}", "checksums": sums,
            "fileTypes": ["BINARY"], "licenseConcluded": "Apache-2.0", "copyrightText": NONE,
        }  # fmt: skip
        return identity

    def add_document(self, other):
        """The elements of another document; what that one describes is named by its ids."""
        self.packages |= {each["SPDXID"]: each for each in other["packages"]}
        self.files |= {each["SPDXID"]: each for each in other.get("files", [])}
        described = []
        for each in other["relationships"]:
            if each["relationshipType"] == "DESCRIBES":
                described.append(each["relatedSpdxElement"])
            else:
                self.relate(each["spdxElementId"], each["relationshipType"],
                            each["relatedSpdxElement"], each.get("comment"))  # fmt: skip
        return described

    def contain(self, package, file):
        """A package whose files are all listed has a code made of their sums."""
        self.relate(package, "CONTAINS", file)
        held = [other for one, kind, other in self.relationships
                if (one, kind) == (package, "CONTAINS") and other in self.files]  # fmt: skip
        sums = sorted(self.files[each]["checksums"][0]["checksumValue"] for each in held)
        code = hashlib.sha1("".join(sums).encode()).hexdigest()
        self.packages[package] |= {
            "filesAnalyzed": True,
            "packageVerificationCode": {"packageVerificationCodeValue": code},
        }

    def as_json(self):
        seconds = os.environ.get("SOURCE_DATE_EPOCH")
        now = datetime.datetime.now(datetime.timezone.utc)
        if seconds:
            now = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc)
        body = {
            "packages": list(self.packages.values()),
            "files": list(self.files.values()),
            "relationships": list(self.relationships.values()),
        }
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        return {
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": self.name,
            "documentNamespace": f"urn:lastcall:sbom:{self.name}:{digest}",
            "creationInfo": {
                "created": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "creators": [f"Tool: lastcall-sbom-{version()}", "Organization: lastcall"],
            },
            **body,
        }  # fmt: skip


def headers_of(build, target):
    """Every file that was read to compile what the target is made of."""
    inputs = set(run("ninja", "-t", "inputs", target, cwd=build).splitlines())
    read, wanted = set(), False
    for line in run("ninja", "-t", "deps", cwd=build).splitlines():
        if line.startswith("    "):
            if wanted:
                read.add(os.path.normpath(build / line.strip()))
        else:
            wanted = line.split(": #deps", 1)[0] in inputs
    return read


def linked_files(build, target):
    """Files that the linker takes when the target is linked once more, aside."""
    command = run("ninja", "-t", "commands", "-s", target, cwd=build).strip()
    with tempfile.TemporaryDirectory() as folder:
        aside = re.sub(r" -o \S+", f" -o {folder}/program -Wl,--trace", command, count=1)
        traced = run("sh", "-c", aside, cwd=build)
    names = {line.split("(")[0].strip() for line in traced.splitlines()}
    return {os.path.normpath(build / name) for name in names if name}


def needed(file):
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-dW", file)))


def loaded_libraries(program, root, triple):
    """({path of a library that the program itself names}, {path of one that comes with those})"""
    named = needed(program)
    if not named:
        return set(), set()
    if str(root) == "/":
        pairs = dict(re.findall(r"^\s*(\S+) => (/\S+)", run("ldd", program), re.MULTILINE))
    else:  # the loader of another machine does not run here
        pairs, left = {}, set(named)
        while left:
            name = left.pop()
            places = (Path(root) / folder / triple / name for folder in ("usr/lib", "lib"))
            pairs[name] = next(str(place) for place in places if place.exists())
            left |= needed(pairs[name]) - set(pairs)
    direct = {path for name, path in pairs.items() if name in named}
    return direct, set(pairs.values()) - direct


def program_document(build, target, root="/", triple=""):
    program, name = build / target, Path(target).name
    document = Document(name)
    own, file = document.add_own(name, "APPLICATION"), document.add_file(program, f"usr/bin/{name}")
    document.relate("SPDXRef-DOCUMENT", "DESCRIBES", own)
    document.contain(own, file)

    owned = owners(root)
    direct, indirect = loaded_libraries(program, root, triple)
    archives = {path for path in linked_files(build, target) if path.endswith((".a", ".o"))}
    parts = [  # (files, how the program depends on their packages, and in which words)
        (direct, "DYNAMIC_LINK", None),
        (indirect, "DEPENDS_ON", "loaded by a library that it is linked with"),
        (archives, "STATIC_LINK", None),
        (headers_of(build, target), "STATIC_LINK", "its headers are compiled in"),
    ]
    found = [({owner_of(path, owned, root) for path in paths} - {None}, kind, comment)
             for paths, kind, comment in parts]  # fmt: skip
    facts = packages(set().union(*(names for names, _, _ in found)), root)
    here = owners()
    tools = packages(tool for tool in TOOLS if f"/usr/share/doc/{tool}" in here)
    for names, kind, comment in found:
        for each in sorted(names):
            document.relate(own, kind, document.add_debian(facts[each]), comment)
    for _, each in sorted(tools.items()):
        document.relate(document.add_debian(each), "BUILD_TOOL_OF", own)
    return document


def image_document(name, status, libraries, programs):
    document = Document(name)
    own = document.add_own(f"{name}-image", "CONTAINER")
    document.relate("SPDXRef-DOCUMENT", "DESCRIBES", own)
    if status:
        for package in packages_of_status(Path(status).read_text()):
            document.relate(own, "CONTAINS", document.add_debian(package))
    owned = owners() if libraries else {}
    names = {path: owner_of(path, owned) for path in libraries}
    lost = [path for path, owner in names.items() if not owner]
    if lost:
        raise SystemExit(f"sbom.py: of no package: {' '.join(lost)}")
    for package in packages(set(names.values())).values():
        document.relate(own, "CONTAINS", document.add_debian(package))
    for path in programs:
        for described in document.add_document(json.loads(Path(path).read_text())):
            document.relate(own, "CONTAINS", described)
    return document


def main():
    parser = argparse.ArgumentParser(description="makes SPDX 2.3 documents")
    kinds = parser.add_subparsers(dest="kind", required=True)
    program = kinds.add_parser("program")
    for name in ("build", "target", "out"):
        program.add_argument(name)
    program.add_argument("--root", type=Path, default=Path("/"))
    program.add_argument("--triple", default="")
    image = kinds.add_parser("image")
    for name in ("name", "out"):
        image.add_argument(name)
    image.add_argument("--status")
    image.add_argument("--library", action="append", default=[])
    image.add_argument("--program", action="append", default=[], help="its document")
    options = parser.parse_args()
    if options.kind == "program":
        document = program_document(Path(options.build).resolve(), options.target, options.root,
                                    options.triple)  # fmt: skip
    else:
        document = image_document(options.name, options.status, options.library, options.program)
    Path(options.out).write_text(json.dumps(document.as_json(), indent=1) + "\n")
    print(f"{options.out}: {len(document.packages)} packages")


if __name__ == "__main__":
    main()
