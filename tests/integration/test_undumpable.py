"""Each program hides its environment and memory from processes of its user, from its start on."""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE / "serve"))
from serve_peer import PATIENCE, wait_until  # noqa: E402

BUILD = Path(os.environ.get("LASTCALL_BUILD_DIR", HERE.parents[1] / "build/dev")).resolve()
LASTCALL, KUBE = (str(BUILD / "supervisor/cli" / name) for name in ("lastcall", "lastcall-kube"))
SHIM = str(BUILD / "shim/lastcall-shim")
AS_NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
# Each has reached what it waits for: a socket that sends nothing, an input, or its command.
CALLS_A_SOCKET = {
    "status": (LASTCALL, "status", "--admin-socket"),
    "drain": (LASTCALL, "drain", "--admin-socket"),
    "a hook": (SHIM, "--prestop", "engine", "--socket"),
}


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        yield directory


@contextlib.contextmanager
def running(*words):
    process = subprocess.Popen(
        [*(AS_NOBODY if os.geteuid() == 0 else ()), *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def is_hidden(pid):
    """Its files in /proc belong to root, though it runs as another user."""
    if os.geteuid() == 0:
        assert "\nUid:\t65534\t" in Path(f"/proc/{pid}/status").read_text()
    return os.stat(f"/proc/{pid}/environ").st_uid == 0


@pytest.mark.parametrize("words", CALLS_A_SOCKET.values(), ids=CALLS_A_SOCKET)
def test_a_command_that_waits_is_hidden(words, folder):
    path = folder + "/silent.sock"
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(path)
        os.chmod(path, 0o777)
        silent.listen()
        silent.settimeout(PATIENCE)
        with running(*words, path) as pid, silent.accept()[0]:
            assert is_hidden(pid)


def test_a_shim_is_hidden():
    with running(SHIM, "--", "/bin/sleep", "60") as pid:
        children = Path(f"/proc/{pid}/task/{pid}/children")
        wait_until(children.read_text, "its command runs")
        assert is_hidden(pid)


def test_a_command_that_reads_a_manifest_is_hidden(folder):
    path = folder + "/manifest"
    os.mkfifo(path)
    os.chmod(path, 0o666)
    with running(KUBE, "inject", path) as pid, open(path, "wb"):  # open once it is read
        assert is_hidden(pid)
