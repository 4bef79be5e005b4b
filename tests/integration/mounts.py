"""File systems of a test's own: whatever is mounted is seen by its processes only."""

import os
import subprocess

import pytest


def in_own_mounts(script):
    """A wrapper that runs `script` in a mount namespace, then becomes the command."""
    if subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0:
        pytest.skip("this host allows no mount namespaces")
    return ("unshare", "-m", "sh", "-e", "-c", f'{script}\nexec "$@"', "sh")


def full_tmpfs(directory):
    os.makedirs(directory, exist_ok=True)
    return (f"mount -t tmpfs -o size=64k,mode=755 none {directory}\n"
            f"head -c 1000000 /dev/zero > {directory}/fill 2>/dev/null || true")  # fmt: skip
