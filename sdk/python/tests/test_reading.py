"""Who reads the connection: the SDK's thread, or the event loop on which a task awaits a cancel."""

import asyncio
import contextlib
import os
import socket
import threading
import time

import pytest
from strict_supervisor import eventually

from lastcall import reading
from lastcall.context import Context
from lastcall.incoming import MOST_WAITING, Incoming
from lastcall.reading import Reading
from lastcall.session import Session

CANCEL = b'{"op":"cancel","ids":["%s"],"mode":"stop","reason":"operator"}\n'


@pytest.fixture
def threads(monkeypatch):
    """The names of the threads that handled cancels, in their order."""
    names = []
    cancel = Context._raise

    def noting(self, *words, **more):
        is_first = cancel(self, *words, **more)
        if is_first:
            names.append("loop" if more.get("on_loop") else threading.current_thread().name)
        return is_first

    monkeypatch.setattr(Context, "_raise", noting)
    return names


def begun(supervisor, client, name):
    context = client.begin(name)
    supervisor.wait("request.begin", id=name)
    return context


@pytest.fixture(autouse=True)
def left(monkeypatch):
    """Whether the connection's thread has left reading to the loop."""
    answers = [False]
    is_left = Reading.is_left_to_loop

    def noting(self):
        answers[0] = is_left(self)
        return answers[0]

    monkeypatch.setattr(Reading, "is_left_to_loop", noting)
    return answers


@contextlib.asynccontextmanager
async def awaiting(supervisor, client, left, name):
    """A request whose cancel a task awaits, with the loop as the reader."""
    context = begun(supervisor, client, name)
    task = asyncio.ensure_future(context.stopped())
    await asyncio.sleep(0)
    while not left[0]:
        await asyncio.sleep(0)
    yield context, task
    task.cancel()
    context.end()


def test_an_awaited_cancel_is_handled_on_the_loop(supervisor, client, threads, left):
    eventually(lambda: client.connected)

    async def main():
        async with awaiting(supervisor, client, left, "r") as (context, task):
            supervisor.cancel("r", reason="migrate")
            await asyncio.wait_for(task, 10)
            assert context.reason == "migrate"

    asyncio.run(main())
    assert threads == ["loop"]
    assert supervisor.wait("request.end", id="r")["outcome"] == "migrated"


def test_a_callback_of_the_program_runs_on_the_connections_thread(
    supervisor, client, threads, left
):
    eventually(lambda: client.connected)
    ran = []

    async def main():
        async with awaiting(supervisor, client, left, "r") as (context, task):
            context.on_stop(lambda _: ran.append(threading.current_thread().name))
            supervisor.cancel("r")
            await asyncio.wait_for(task, 10)
        async with contextlib.AsyncExitStack() as stack:  # and from now on for a while
            other = begun(supervisor, client, "other")
            stack.callback(other.end)
            supervisor.cancel("other")
            await asyncio.wait_for(other.stopped(), 10)

    asyncio.run(main())
    assert ran == ["lastcall"]
    assert threads == ["lastcall", "lastcall"]


def test_so_does_one_of_a_child(supervisor, client, threads, left):
    eventually(lambda: client.connected)
    ran = []

    async def main():
        async with awaiting(supervisor, client, left, "r") as (context, task):
            child = client.begin("child", parent=context)
            child.on_stop(lambda _: ran.append(threading.current_thread().name))
            supervisor.cancel("r")
            await asyncio.wait_for(task, 10)
            child.end()

    asyncio.run(main())
    assert (ran, threads) == (["lastcall"], ["lastcall"])


def test_lines_are_handled_in_their_order(supervisor, client, left):
    """The first one hangs on the connection's thread; the loop does not overtake it."""
    eventually(lambda: client.connected)
    goes_on, order = threading.Event(), []

    async def main():
        async with awaiting(supervisor, client, left, "awaited") as (awaited, task):
            hangs = begun(supervisor, client, "hangs")
            started = threading.Event()
            hangs.on_stop(lambda _: (started.set(), goes_on.wait(20), order.append("hangs")))
            task.add_done_callback(lambda _: order.append("awaited"))
            supervisor.cancel("hangs")
            while not started.is_set():
                await asyncio.sleep(0)
            supervisor.cancel("awaited")
            for _ in range(500):  # the loop polls the connection at each of these
                await asyncio.sleep(0)
            assert not awaited.is_stopped()
            goes_on.set()
            await asyncio.wait_for(task, 10)
            hangs.end()

    asyncio.run(main())
    assert order == ["hangs", "awaited"]


def test_a_loop_that_is_busy_gets_its_cancel(supervisor, client, threads, left):
    """It looks at the context between its steps, and never returns to its selector."""
    eventually(lambda: client.connected)

    async def main():
        async with awaiting(supervisor, client, left, "r") as (context, _):
            supervisor.cancel("r")
            end = time.monotonic() + 10
            while not context.is_stopped():
                assert time.monotonic() < end

    asyncio.run(main())
    assert threads == ["lastcall"]


def test_a_loop_that_ends_leaves_the_connection_to_the_next(supervisor, client, threads, left):
    eventually(lambda: client.connected)
    kept = []

    async def begins():
        async with awaiting(supervisor, client, left, "first") as _:
            kept.append(client.begin("live"))

    async def stops(name):
        async with awaiting(supervisor, client, left, name) as (_, task):
            supervisor.cancel(name)
            await asyncio.wait_for(task, 10)

    asyncio.run(begins())
    supervisor.cancel("live")  # no loop runs
    eventually(lambda: kept[0].is_stopped())
    asyncio.run(stops("second"))
    asyncio.run(stops("third"))
    assert threads == ["lastcall", "loop", "loop"]
    client.end("live")


def test_each_new_connection_is_read_by_the_loop_again(supervisor, client, threads, left):
    eventually(lambda: client.connected)

    async def main():
        for number in range(3):
            async with awaiting(supervisor, client, left, f"r{number}") as (_, task):
                supervisor.cancel(f"r{number}")
                await asyncio.wait_for(task, 10)
            supervisor.hang_up()
            while supervisor.connections < number + 2 or not client.connected:
                await asyncio.sleep(0)

    before = len(os.listdir("/proc/self/fd"))
    asyncio.run(main())
    assert threads == ["loop"] * 3
    eventually(lambda: len(os.listdir("/proc/self/fd")) == before)


def test_a_request_that_outlives_its_connection_gets_its_cancel(supervisor, client, left):
    eventually(lambda: client.connected)

    async def main():
        async with awaiting(supervisor, client, left, "r") as (_, task):
            supervisor.hang_up()
            await asyncio.get_running_loop().run_in_executor(
                None, lambda: supervisor.wait("request.begin", count=2, id="r")
            )
            supervisor.cancel("r")
            await asyncio.wait_for(task, 10)

    asyncio.run(main())


def test_the_supervisor_notices_the_end_though_the_loop_is_busy(supervisor, client, left):
    """The loop's duplicate of the descriptor must not keep the connection open."""
    eventually(lambda: client.connected)

    async def main():
        async with awaiting(supervisor, client, left, "r"):
            client.close()
            eventually(lambda: not supervisor._peers)  # blocks the loop

    asyncio.run(main())


def test_a_line_that_cannot_be_read_ends_the_connection(supervisor, client, caplog, left):
    eventually(lambda: client.connected)

    async def main():
        async with awaiting(supervisor, client, left, "r") as (_, task):
            supervisor.send_raw(b"{nonsense\n")
            await asyncio.get_running_loop().run_in_executor(
                None, lambda: supervisor.wait("request.begin", count=2, id="r")
            )
            supervisor.cancel("r")
            await asyncio.wait_for(task, 10)

    asyncio.run(main())
    assert supervisor.wait("error", connection=1)["code"] == "bad_json"


def test_an_unknown_line_is_answered(supervisor, client, left):
    eventually(lambda: client.connected)

    async def main():
        async with awaiting(supervisor, client, left, "r") as (_, task):
            supervisor.send("news", seq=7)
            supervisor.cancel("r")
            await asyncio.wait_for(task, 10)

    asyncio.run(main())
    assert supervisor.wait("error", seq=7)["code"] == "unknown_op"


def test_an_admission_arrives_on_the_loop(supervisor, client, monkeypatch, left):
    eventually(lambda: client.connected)
    received = []
    receive = Session.receive_on_loop

    def noting(self, message):
        is_received = receive(self, message)
        received.append((message["op"], is_received))
        return is_received

    monkeypatch.setattr(Session, "receive_on_loop", noting)

    async def main():
        async with awaiting(supervisor, client, left, "r"):
            async with client.request("admitted", admit=True):
                pass

    asyncio.run(main())
    assert received == [("ack", True), ("admitted", True)]


def test_a_forked_child_leaves_the_parents_loop_alone(supervisor, client, threads, left):
    """Both have the loop's epoll set: what the child removed would be removed in the parent."""
    eventually(lambda: client.connected)

    async def main():
        async with awaiting(supervisor, client, left, "r") as (_, task):
            child = os.fork()
            if child == 0:
                with contextlib.suppress(BaseException):
                    client.close()
                os._exit(0)
            os.waitpid(child, 0)
            supervisor.cancel("r")
            await asyncio.wait_for(task, 10)

    asyncio.run(main())
    assert threads == ["loop"]


def test_a_loop_that_cannot_poll_is_left_alone(supervisor, client, threads):
    eventually(lambda: client.connected)

    class CannotPoll(asyncio.SelectorEventLoop):
        def add_reader(self, fd, callback, *arguments):
            if getattr(callback, "__self__", None).__class__.__module__ == "lastcall.loop_reader":
                raise NotImplementedError
            return super().add_reader(fd, callback, *arguments)

    async def main():
        context = begun(supervisor, client, "r")
        task = asyncio.ensure_future(context.stopped())
        await asyncio.sleep(0)
        supervisor.cancel("r")
        await asyncio.wait_for(task, 10)
        context.end()

    loop = CannotPoll()
    loop.run_until_complete(main())
    loop.close()
    assert threads == ["lastcall"]


def test_the_loop_reads_again_when_the_pause_is_over(
    supervisor, client, threads, monkeypatch, left
):
    monkeypatch.setattr(reading, "PAUSE", 0.0)
    eventually(lambda: client.connected)

    async def main():
        for name, blocks in (("busy", True), ("idle", False)):
            async with awaiting(supervisor, client, left, name) as (context, task):
                supervisor.cancel(name)
                end = time.monotonic() + 10
                while blocks and not context.is_stopped():
                    assert time.monotonic() < end
                await asyncio.wait_for(task, 10)

    asyncio.run(main())
    assert threads == ["lastcall", "loop"]


# --- the lines of a connection


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def test_a_loop_handles_lines_in_any_split(pair):
    ours, theirs = pair
    wire = b"".join(CANCEL % str(number).encode() for number in range(3))
    for size in (1, 7, 50, len(wire)):
        incoming, received = Incoming(), []
        for at in range(0, len(wire), size):
            theirs.sendall(wire[at : at + size])
            assert not incoming.read_on_loop(ours, lambda m: not received.append(m["ids"][0]))
        assert received == ["0", "1", "2"]


def test_what_the_loop_may_not_handle_and_what_follows_is_for_the_thread(pair):
    ours, theirs = pair
    incoming = Incoming()
    theirs.sendall(b'{"op":"a"}\n{"op":"b"}\n{"op":"c"}\n')
    assert incoming.read_on_loop(ours, lambda message: message["op"] != "b")
    assert incoming.take() == b'{"op":"b"}'
    # The thread handles that one now: the loop must not overtake it.
    assert incoming.read_on_loop(ours, lambda message: True)
    assert [incoming.take(), incoming.take()] == [b'{"op":"c"}', None]
    theirs.sendall(b'{"op":"d"}\n')
    assert not incoming.read_on_loop(ours, lambda message: True)


def test_the_end_is_for_the_thread(pair):
    ours, theirs = pair
    incoming = Incoming()
    theirs.sendall(b'{"op":"a"}\n')
    theirs.shutdown(socket.SHUT_WR)
    assert not incoming.read_on_loop(ours, lambda message: True)
    assert incoming.read_on_loop(ours, lambda message: True)
    assert incoming.is_ended and not incoming.takes_more


def test_a_line_that_is_too_long_is_for_the_thread_after_those_before_it(pair):
    ours, theirs = pair
    incoming = Incoming()
    theirs.sendall(b'{"op":"a"}\n')
    assert incoming.read_on_loop(ours, lambda message: False)
    theirs.settimeout(10)
    sender = threading.Thread(target=lambda: theirs.sendall(b"x" * (64 * 1024 + 2)))
    sender.start()
    while incoming.fault is None:
        assert incoming.read_on_loop(ours, lambda message: False)
    sender.join(20)
    assert incoming.take() == b'{"op":"a"}' and incoming.fault.code == "too_long"


def test_a_loop_reads_no_more_when_many_lines_wait(pair):
    ours, theirs = pair
    incoming = Incoming()
    theirs.sendall(b'{"op":"a"}\n' * MOST_WAITING)
    while incoming.takes_more:
        assert incoming.read_on_loop(ours, lambda message: False)
    for _ in range(MOST_WAITING):
        assert incoming.take()
    assert incoming.takes_more
