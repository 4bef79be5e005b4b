"""OCI layouts (image-spec 1.1) as files, and as much of a Dockerfile as defines what is in an
image.

The same input gives the same bytes: names in order, one time, numbers for owners.
"""

import gzip
import hashlib
import io
import json
import re
import shutil
import tarfile
from collections import namedtuple
from datetime import datetime, timezone
from pathlib import Path

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
MEDIA = "application/vnd.oci.image."
Stage = namedtuple("Stage", "name base instructions")

# --- the Dockerfile ------------------------------------------------------------------------------


def stages(text, values):
    """{name: Stage}; `values` are those of arguments, before a stage's own defaults."""
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    found, current = {}, None
    for line in filter(None, (" ".join(row.split()) for row in text.split("\n"))):
        instruction, _, rest = line.partition(" ")
        if instruction == "FROM":
            base, _, name = rest.partition(" AS ")
            current = found.setdefault(name or "", Stage(name, base, []))
        elif current is not None:
            for name, value in values.items():
                rest = rest.replace("${" + name + "}", value)
            current.instructions.append((instruction, rest))
    return found


def pairs(rest):
    """[(name, value)] of ARG, ENV and LABEL."""
    return [(name, value.strip('"')) for name, value in re.findall(r'(\S+?)=("[^"]*"|\S*)', rest)]


def _chain(all_stages, name):
    """The stage and those that it is made from, the deepest first."""
    chain = []
    while stage := all_stages.get(name):
        chain.insert(0, stage)
        name = stage.base
    return chain


def first_base(all_stages, name):
    return _chain(all_stages, name)[0].base


def copied(all_stages, name):
    """The parts of the stage `collect` that become a layer each."""
    return [rest.split()[1] for stage in _chain(all_stages, name)
            for instruction, rest in stage.instructions if instruction == "COPY"]  # fmt: skip


def configuration(all_stages, name):
    """The settings that a container is started with."""
    made = {"Env": [f"PATH={PATH}"], "Labels": {}}
    for stage in _chain(all_stages, name):
        for instruction, rest in stage.instructions:
            if instruction == "LABEL":
                made["Labels"] |= dict(pairs(rest))
            elif instruction == "USER":
                made["User"] = rest
            elif instruction == "EXPOSE":
                made.setdefault("ExposedPorts", {}).update({f"{p}/tcp": {} for p in rest.split()})
            elif instruction in ("ENTRYPOINT", "CMD"):
                made[instruction.capitalize()] = json.loads(rest)
            elif instruction not in ("ARG", "COPY"):
                raise SystemExit(f"oci: {instruction} in the stage {stage.name} is unknown")
    return made


# --- layers --------------------------------------------------------------------------------------


def _plain(tar, entry, epoch, data=None):
    entry.mtime, entry.uname, entry.gname, entry.pax_headers = epoch, "", "", {}
    tar.addfile(entry, data)


def _folder_tar(folder, epoch):
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(Path(folder).rglob("*")):
            entry = tar.gettarinfo(str(path), str(path.relative_to(folder)))
            if entry.isreg():
                with open(path, "rb") as file:
                    _plain(tar, entry, epoch, file)
            else:
                _plain(tar, entry, epoch)
    return plain.getvalue()


def _base_tar(source, epoch):
    """The base without devices, which an engine makes itself."""
    plain = io.BytesIO()
    with tarfile.open(source) as old, tarfile.open(
        fileobj=plain, mode="w", format=tarfile.GNU_FORMAT
    ) as new:
        for entry in sorted(old, key=lambda each: each.name):
            entry.name = entry.name.removeprefix("./")
            if entry.name not in ("", ".") and not re.match(r"dev/.", entry.name):
                _plain(new, entry, min(entry.mtime, epoch),
                       old.extractfile(entry) if entry.isreg() else None)  # fmt: skip
    return plain.getvalue()


# --- the layout ----------------------------------------------------------------------------------


class Layout:
    """Blobs below a folder, and the images that are made of them, for one kind of machine."""

    def __init__(self, folder, architecture, epoch):
        self.folder, self.architecture, self.epoch = Path(folder), architecture, epoch
        self.blobs = self.folder / "blobs/sha256"
        self.blobs.mkdir(parents=True)
        self.manifests = []
        self.created = datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    def _blob(self, data, media, **more):
        digest = hashlib.sha256(data).hexdigest()
        (self.blobs / digest).write_bytes(data)
        return {"mediaType": MEDIA + media, "digest": f"sha256:{digest}", "size": len(data), **more}

    def _json(self, value, media, **more):
        return self._blob(json.dumps(value, sort_keys=True).encode(), media, **more)

    def _layer(self, tar):
        """(descriptor, digest of what is not compressed)"""
        packed = gzip.compress(tar, 6, mtime=0)
        return (self._blob(packed, "layer.v1.tar+gzip"), hashlib.sha256(tar).hexdigest())

    def folder_layer(self, folder):
        return self._layer(_folder_tar(folder, self.epoch))

    def base_layer(self, tar):
        return self._layer(_base_tar(tar, self.epoch))

    def add(self, reference, layers, configuration):
        config = {
            "created": self.created, "architecture": self.architecture, "os": "linux",
            "config": configuration,
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{plain}" for _, plain in layers]},
        }  # fmt: skip
        manifest = {
            "schemaVersion": 2, "mediaType": MEDIA + "manifest.v1+json",
            "config": self._json(config, "config.v1+json"),
            "layers": [descriptor for descriptor, _ in layers],
        }  # fmt: skip
        names = {"org.opencontainers.image.ref.name": reference,
                 "io.containerd.image.name": f"docker.io/library/{reference}"}  # fmt: skip
        self.manifests.append(self._json(
            manifest, "manifest.v1+json", annotations=names,
            platform={"architecture": self.architecture, "os": "linux"}))  # fmt: skip

    def layers(self, reference):
        """The files of an image's layers, the deepest first."""
        [found] = [each for each in self.manifests
                   if reference in each["annotations"].values()]  # fmt: skip
        manifest = json.loads(self._path(found).read_text())
        return [self._path(layer) for layer in manifest["layers"]]

    def _path(self, descriptor):
        return self.blobs / descriptor["digest"].removeprefix("sha256:")

    def write(self, out):
        """The whole as one tar."""
        index = {"schemaVersion": 2, "mediaType": MEDIA + "index.v1+json",
                 "manifests": self.manifests}  # fmt: skip
        (self.folder / "index.json").write_text(json.dumps(index, sort_keys=True))
        (self.folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
        part = Path(f"{out}.part")
        with tarfile.open(part, "w", format=tarfile.GNU_FORMAT) as tar:
            for path in sorted(self.folder.rglob("*")):
                entry = tar.gettarinfo(str(path), str(path.relative_to(self.folder)))
                entry.uid = entry.gid = 0
                entry.mode = 0o755 if entry.isdir() else 0o644
                if entry.isreg():
                    with open(path, "rb") as file:
                        _plain(tar, entry, self.epoch, file)
                else:
                    _plain(tar, entry, self.epoch)
        shutil.move(part, out)
