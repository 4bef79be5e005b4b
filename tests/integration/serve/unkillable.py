"""A command that no KILL ends as far as its parent can see, as one in a driver's call does not end.

Another process traces it, and never asks for its end: until then the kernel keeps that from the
parent. It prints `stuck` when it is so, and waits. The tracer ends when no process writes any more
to the FIFO that is the first argument. Source: ptrace(2), 'Death under ptrace'.
"""

import ctypes
import os
import signal
import sys

PR_SET_PTRACER, ANY, PTRACE_SEIZE = 0x59616D61, -1, 0x4206

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def trace(pid, fifo, may, writer):
    os.setsid()
    if os.fork() != 0:
        os._exit(0)  # its child is no process's descendant any more
    os.read(may, 1)  # a signal, were it the end of a child, would stop the traced process
    done = libc.ptrace(PTRACE_SEIZE, pid, None, None) == 0
    os.write(writer, b"y" if done else b"n")
    for descriptor in range(3):
        os.close(descriptor)
    while done and os.read(fifo, 1):
        pass
    os._exit(0)


def main():
    fifo = os.open(sys.argv[1], os.O_RDONLY)
    libc.prctl(PR_SET_PTRACER, ctypes.c_ulong(ANY & (2**64 - 1)), 0, 0, 0)
    reader, writer = os.pipe()
    may, allow = os.pipe()
    me = os.getpid()
    child = os.fork()
    if child == 0:
        trace(me, fifo, may, writer)
    os.waitpid(child, 0)
    os.write(allow, b"y")
    if os.read(reader, 1) != b"y":
        sys.exit("nobody may trace here")
    print("stuck", flush=True)
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
