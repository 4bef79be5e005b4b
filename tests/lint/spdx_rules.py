"""What SPDX 2.3 asks of a document in JSON, as far as ours goes: a list of what is wrong.

Source: the SPDX specification 2.3, chapters 6 (document), 7 (package), 8 (file), 11
(relationships), annex A (expressions of licences) and the JSON schema that is published with it.
"""

import hashlib
import re

ID = re.compile(r"^SPDXRef-[A-Za-z0-9.-]+$")
CREATOR = re.compile(r"^(Tool|Organization|Person): \S")
DIGITS = {"SHA1": 40, "SHA256": 64}
PURPOSES = {"APPLICATION", "CONTAINER", "LIBRARY", "OPERATING-SYSTEM", "FRAMEWORK", "FILE"}
KINDS = {"DESCRIBES", "CONTAINS", "DYNAMIC_LINK", "STATIC_LINK", "DEPENDS_ON", "BUILD_TOOL_OF"}
LICENCES = {"NOASSERTION", "NONE", "Apache-2.0"}


def _lacking(thing, where, keys):
    return [f"{where}: no {key}" for key in keys if thing.get(key) in (None, "")]


def _document(document):
    found = _lacking(document, "document", ("name", "documentNamespace"))
    if document.get("spdxVersion") != "SPDX-2.3" or document.get("dataLicense") != "CC0-1.0":
        found.append("document: another version, or another licence of the data")
    if document.get("SPDXID") != "SPDXRef-DOCUMENT":
        found.append("document: another id than SPDXRef-DOCUMENT")
    if not re.match(r"^[a-z][a-z0-9+.-]*:[^#\s]+$", document.get("documentNamespace", "")):
        found.append("document: its namespace is not a URI without a fragment")
    made = document.get("creationInfo", {})
    if not re.match(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", made.get("created", "")):
        found.append("document: no time of its creation in UTC")
    if not made.get("creators") or not all(CREATOR.match(each) for each in made["creators"]):
        found.append("document: no creator, or one in another form")
    return found


def _package(package):
    where = f"package {package.get('SPDXID')}"
    found = _lacking(package, where, ("SPDXID", "name", "versionInfo", "downloadLocation"))
    if package.get("filesAnalyzed") is not ("packageVerificationCode" in package):
        found.append(f"{where}: filesAnalyzed and a verification code come together")
    if package.get("primaryPackagePurpose", "LIBRARY") not in PURPOSES:
        found.append(f"{where}: another purpose")
    if "supplier" in package and not CREATOR.match(package["supplier"]):
        found.append(f"{where}: a supplier in another form")
    for key in ("licenseConcluded", "licenseDeclared"):
        if package.get(key) not in LICENCES:
            found.append(f"{where}: {key} is {package.get(key)}")
    for each in package.get("externalRefs", []):
        if each["referenceCategory"] != "PACKAGE-MANAGER" or each["referenceType"] != "purl":
            found.append(f"{where}: a reference of another kind")
        if not re.match(r"^pkg:deb/debian/[^@\s]+@[^?\s]+\?arch=\w+&", each["referenceLocator"]):
            found.append(f"{where}: not a package URL: {each['referenceLocator']}")
    return found


def _files_of_packages(document):
    """A package that was not analysed holds no file; the code of one that was is of its files."""
    sums = {file["SPDXID"]: [each["checksumValue"] for each in file["checksums"]
                             if each["algorithm"] == "SHA1"] for file in document.get("files", [])}
    held = {package["SPDXID"]: [] for package in document["packages"]}
    for each in document.get("relationships", []):
        one, other = each.get("spdxElementId"), each.get("relatedSpdxElement")
        if each.get("relationshipType") == "CONTAINS" and one in held and other in sums:
            held[one] += sums[other]
    found = []
    for package in document["packages"]:
        files = sorted(held[package["SPDXID"]])
        code = hashlib.sha1("".join(files).encode()).hexdigest() if files else None
        stated = package.get("packageVerificationCode", {}).get("packageVerificationCodeValue")
        if code != stated:
            found.append(f"package {package['SPDXID']}: its code is not that of its files")
    return found


def _file(file):
    where = f"file {file.get('SPDXID')}"
    found = _lacking(file, where, ("SPDXID", "fileName", "licenseConcluded", "copyrightText"))
    sums = {each["algorithm"]: each["checksumValue"] for each in file.get("checksums", [])}
    if "SHA1" not in sums:
        found.append(f"{where}: no SHA1, which every file has to have")
    found += [f"{where}: not a {kind}" for kind, value in sums.items()
              if not re.match(rf"^[0-9a-f]{{{DIGITS.get(kind, 0)}}}$", value)]  # fmt: skip
    return found


def _relationships(document, ids):
    found, described = [], set()
    for each in document.get("relationships", []):
        kind = each.get("relationshipType")
        ends = {each.get("spdxElementId"), each.get("relatedSpdxElement")}
        if kind not in KINDS:
            found.append(f"relationship: of another kind, {kind}")
        found += [f"relationship {kind}: {end} is not in the document" for end in ends - ids]
        if kind == "DESCRIBES":
            described.add(each["relatedSpdxElement"])
    if not described:
        found.append("document: describes nothing")
    return found


def spdx_problems(document):
    """Everything that is wrong with a document, in words; empty where nothing is."""
    elements = document.get("packages", []) + document.get("files", [])
    ids = [each.get("SPDXID") for each in elements] + ["SPDXRef-DOCUMENT"]
    found = [f"id {each}: not a valid one" for each in ids if not ID.match(each or "")]
    found += [f"id {each}: twice" for each in sorted(set(ids)) if ids.count(each) > 1]
    found += _document(document) + _relationships(document, set(ids))
    for each in document.get("files", []):
        found += _file(each)
    for each in document.get("packages", []):
        found += _package(each)
    found = found or _files_of_packages(document)
    return found
