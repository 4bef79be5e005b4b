"""A worker of engine_sim, and what it shares with its parent."""

import ctypes
import os
import signal
import sys
import time

SIGNALS = ("TERM", "INT", "QUIT", "HUP", "USR1", "USR2", "WINCH", "CONT")


def now_ms():
    return time.monotonic_ns() // 1_000_000


def log_signal(path, name):
    if path:
        with open(path, "a") as log:
            log.write(f"{now_ms()} {os.getpid()} {name}\n")


def eat_memory():
    """Up to 1 GiB: where no limit is set, the machine is spared."""
    held = []
    for _ in range(64):
        held.append(b"x" * (1 << 24))
    os._exit(7)


def set_title(title):
    """As Python's setproctitle does: the text replaces the command line and is the process's name.

    The name is what a watcher sees change at once. See proc(5).
    """
    with open("/proc/self/stat", encoding="latin-1") as file:
        fields = file.read().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    text = title.encode()[: end - start - 1]
    ctypes.memmove(start, text.ljust(end - start, b"\0"), end - start)
    with open("/proc/self/comm", "w", encoding="utf-8") as name:
        name.write(title)


def worker_main(options):
    """A child without work. Ends on TERM and with its parent, unless asked otherwise."""
    if options.title:
        set_title(options.title)

    def on_signal(number, _):
        name = signal.Signals(number).name[3:]
        log_signal(options.log_signals, name)
        if name == "TERM" and not options.ignore_term:
            os._exit(0)

    for name in SIGNALS:
        signal.signal(getattr(signal, "SIG" + name), on_signal)
    print("ready", flush=True)
    if sys.stdin.buffer.read(1):
        eat_memory()
    while options.leak_workers:
        signal.sigtimedwait((), 0.1)  # a signal just before a pause() would not end that
