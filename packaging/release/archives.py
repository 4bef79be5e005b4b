"""Archives whose bytes depend on what is in them alone: names in order, one time, no owner.

From a folder: .tar.gz, .deb. From what other tools have packed: a wheel or an sdist packed again.
"""

import gzip
import io
import os
import subprocess
import tarfile
import zipfile
from datetime import datetime, timezone
from pathlib import Path


def paths_below(folder):
    """Everything, folders before what is in them, in an order that does not depend on the file
    system."""
    return sorted(path for path in Path(folder).rglob("*"))


def _entry(path, name, epoch):
    is_link = path.is_symlink()
    entry = tarfile.TarInfo(name)
    entry.mtime = epoch
    entry.uname = entry.gname = "root"
    if is_link:
        entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, os.readlink(path), 0o777
    elif path.is_dir():
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
    else:
        entry.size = path.stat().st_size
        entry.mode = 0o755 if os.access(path, os.X_OK) else 0o644
    return entry


def tar_gz(folder, out, epoch, prefix, first=()):
    """`first`: names that stand before the others, as Helm wants Chart.yaml to."""
    folder, plain = Path(folder), io.BytesIO()
    paths = sorted(paths_below(folder), key=lambda p: (str(p.relative_to(folder)) not in first, p))
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in paths:
            entry = _entry(path, f"{prefix}/{path.relative_to(folder)}", epoch)
            if entry.isreg():
                with open(path, "rb") as file:
                    tar.addfile(entry, file)
            else:
                tar.addfile(entry)
    write_gz(out, plain.getvalue(), epoch)


def write_gz(out, data, epoch):
    with open(out, "wb") as file, gzip.GzipFile("", "wb", 9, file, epoch) as packed:
        packed.write(data)


def sdist_again(path, epoch):
    """The tar of setuptools has the time and the owner of the moment."""
    with tarfile.open(path) as tar:
        entries = [(e, tar.extractfile(e).read() if e.isreg() else None) for e in tar]
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for entry, data in sorted(entries, key=lambda pair: pair[0].name):
            again = tarfile.TarInfo(entry.name)
            again.type, again.size, again.mtime = entry.type, entry.size, epoch
            again.mode = 0o755 if entry.isdir() else 0o644
            tar.addfile(again, io.BytesIO(data) if data is not None else None)
    write_gz(path, plain.getvalue(), epoch)


def wheel_again(path, epoch):
    moment = datetime.fromtimestamp(max(epoch, 315532800), timezone.utc).timetuple()[:6]
    with zipfile.ZipFile(path) as old:
        entries = [(info.filename, old.read(info)) for info in old.infolist()]
    with zipfile.ZipFile(path, "w") as new:
        for name, data in entries:  # RECORD stays last
            info = zipfile.ZipInfo(name, moment)
            info.external_attr = 0o100644 << 16
            new.writestr(info, data, zipfile.ZIP_DEFLATED, 9)


def deb(folder, out, epoch, fields, conffiles=(), scripts=()):
    """A package of the files below `folder`, described by the fields of its control file; `scripts`
    are files by their names in the package, such as postinst."""
    folder = Path(folder)
    size = sum(p.stat().st_size for p in paths_below(folder) if p.is_file()) // 1024 + 1
    control = folder / "DEBIAN"
    control.mkdir()
    fields = {**fields, "Installed-Size": size}
    description = fields.pop("Description")
    lines = [f"{name}: {value}\n" for name, value in fields.items() if value]
    (control / "control").write_text("".join(lines) + f"Description: {description}\n")
    if conffiles:
        (control / "conffiles").write_text("".join(f"{name}\n" for name in conffiles))
    for name, source in dict(scripts).items():
        (control / name).write_bytes(Path(source).read_bytes())
        (control / name).chmod(0o755)
    for path in [folder, *paths_below(folder)]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
        os.utime(path, (epoch, epoch), follow_symlinks=False)
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(folder), str(out)],
        check=True, stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)},
    )  # fmt: skip
