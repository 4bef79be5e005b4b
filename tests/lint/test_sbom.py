"""Bills of materials are valid SPDX 2.3 and leave out nothing that a program is linked with."""

import copy
import json
import re
import subprocess
import sys

import pytest
from lint_tree import ROOT
from spdx_rules import spdx_problems

SBOM = ROOT / "packaging/sbom.py"
RECORDS = ROOT / "packaging/package_records.py"
PROGRAMS = {"lastcall": "supervisor/libexec/lastcall/lastcall",
            "lastcall-shim": "shim/lastcall-shim"}  # fmt: skip
OWN = "SPDXRef-Package-"


def run(*command):
    done = subprocess.run([sys.executable, "-B", *map(str, command)], capture_output=True,
                          text=True, timeout=120)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def made(build_dir, tmp_path_factory):
    """{name of a program: path of its document}"""
    folder = tmp_path_factory.mktemp("sbom")
    for name, target in PROGRAMS.items():
        run(SBOM, "program", build_dir, target, folder / f"{name}.json")
    return {name: folder / f"{name}.json" for name in PROGRAMS}


def document_of(path):
    return json.loads(path.read_text())


def related(document, kind, one=None, comment=False):
    """Names of the packages that a package has this relationship with."""
    names = {package["SPDXID"]: package["name"] for package in document["packages"]}
    return {
        names[each["relatedSpdxElement"]]
        for each in document["relationships"]
        if each["relationshipType"] == kind and each["relatedSpdxElement"] in names
        and one in (None, each["spdxElementId"]) and ("comment" in each) == comment
    }  # fmt: skip


def packages_of(paths):
    """By asking dpkg, which the script does not."""
    names = {name: path for path in paths
             for name in (path, path.removeprefix("/usr"), f"/usr{path}")}  # fmt: skip
    done = subprocess.run(["dpkg", "-S", *names], capture_output=True, text=True)
    pairs = re.findall(r"^([^:]+)(?::\w+)?: (.*)$", done.stdout, re.MULTILINE)
    assert {names[name] for _, name in pairs} == set(paths)
    return {package for package, _ in pairs}


def package_of(path):
    [package] = packages_of([path])
    return package


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_document_of_a_program_is_valid(made, name):
    assert spdx_problems(document_of(made[name])) == []


def test_each_library_that_the_supervisor_loads_is_listed(made, build_dir):
    document = document_of(made["lastcall"])
    ldd = subprocess.run(["ldd", build_dir / PROGRAMS["lastcall"]], capture_output=True, text=True)
    loaded = packages_of(re.findall(r"=> (/\S+)", ldd.stdout))
    assert {"libssl3", "libyaml-cpp0.7", "libc6"} <= loaded
    linked = related(document, "DYNAMIC_LINK")
    assert loaded == linked | related(document, "DEPENDS_ON", comment=True)
    assert "libssl3" in linked and "libbrotli1" not in linked


def test_libraries_that_are_headers_alone_are_listed(made):
    headers = related(document_of(made["lastcall"]), "STATIC_LINK", comment=True)
    assert {"libboost1.81-dev", "nlohmann-json3-dev", "libcli11-dev"} <= headers


def test_libraries_inside_the_static_shim_are_listed(made):
    document = document_of(made["lastcall-shim"])
    assert {"libc6-dev", "libgcc-12-dev"} <= related(document, "STATIC_LINK")
    assert not related(document, "DYNAMIC_LINK")


def test_the_compiler_is_listed(made):
    document = document_of(made["lastcall"])
    tools = {each["spdxElementId"] for each in document["relationships"]
             if each["relationshipType"] == "BUILD_TOOL_OF"}  # fmt: skip
    assert any(tool.startswith("SPDXRef-Debian-clang-16-") for tool in tools)


def test_versions_are_those_of_dpkg(made):
    [libssl] = [p for p in document_of(made["lastcall"])["packages"] if p["name"] == "libssl3"]
    said = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "libssl3"],
                          capture_output=True, text=True).stdout  # fmt: skip
    assert libssl["versionInfo"] == said
    assert "upstream=openssl" in libssl["externalRefs"][0]["referenceLocator"]


STATUS = """Package: base-files
Status: install ok installed
Version: 12.4
Architecture: amd64

Package: gone
Status: deinstall ok config-files
Version: 1
Architecture: all

Package: libzstd1
Status: install ok installed
Architecture: amd64
Source: libzstd (1.5.4+dfsg2-4)
Version: 1.5.4+dfsg2-5
"""


def test_the_document_of_an_image_holds_base_copied_libraries_and_programs(made, tmp_path):
    (tmp_path / "status").write_text(STATUS)
    output = subprocess.run(["ldd", sys.executable], capture_output=True, text=True).stdout
    library = re.findall(r"=> (/\S+)", output)[0]
    out = tmp_path / "image.json"
    run(SBOM, "image", "lastcall", out, "--status", tmp_path / "status", "--library", library,
        "--program", made["lastcall"], "--program", made["lastcall-shim"])  # fmt: skip
    document = document_of(out)
    assert spdx_problems(document) == []
    within = related(document, "CONTAINS", OWN + "lastcall-image")
    assert within == {"base-files", "libzstd1", package_of(library), "lastcall", "lastcall-shim"}
    assert "libssl3" in related(document, "DYNAMIC_LINK", OWN + "lastcall")


def test_the_same_build_gives_the_same_document(made, build_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    for name in ("one", "two"):
        run(SBOM, "program", build_dir, PROGRAMS["lastcall-shim"], tmp_path / name)
    assert (tmp_path / "one").read_text() == (tmp_path / "two").read_text()
    assert document_of(tmp_path / "one")["creationInfo"]["created"] == "2023-11-14T22:13:20Z"


def test_a_copied_library_leaves_the_record_of_its_package(tmp_path):
    output = subprocess.run(["ldd", sys.executable], capture_output=True, text=True).stdout
    library = re.findall(r"=> (/\S+)", output)[0]
    name = package_of(library)
    run(RECORDS, tmp_path, library)
    record = (tmp_path / "var/lib/dpkg/status.d" / name).read_text()
    assert re.search(rf"^Package: {re.escape(name)}$", record, re.MULTILINE)
    assert re.search(r"^Version: \S+$", record, re.MULTILINE) and "Status:" not in record
    sums = (tmp_path / "var/lib/dpkg/status.d" / f"{name}.md5sums").read_text()
    assert re.match(rf"[0-9a-f]{{32}}  {re.escape(library[1:])}\n", sums)


def test_the_records_of_the_shims_image_are_those_of_its_archives(made, tmp_path):
    run(RECORDS, tmp_path, "--linked", made["lastcall-shim"])
    names = {path.name for path in (tmp_path / "var/lib/dpkg/status.d").iterdir()}
    assert {"libc6-dev", "libgcc-12-dev"} <= names and "linux-libc-dev" not in names


def test_a_file_of_no_package_is_refused(tmp_path):
    stray = tmp_path / "libstray.so"
    stray.write_text("")
    for command in ((RECORDS, tmp_path, stray),
                    (SBOM, "image", "x", tmp_path / "x", "--library", stray)):  # fmt: skip
        done = subprocess.run([sys.executable, "-B", *map(str, command)], capture_output=True,
                              text=True)  # fmt: skip
        assert done.returncode == 1 and str(stray) in done.stderr


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d.update(spdxVersion="SPDX-2.2"),
        lambda d: d["packages"].append(d["packages"][0]),
        lambda d: d["packages"][0].pop("downloadLocation"),
        lambda d: d["packages"][0].update(SPDXID="SPDXRef-a_b"),
        lambda d: d["packages"][1]["externalRefs"][0].update(referenceLocator="libssl3"),
        lambda d: d["files"][0]["checksums"].pop(0),
        lambda d: d["files"][0]["checksums"][0].update(checksumValue="0" * 40),
        lambda d: d["packages"][0].update(filesAnalyzed=False),
        lambda d: d["relationships"].pop(0),
        lambda d: d["relationships"][1].update(relatedSpdxElement="SPDXRef-nobody"),
        lambda d: d["creationInfo"].update(created="yesterday"),
        lambda d: d.update(documentNamespace="lastcall"),
    ],
)
def test_a_fault_in_a_document_is_found(made, spoil):
    document = copy.deepcopy(document_of(made["lastcall"]))
    spoil(document)
    assert spdx_problems(document)
