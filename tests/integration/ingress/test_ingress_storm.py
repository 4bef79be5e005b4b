"""Storms of arrivals, hang-ups and resizes: exactly N requests run, Q wait, for any HTTP client.

The engine counts for itself, and answers one of those that it has, chosen by the seed, only when
all places are taken or no further request comes. What the proxy has let go of is closed before its
place is given away, so the engine knows then, and does not count it.
"""

import random
import select
import socket
import threading
import time

import pytest
from raw_engine import client, metric, ok, post
from serve_peer import PATIENCE, wait_until

CLIENTS = 16
THREADS = (1, 3)


def is_gone(connection):
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    return bool(poll.poll(0))


class Engine:
    """`most` is the greatest number of requests at a time since it was last asked for."""

    def __init__(self, seed):
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        self._dice = random.Random(seed)
        self._connections, self._asked, self._live = {}, {}, []
        self.most = self.served = 0
        self.places = 1
        self._lock = threading.Lock()
        self._ends = False
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def take_most(self):
        with self._lock:
            most, self.most = self.most, 0
            return most

    def _drop_gone(self):
        self._live = [one for one in self._live if not is_gone(one)]

    def _serve(self):
        poll = select.epoll()
        poll.register(self._listener, select.EPOLLIN)
        while not self._ends:
            is_full = len(self._live) >= self.places
            ready = poll.poll(0.001 if is_full else 0.05)
            with self._lock:
                for fd, _ in ready:
                    self._read(poll, fd)
                if not ready and self._live:
                    self._answer_one()
        for connection in self._connections.values():
            connection.close()

    def _read(self, poll, fd):
        if fd == self._listener.fileno():
            connection, _ = self._listener.accept()
            self._connections[connection.fileno()] = connection
            self._asked[connection.fileno()] = b""
            poll.register(connection, select.EPOLLIN)
            return
        connection = self._connections[fd]
        try:
            data = connection.recv(65536)
        except ConnectionResetError:
            data = b""
        if not data:
            poll.unregister(fd)
            self._live = [one for one in self._live if one is not connection]
            self._connections.pop(fd).close()
            return
        self._asked[fd] += data
        if self._asked[fd].endswith(b"}"):
            self._asked[fd] = b""
            self._live.append(connection)
            self._drop_gone()
            self.most = max(self.most, len(self._live))

    def _answer_one(self):
        connection = self._live.pop(self._dice.randrange(len(self._live)))
        # Before it is sent: afterwards the client may have counted it first.
        self.served += 1
        try:
            connection.sendall(ok(b"done"))
        except OSError:
            self.served -= 1  # it has left

    def close(self):
        self._ends = True
        self._thread.join()
        self._listener.close()


class Storm:
    """Clients that ask without a pause; some hang up at once, or after a moment."""

    def __init__(self, one, seed):
        self.one, self.seed = one, seed
        self.counts = {"answered": 0, "refused": 0, "left": 0}
        self.wrong, self.limits = [], set()  # N + Q, of refusals
        self._lock, self._ends = threading.Lock(), threading.Event()
        self._threads = [threading.Thread(target=self._ask_on, args=(n,)) for n in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def _ask_on(self, number):
        dice = random.Random(self.seed * 100 + number)
        while not self._ends.is_set():
            try:
                self._note(*self._ask(dice))
            except (OSError, AssertionError, ValueError) as error:
                self.wrong.append(repr(error))
                return

    def _ask(self, dice):
        user = client(self.one)
        try:
            user.send(post())
            if dice.random() < 0.3:
                if dice.random() < 0.5:
                    select.select([user.socket], [], [], dice.random() * 0.01)
                return "left", None
            head = user.until(b"\r\n\r\n")
            if head.startswith(b"HTTP/1.1 200 "):
                return "answered", None
            said = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
            limit, count = (int(said[b"X-Lastcall-" + name]) for name in (b"Limit", b"Count"))
            assert count >= limit, head
            return "refused", limit
        finally:
            user.close()

    def _note(self, kind, limit):
        with self._lock:
            self.counts[kind] += 1
            if limit is not None:
                self.limits.add(limit)

    def total(self):
        with self._lock:
            return sum(self.counts.values())

    def end(self):
        self._ends.set()
        for thread in self._threads:
            thread.join(4 * PATIENCE)


@pytest.fixture
def tally():
    made = []

    def make(seed):
        made.append(Engine(seed))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


def holds(operator, running, waiting):
    state = operator.ask("status")["admission"]
    return state["running"] <= running and state["waiting"] <= waiting


@pytest.mark.parametrize("seed", range(3))
def test_n_and_q_are_exact_in_a_storm_of_arrivals_hang_ups_and_resizes(proxy, tally, seed):
    dice, engine = random.Random(seed), tally(seed)
    one = proxy(admission={"engine_request_limit": 3, "queue_limit": 5},
                ingress={"upstream": engine.address})  # fmt: skip
    operator, allowed = one.operator(), {8}
    storm = Storm(one, seed)
    try:
        for running, waiting in [(3, 5)] + [(dice.randint(1, 5), dice.randint(0, 5))
                                            for _ in range(8)]:  # fmt: skip
            operator.ask("admission.set", engine_request_limit=running, queue_limit=waiting)
            allowed.add(running + waiting)
            # Shrinking evicts no request: what is above the new limits goes on to its end.
            wait_until(lambda n=running, q=waiting: holds(operator, n, q), "the limits hold")
            engine.places = running
            engine.take_most()
            total, served = storm.total() + 60, engine.served + 20
            deadline = time.monotonic() + PATIENCE  # for all places to be taken at a time
            while not storm.wrong and (storm.total() < total or engine.served < served or (
                    engine.most < running and time.monotonic() < deadline)):
                assert holds(operator, running, waiting)
            assert engine.take_most() == running, (running, waiting)
    finally:
        storm.end()
    assert storm.wrong == []
    assert storm.limits <= allowed and len(storm.limits) > 1
    assert min(storm.counts.values()) > 0, storm.counts
    assert engine.served >= storm.counts["answered"]
    wait_until(lambda: one.status()["in_flight"]["requests"] == 0, "nothing is left")
    assert metric(one, "dynamo_request_queue") == metric(one, "dynamo_engine_request") == 0
