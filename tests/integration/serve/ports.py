"""Ports for servers of tests that run at the same time.

They lie below those that the kernel gives to outgoing connections: else such a connection takes a
port between the moment when it was found free and the one when its server binds it. Each test
process has a block of its own; an abstract socket holds it for as long as the process lives.
"""

import contextlib
import functools
import itertools
import random
import socket

_FIRST, _SIZE, _BLOCKS = 10_000, 400, 55  # up to 32,000; Linux gives from 32,768 on


@functools.cache
def _block():
    """This process's own: the socket that holds it, and its ports for ever in turn."""
    blocks = list(range(_BLOCKS))
    random.shuffle(blocks)
    for block in blocks:
        holder = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            holder.bind(f"\0lastcall-test-ports-{block}")
        except OSError:
            holder.close()
            continue
        first = _FIRST + block * _SIZE
        return holder, itertools.cycle(range(first, first + _SIZE))
    raise AssertionError("every block of ports is taken")


def free_port():
    """Nothing listens there now, and no other test will until this process's block is used up."""
    _, ports = _block()
    for port in itertools.islice(ports, _SIZE):
        with socket.socket() as probe, contextlib.suppress(OSError):
            # As servers bind: what a closed connection has left is not in the way.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port of this process's block is free")
