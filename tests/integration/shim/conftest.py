import os
import subprocess

import pytest
from fake_supervisor import FakeSupervisor
from shim_process import REFUSED, ShimProcess

# A short run has one kind of refusal, because the shim treats the other alike. A long run has both.
MODES = ["pid1", "subreaper", *(REFUSED if os.environ.get("LASTCALL_TEST_LONG") else REFUSED[:1])]


def _can_unshare():
    return subprocess.run(["unshare", "-pf", "--mount-proc", "true"], check=False).returncode == 0


@pytest.fixture(params=MODES)
def mode(request):
    """As PID 1; as a subreaper; as one whose newer system calls are refused with this error."""
    if request.param == "pid1" and not _can_unshare():
        pytest.skip("this host allows no PID namespaces")
    return request.param


@pytest.fixture
def shim(mode):
    """Starts shims; whatever a test leaves running is ended."""
    started = []

    def start(*arguments, **options):
        process = ShimProcess(arguments, **{"mode": mode, **options})
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()


@pytest.fixture
def socket_path(tmp_path_factory):
    return str(tmp_path_factory.mktemp("s") / "l.sock")


@pytest.fixture
def supervisor(socket_path):
    """Makes the one supervisor of a test."""
    made = []

    def make(**options):
        made.append(FakeSupervisor(socket_path, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def supervised(shim, socket_path):
    """Starts a shim that looks for the supervisor at socket_path."""

    def start(*command, options=(), **popen):
        return shim("--socket", socket_path, *options, "--", *command, **popen)

    return start
