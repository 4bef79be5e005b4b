"""What a scanner of the images finds in them: records of packages, and bills of materials."""

import json
import subprocess
import tarfile
from io import BytesIO

import pytest
from podman_pod import TAG, podman


@pytest.fixture
def files_of(possible):
    """files_of(image) is {path: content} of what is below var/lib/dpkg, usr/share and etc."""
    made = []

    def read(image):
        made.append(podman("create", f"localhost/{image}:{TAG}"))
        done = subprocess.run(["podman", "export", made[-1]], capture_output=True, check=True)
        with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
            wanted = ("var/lib/dpkg/status", "usr/share/lastcall/", "etc/os-release")
            return {
                member.name: archive.extractfile(member).read().decode()
                for member in archive
                if member.isfile() and member.name.startswith(wanted)
            }

    yield read
    for container in made:
        podman("rm", container)


def test_scanners_find_each_library_that_was_copied_into_the_image(files_of):
    files = files_of("lastcall")
    records = {path.rsplit("/", 1)[1] for path in files if "/status.d/" in path}
    for name in ("libssl3", "libyaml-cpp0.7", "libnats3.4", "libfmt9"):
        assert f"Package: {name}\n" in files[f"var/lib/dpkg/status.d/{name}"]
        assert f"Package: {name}\n" not in files["var/lib/dpkg/status"]  # not one of the base
        assert f"{name}.md5sums" in records


def test_the_bill_of_materials_in_the_image_has_base_libraries_and_programs(files_of):
    document = json.loads(files_of("lastcall")["usr/share/lastcall/lastcall.spdx.json"])
    names = {package["name"] for package in document["packages"]}
    assert {"lastcall", "lastcall-shim", "libssl3", "libc6", "base-files"} <= names


def test_scanners_find_what_the_static_shim_is_made_of(files_of):
    files = files_of("lastcall-shim")
    assert "Source: glibc\n" in files["var/lib/dpkg/status.d/libc6-dev"]
    document = json.loads(files["usr/share/lastcall/lastcall-shim.spdx.json"])
    assert "libc6-dev" in {package["name"] for package in document["packages"]}
