"""Link: one connection to the supervisor that is always made again, on one daemon thread.

Rules
  1. Nothing is queued while unconnected. Everything that the supervisor has to know is state, which
     the peer reports completely in its greeting after each connect.
  2. Memory is bounded: if more than `MAX_PENDING` bytes wait for a supervisor that does not read,
     the connection is given up, and the greeting of the next one replaces the queue.
  3. A line that must not get lost has a token; the tokens of lines that were not written completely
     are returned with `lost`.
  4. Lines are joined into as few writes as possible.
  5. Where no thread can be started, or no descriptor is free for the pipe that wakes it, the
     program goes on without a connection. The next use tries again, once a second at most.

Threads: `send`, `wake`, `close` and `abandon` may be called from any, `read_on` on a running loop.
`Peer` methods are called on the link's thread: `greeting` and `lost` with the shared lock held,
`receive` and `tick` without. Only `receive_on_loop` is called on the program's event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import select
import socket
import threading
import time
from collections import deque
from typing import Any, Optional

from . import loops, threads
from .dial import Dialer
from .peer import Line, Peer
from .reading import LOOK_EVERY, Reading
from .stall import Stall
from .wake_pipe import WakePipe
from .wire import WireError, decode, encode

MAX_PENDING = 1024 * 1024

_FAST_RETRY, _SLOW_RETRY, _FAST_FOR = 0.05, 0.5, 1.0
_THREAD_RETRY = 1.0
_WRITE_SIZE = 256 * 1024
_NO_SIGPIPE = getattr(socket, "MSG_NOSIGNAL", 0)

_log = logging.getLogger("lastcall")


class Link:
    def __init__(self, path: str, lock: Any, peer: Peer) -> None:
        self._dialer = Dialer(path)
        self._lock = lock
        self._peer = peer
        self._queue: deque[Line] = deque()
        self._queued_bytes = 0
        self._limit = MAX_PENDING
        # The current write: the bytes that are left, and the tokens of the lines that it completes.
        self._writing = memoryview(b"")
        self._writing_tokens: list[object] = []
        self._connected = self._overflowed = False
        self._is_to_renew = False
        self._settled = False
        self._complaint: Optional[str] = None
        self._close_by: Optional[float] = None
        self._abandoned = False
        self._reading = Reading(lock, peer, self.wake)
        self._pipe = WakePipe()
        self._woken = False
        self._stall = Stall()
        self._thread: Optional[threading.Thread] = None
        self._start_at: Optional[float] = None  # while no thread could be started

    def start(self) -> bool:
        thread = threading.Thread(target=self._run, name="lastcall", daemon=True)
        try:
            self._pipe.open()
            threads.start(thread)
        except (OSError, RuntimeError) as error:  # a limit of descriptors, processes or memory
            self._start_at = time.monotonic() + _THREAD_RETRY
            if self.is_news(str(error)):
                _log.error("no thread for the lastcall connection, trying again later: %s", error)
            return False
        self._thread, self._start_at = thread, None
        return True

    def _start_if_due(self) -> None:
        with self._lock:
            is_wanted = self._close_by is None and not self._abandoned
            if is_wanted and self._start_at is not None and time.monotonic() >= self._start_at:
                self.start()

    @property
    def connected(self) -> bool:
        if self._start_at is not None:
            self._start_if_due()
        return self._connected

    def is_here(self) -> bool:
        return threading.current_thread() is self._thread

    def settle(self) -> None:
        """Called when the peer was welcomed: after the next loss retries are fast again."""
        self._settled = True
        self._complaint = None

    def is_news(self, complaint: str) -> bool:
        """Whether to log the complaint: the same one is logged only once until a welcome."""
        is_news = complaint != self._complaint
        self._complaint = complaint
        return is_news

    def send(self, line: bytes, token: Optional[object] = None) -> bool:
        """Queues a line; False if unconnected: then the caller keeps the token."""
        if self._start_at is not None:
            self._start_if_due()
        with self._lock:
            if not self._connected or self._overflowed or self._close_by is not None:
                return False
            if self._queued_bytes + len(line) > self._limit:
                self._overflowed = True
                self.wake()
                return False
            self._queue.append((line, token))
            self._queued_bytes += len(line)
            self.wake()
            return True

    def renew(self) -> None:
        """Connects again once everything is written, because the greeting has changed."""
        with self._lock:
            self._is_to_renew = True
            self.wake()

    def wake(self) -> None:
        self._stall.report()
        with self._lock:
            if not self._woken and self._pipe.is_open:
                self._woken = True
                self._pipe.wake()

    def read_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """A task of this loop, which runs on this thread, awaits a cancel."""
        self._reading.read_on(loop)

    def read_alone(self) -> None:
        """The loop cannot handle what it reads."""
        self._reading.read_alone()

    def close(self, timeout: float) -> None:
        """Writes the queue, for at most `timeout` seconds, and ends the thread."""
        with self._lock:
            if self._abandoned:
                return
            self._close_by = time.monotonic() + timeout
            self.wake()
        if self._thread is None:
            self._release()
        elif not self.is_here():
            self._thread.join(timeout + 1)
            self._stall.report()

    def abandon(self) -> None:
        """For a forked child: closes its copies of the descriptors."""
        if self._abandoned:
            return
        self._abandoned = True
        self._connected = False
        self._queue.clear()
        self._reading.abandon()
        self._pipe.close()

    # --- the thread

    def _run(self) -> None:
        lost_at = time.monotonic()
        while True:
            try:
                lost_at = self._connect(lost_at)
                self._rest(lost_at)
            except Exception as error:  # without this thread no supervisor would be found again
                if self.is_news(f"{type(error).__name__}: {error}"):
                    _log.exception("the lastcall connection failed; reconnecting")
                time.sleep(_SLOW_RETRY)
            if self._close_by is not None:
                return self._release()

    def _connect(self, lost_at: float) -> float:
        """Serves one connection if one can be made; returns the time since which there is none."""
        connection = self._dialer.dial()
        if connection is None:
            return lost_at
        started = time.monotonic()
        self._settled = False
        try:
            self._serve(connection)
        finally:
            self._reading.end()
            with self._lock:
                self._disconnect()
        # After a supervisor that never sent a welcome, the slow retries continue.
        return time.monotonic() if self._settled else min(lost_at, started)

    def _rest(self, lost_at: float) -> None:
        now = time.monotonic()
        retry_at = now + (_FAST_RETRY if now - lost_at < _FAST_FOR else _SLOW_RETRY)
        while now < retry_at and self._close_by is None:
            due = self._peer.tick(now)
            self._sleep(min(retry_at, due or retry_at) - now)
            now = time.monotonic()

    def _release(self) -> None:
        with self._lock:
            self._abandoned = True
            self._pipe.close()

    def _serve(self, connection: socket.socket) -> None:
        self._reading.begin(connection)
        with self._lock:
            self._connected = True
            self._is_to_renew = False
            self._queue.extend(self._peer.greeting())
            self._queued_bytes = sum(len(line) for line, _ in self._queue)
            self._limit = self._queued_bytes + MAX_PENDING
        poll = select.poll()
        poll.register(self._pipe.reader, select.POLLIN)
        with contextlib.suppress(OSError), loops.Holder() as held:  # the supervisor may go away
            while not self._overflowed:
                due = self._peer.tick(time.monotonic())
                all_written = self._write(connection)
                if self._is_to_renew and all_written:
                    return
                if self._close_by is not None:
                    if all_written or time.monotonic() >= self._close_by:
                        return
                    due = self._close_by
                is_left_to_loop = self._reading.is_left_to_loop()
                events = 0 if is_left_to_loop else select.POLLIN  # the end is always reported
                poll.register(connection, events | (0 if all_written else select.POLLOUT))
                held.release()
                ready = dict(poll.poll(_milliseconds(due, LOOK_EVERY if is_left_to_loop else None)))
                if not ready:
                    # After the time is over Python looks no more, although the process may have
                    # been stopped all the while: what is due must not come before what arrived.
                    ready = dict(poll.poll(0))
                if self._pipe.reader in ready:
                    self._drain_wakes()
                if ready.get(connection.fileno(), 0) & ~select.POLLOUT:
                    self._reading.read()
                elif is_left_to_loop and not ready:
                    self._reading.look()
                if not self._handle_lines(connection):
                    return
            _log.warning("over %d bytes wait for the supervisor; reconnecting", MAX_PENDING)

    def _write(self, connection: socket.socket) -> bool:
        """Writes as much as the socket takes; True if nothing is left."""
        while True:
            if not self._writing:
                with self._lock:
                    self._writing_tokens = []
                    self._writing = self._next_batch()
                if not self._writing:
                    return True
            try:
                written = connection.send(self._writing, _NO_SIGPIPE)
            except (BlockingIOError, InterruptedError):
                return False
            self._writing = self._writing[written:]

    def _next_batch(self) -> memoryview:
        lines: list[bytes] = []
        size = 0
        while self._queue and size < _WRITE_SIZE:
            line, token = self._queue.popleft()
            lines.append(line)
            size += len(line)
            if token is not None:
                self._writing_tokens.append(token)
        self._queued_bytes -= size
        return memoryview(b"".join(lines))

    def _handle_lines(self, connection: socket.socket) -> bool:
        """Returns whether the connection can still be used."""
        incoming = self._reading.incoming
        while (line := incoming.take()) is not None:
            try:
                message = decode(line)
            except WireError as error:
                if error.code == "bad_json":
                    return self._refuse(connection, error)
                self.send(encode("error", code=error.code, message=str(error)))
            else:
                self._stall.call(self._peer.receive, message)
        if incoming.fault is not None:
            return self._refuse(connection, incoming.fault)
        return not incoming.is_ended

    def _refuse(self, connection: socket.socket, error: WireError) -> bool:
        if self.is_news(str(error)):
            _log.error("the lastcall supervisor sent a line that cannot be used: %s", error)
        self.send(encode("error", code=error.code, message=str(error)))
        self._write(connection)
        return False

    def _disconnect(self) -> None:
        """With the lock held: empties the queue and returns the tokens of unwritten lines."""
        self._connected = self._overflowed = False
        tokens = self._writing_tokens if self._writing else []
        tokens = tokens + [token for _, token in self._queue if token is not None]
        self._queue.clear()
        self._queued_bytes = 0
        self._writing, self._writing_tokens = memoryview(b""), []
        self._peer.lost(tokens)

    def _sleep(self, seconds: float) -> None:
        poll = select.poll()  # select() would fail in a process with many descriptors
        poll.register(self._pipe.reader, select.POLLIN)
        if poll.poll(max(0, int(seconds * 1000) + 1)):
            self._drain_wakes()

    def _drain_wakes(self) -> None:
        with self._lock:
            self._pipe.drain()
            self._woken = False


def _milliseconds(due: Optional[float], most: Optional[float]) -> Optional[int]:
    """How long to poll, rounded up so that the loop does not spin just before the instant."""
    limits = [] if most is None else [most]
    if due is not None:
        limits.append(max(0.0, due - time.monotonic()))
    return int(min(limits) * 1000) + 1 if limits else None
