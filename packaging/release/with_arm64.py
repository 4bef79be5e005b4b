#!/usr/bin/env python3
"""Runs a command in a place where programs for arm64 run like others: with_arm64.py COMMAND...

In namespaces of its own (users, mounts, processes), in which root is this machine's root and the
kernel hands arm64 programs to qemu-user. Linux 6.7 or newer keeps binfmt_misc a user namespace, so
that nothing of the machine changes; an older one must know them already, or the end is code 77.
"""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

QEMU = "/usr/bin/qemu-aarch64-static"
BINFMT = Path("/proc/sys/fs/binfmt_misc")
# The first 20 bytes of a program for arm64: ELF, 64 bits, little-endian, executable or shared.
MAGIC = r"\x7fELF\x02\x01\x01" + r"\x00" * 9 + r"\x02\x00\xb7\x00"
MASK = r"\xff" * 7 + r"\x00" + r"\xff" * 8 + r"\xfe" + r"\xff" * 3
CLONE_NEWUSER, CLONE_NEWNS = 0x10000000, 0x00020000
UNKNOWN = 77


def knows_arm64():
    return os.uname().machine == "aarch64" or (BINFMT / "qemu-aarch64").exists()


def map_ids(pid):
    for kind in ("uid_map", "gid_map"):
        Path(f"/proc/{pid}/{kind}").write_text("0 0 65536\n")


def register():
    mounted = subprocess.run(["mount", "-t", "binfmt_misc", "none", str(BINFMT)]).returncode == 0
    if not mounted or not Path(QEMU).exists():
        return False
    try:
        # With the flag F the kernel opens qemu now, so that a chroot need not have it.
        (BINFMT / "register").write_text(f":qemu-aarch64:M::{MAGIC}:{MASK}:{QEMU}:F")
    except OSError as error:
        print(f"with_arm64.py: cannot register {QEMU}: {error.strerror}", file=sys.stderr)
        return False
    return True


def start(command, is_mapped):
    """In the child: waits for its ids, then becomes the command, in processes of its own."""
    os.read(is_mapped, 1)
    os.setgid(0), os.setuid(0)
    if not knows_arm64() and not register():
        os._exit(UNKNOWN)
    words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", *command]
    os.execvp(words[0], words)


def main():
    if len(sys.argv) < 2 or os.geteuid() != 0:
        sys.exit("usage: with_arm64.py COMMAND..., as root")
    is_apart, tell_apart = os.pipe()
    is_mapped, tell_mapped = os.pipe()
    child = os.fork()
    if child == 0:
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER | CLONE_NEWNS):
            os._exit(UNKNOWN)
        os.write(tell_apart, b"x")
        start(sys.argv[1:], is_mapped)
    os.close(tell_apart)
    if os.read(is_apart, 1):
        map_ids(child)
        os.write(tell_mapped, b"x")
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    main()
