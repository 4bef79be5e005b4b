"""One thread of a process that is held, while its other threads go on. Source: ptrace(2)."""

import contextlib
import ctypes
import os
import signal

SEIZE, INTERRUPT, SYSCALL, DETACH = 0x4206, 0x4207, 24, 17
WALL = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def _order(request, thread):
    if libc.ptrace(request, thread, None, None):
        raise OSError(ctypes.get_errno(), "ptrace is not allowed here")


@contextlib.contextmanager
def stopped_thread(thread):
    """The thread hangs: what a stuck loop is like."""
    _order(SEIZE, thread)
    _order(INTERRUPT, thread)
    os.waitpid(thread, WALL)
    try:
        yield
    finally:
        libc.ptrace(DETACH, thread, None, None)


def run_until(thread, reached):
    """Lets a thread that is stopped go on until just before or after the system call with which
    `reached()` becomes true."""
    while not reached():
        _order(SYSCALL, thread)
        status = os.waitpid(thread, WALL)[1]
        assert os.WIFSTOPPED(status) and os.WSTOPSIG(status) == signal.SIGTRAP
