import contextlib
import socket

import pytest
from serve_world import DENY_SYSCALLS, SLEEPER, worlds


@pytest.fixture
def world(tmp_path_factory, request):
    """Makes worlds; nothing of them outlives the test, and a clean end leaves nothing by itself.

    Its parameter is the error with which newer system calls are refused (of REFUSED).
    """
    refused = getattr(request, "param", None)
    wrapped = (DENY_SYSCALLS, refused) if refused else ()
    with worlds(lambda: tmp_path_factory.mktemp("w"), wrapped) as make:
        yield make


@pytest.fixture
def served(world):
    """A world of `lastcall run` whose engine only sleeps, and which serves."""
    one = world()
    one.process = one.run(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    return one


@pytest.fixture
def full(tmp_path_factory):
    """A socket that is listened on but not accepted from, with no place left."""
    path = str(tmp_path_factory.mktemp("f") / "a.sock")
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(path)
        listener.listen(0)
        with contextlib.suppress(BlockingIOError):
            while True:
                waiting = stack.enter_context(socket.socket(socket.AF_UNIX))
                waiting.setblocking(False)
                waiting.connect(path)
        yield path
