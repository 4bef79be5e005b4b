"""The client's threads, which take none of the program's signals.

A program may block a signal at any time, to read it with signalfd or sigwait. One thread that does
not block it is enough for the signal to be delivered there, where its default action ends the
process.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import Iterator, Optional

# The signals of a thread's own faults are not blocked: faulthandler reports them.
_FAULTS = frozenset((signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL))
_BLOCKED = frozenset(signal.valid_signals()) - _FAULTS


def start(thread: threading.Thread) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED)  # inherited by the thread
        thread.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def signals_of_main() -> Iterator[None]:
    """For the program's code on a thread of ours, whose processes inherit what is blocked.

    One that blocks SIGTERM could not be terminated. What the main thread does not block either is
    delivered there first, but until it has run a signal is still pending for the whole process, and
    a thread that opens itself takes it: only the main thread can run the handler, and the kernel
    has put that back to sleep. So what is pending stays blocked this time. What comes between the
    look and the change may still be taken, and so may a signal of a moment ago where the callback
    itself changes the mask or is hit by another one; Python has no way to close that.
    """
    mask = _mask_of_main()
    if mask is None:
        yield
        return
    pending = signal.sigpending()  # as late as can be
    before = signal.pthread_sigmask(signal.SIG_SETMASK, mask | pending)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _mask_of_main() -> Optional[set[int]]:
    """None where the system does not report it."""
    try:
        with open("/proc/self/status", "rb") as status:
            [word] = [line.split()[1] for line in status if line.startswith(b"SigBlk:")]
    except (OSError, ValueError):
        return None
    bits = int(word, 16)
    return {number for number in signal.valid_signals() if bits >> (number - 1) & 1}
