"""Ports for servers of tests that run at the same time.

They lie below those that the kernel gives to outgoing connections: else such a connection takes a
port between the moment when it was found free and the one when its server binds it. Each test
process has a block of its own; an abstract socket holds it for as long as the process lives.
"""

import contextlib
import itertools
import random
import socket

_FIRST, _SIZE, _BLOCKS = 10_000, 400, 55  # up to 32,000; Linux gives from 32,768 on
_held = []


def _claim_block():
    blocks = list(range(_BLOCKS))
    random.shuffle(blocks)
    for block in blocks:
        holder = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            holder.bind(f"\0lastcall-test-ports-{block}")
        except OSError:
            holder.close()
            continue
        _held.append(holder)
        first = _FIRST + block * _SIZE
        return itertools.cycle(range(first, first + _SIZE))
    raise AssertionError("every block of ports is taken")


def free_port():
    """Nobody listens there now, and no other test will until this process has used its block up."""
    if not _held:
        free_port.ports = _claim_block()
    for port in itertools.islice(free_port.ports, _SIZE):
        with socket.socket() as probe, contextlib.suppress(OSError):
            # As servers bind: what a closed connection left behind is in nobody's way.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port of this process's block is free")
