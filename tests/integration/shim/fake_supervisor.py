"""A supervisor that does what a test asks it to: the other end of the shim's socket.

As a module: `FakeSupervisor(path)` listens, records every line, and answers only what it was asked
to answer. As a program it stands for `lastcall serve` in run mode (see main()).
"""

import array
import fcntl
import json
import os
import queue
import socket
import sys
import termios
import threading
import time

WELCOME = {
    "op": "welcome",
    "version": 1,
    "phase": "starting",
    "grace_ms": 60000,
    "budgets": {
        "deregister_ms": 5000,
        "late_accept_ms": 1000,
        "cleanup_reserve_ms": 5000,
        "cancel_settle_ms": 1000,
    },
}
TERM_MAIN = {"op": "engine.signal", "name": "TERM", "scope": "main"}
KILL_ALL = {"op": "engine.signal", "name": "KILL", "scope": "all"}


def welcome(grace, reserve):
    return {**WELCOME, "grace_ms": grace,
            "budgets": {**WELCOME["budgets"], "cleanup_reserve_ms": reserve}}


def monotonic_ms():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000_000


class FakeSupervisor:
    """One listening socket, one shim at a time."""

    def __init__(self, path, welcome=True, start=True, ack=True, stops=False):
        self.path = path
        self.welcome = dict(WELCOME) if welcome is True else welcome
        self.start = start
        self.ack = ack
        self.stops = stops  # carries a stop through: TERM, then exit with code 0
        self.lines = queue.Queue()
        self.hellos = []
        self.connections = 0
        self._connection = None
        self._listener = None
        self._seq = 0
        self._lock = threading.Lock()
        self.listen()

    # -- the socket ------------------------------------------------------------------------------

    def listen(self):
        staged = self.path + ".new"
        listener = socket.socket(socket.AF_UNIX)
        if os.path.exists(staged):
            os.unlink(staged)  # of one that was killed in the middle of this
        listener.bind(staged)
        listener.listen(8)
        os.rename(staged, self.path)  # never a moment in which a connection is refused
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def vanish(self):
        """As if SIGKILLed: the connection ends, nothing listens."""
        listener, self._listener = self._listener, None
        if listener:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.drop()

    def drop(self):
        with self._lock:
            connection, self._connection = self._connection, None
        if connection:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            connection.close()

    close = vanish

    def _accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self._lock:
                self._connection = connection
                self.connections += 1
            threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection):
        pending = b""
        while True:
            try:
                data = connection.recv(65536)
            except OSError:
                data = b""
            if not data:
                self.lines.put({"op": "(closed)"})
                return
            pending += data
            *whole, pending = pending.split(b"\n")
            for raw in whole:
                self._take(json.loads(raw), raw, connection)

    def _take(self, line, raw, connection):
        def answer(message):  # on its own connection: the next shim may be here already
            self._write(connection, message)

        line["(raw)"] = raw.decode()
        line["(at)"] = monotonic_ms()
        if line["op"] == "hello":
            self.hellos.append(line)
            if self.welcome:
                answer(self.welcome)
                if self.start:
                    answer({"op": "engine.start"})
        elif "seq" in line and self.ack and line["op"] not in ("ack", "error"):
            answer({"op": "ack", "seq": line["seq"]})
        if self.stops and line["op"] == "signal":
            answer({"op": "engine.signal", "name": "TERM", "scope": "main"})
        elif self.stops and line["op"] == "engine.exited":
            answer({"op": "exit", "code": 0})
        self.lines.put(line)

    # -- what a test sends and awaits --------------------------------------------------------------

    def send(self, message):
        self.send_raw(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def send_raw(self, data):
        with self._lock:
            connection = self._connection
        if connection is None:
            raise RuntimeError("no shim is connected")
        try:
            connection.sendall(data)
        except OSError:
            pass  # the shim has gone; what the test awaits next will show it

    @staticmethod
    def _write(connection, message):
        try:
            connection.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        except OSError:
            pass

    def unread(self):
        """How much of what was sent the shim has not read yet, in bytes as the kernel counts."""
        amount = array.array("i", [0])
        with self._lock:
            fcntl.ioctl(self._connection, termios.TIOCOUTQ, amount)
        return amount[0]

    def ask(self, message, timeout=10):
        """Sends a message with a seq and returns its ack or error."""
        self._seq += 1
        self.send({**message, "seq": self._seq})
        return self.expect(("ack", "error"), timeout, seq=self._seq)

    def expect(self, op, timeout=10, **fields):
        """The next line with this op (or one of these) and these fields; others are passed over."""
        ops = (op,) if isinstance(op, str) else op
        deadline = time.monotonic() + timeout
        seen = []
        while True:
            try:
                line = self.lines.get(timeout=max(0.001, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {ops} {fields} within {timeout} s; saw {seen}") from None
            if line["op"] in ops and all(line.get(k) == v for k, v in fields.items()):
                return line
            seen.append(line)

    def nothing_of(self, op):
        """None of what has come so far has this op."""
        kept = []
        while not self.lines.empty():
            kept.append(self.lines.get())
        for line in kept:
            self.lines.put(line)
        return all(line["op"] != op for line in kept)


def main(arguments):
    """serve SOCKET MARKS [--crash N] [--linger]: run mode's supervisor.

    Appends a line to MARKS at each start (its number, session, stdin); MARKS.hello is there once a
    shim has sent a hello. The first N starts crash
    once the engine runs. A stop signal is acknowledged, the engine gets TERM, its exit is answered
    with `exit {code: 0}`, and then this program ends too, or with --linger never.
    """
    path, marks = arguments[0], arguments[1]
    crashes = int(arguments[arguments.index("--crash") + 1]) if "--crash" in arguments else 0
    with open(marks, "a", encoding="ascii") as out:
        stdin = os.readlink("/proc/self/fd/0")
        same_output = os.path.samestat(os.fstat(1), os.fstat(2))
        out.write(f"{os.getpid()} {os.getsid(0)} {stdin} {same_output}\n")
    with open(marks, encoding="ascii") as lines:
        starts = len(lines.readlines())
    supervisor = FakeSupervisor(path)
    while True:
        line = supervisor.expect(("hello", "engine.started", "signal", "engine.exited"), 3600)
        if line["op"] == "hello":
            open(f"{marks}.hello", "a", encoding="ascii").close()
        if line["op"] == "engine.started" and starts <= crashes:
            os.abort()
        stops = line["op"] == "signal" or (line["op"] == "hello" and "stop_at_ms" in line)
        if stops:
            deadline = line.get("at_ms", line.get("stop_at_ms")) + 20000
            supervisor.send({"op": "phase", "phase": "draining", "deadline_at_ms": deadline})
            supervisor.send({"op": "engine.signal", "name": "TERM", "scope": "main"})
        if line["op"] == "engine.exited":
            code = 0 if line["ordered"] else 1
            supervisor.send({"op": "exit", "code": code, "report": '{"from":"serve"}'})
            while "--linger" in arguments:
                time.sleep(3600)
            return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
