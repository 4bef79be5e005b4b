"""The client's threads, which receive none of the program's signals.

A program may block a signal at any time, to read it with signalfd or sigwait. If a single thread
does not block it, the signal is delivered there, and its default action ends the process.
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
    """Sets the main thread's mask while the program's code runs on a thread of ours.

    Processes that it starts inherit the mask, and one that blocks SIGTERM could not be terminated.
    A signal that the main thread does not block either is delivered there first, but until that
    thread has run the signal is pending for the whole process, and a thread that unblocks it would
    take it: then only the main thread could run the handler, but the kernel has put it back to
    sleep. So pending signals stay blocked this time. A signal that arrives between the check and
    the change may still be taken, and so may a recent one if the callback itself changes the mask
    or is interrupted by another signal; Python has no way to prevent that.
    """
    mask = _mask_of_main()
    if mask is None:
        yield
        return
    pending = signal.sigpending()  # as late as possible
    before = signal.pthread_sigmask(signal.SIG_SETMASK, mask | pending)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _mask_of_main() -> Optional[set[int]]:
    """The main thread's mask; None if the system does not report it."""
    try:
        with open("/proc/self/status", "rb") as status:
            [word] = [line.split()[1] for line in status if line.startswith(b"SigBlk:")]
    except (OSError, ValueError):
        return None
    bits = int(word, 16)
    return {number for number in signal.valid_signals() if bits >> (number - 1) & 1}
