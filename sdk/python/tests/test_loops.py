"""Calls on an event loop from other threads, and how the connection's thread holds its own."""

import asyncio
import threading

from lastcall import loops


def on_a_thread(work):
    failures = []

    def run():
        try:
            work()
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(20)
    assert not thread.is_alive() and not failures, failures


def turns(loop):
    """Lets the loop do all that is due."""
    for _ in range(3):
        loop.call_soon(loop.stop)
        loop.run_forever()


def test_a_thread_calls_at_once_unless_it_holds():
    loop, received = asyncio.new_event_loop(), []
    on_a_thread(lambda: loops.soon(loop, lambda: received.append("called")))
    turns(loop)
    assert received == ["called"]
    loop.close()


def test_held_calls_run_in_order_at_the_release():
    loop, received = asyncio.new_event_loop(), []

    def work():
        with loops.Holder() as held:
            for number in range(3):
                loops.soon(loop, lambda number=number: received.append(number))
            turns(loop)
            assert received == []
            held.release()
            turns(loop)
            assert received == [0, 1, 2]

    on_a_thread(work)
    loop.close()


def test_many_do_not_wait_for_the_last_of_them():
    loop, received = asyncio.new_event_loop(), []

    def work():
        with loops.Holder():
            for number in range(loops.MOST_HELD + 1):
                loops.soon(loop, lambda number=number: received.append(number))
            turns(loop)
            assert received == list(range(loops.MOST_HELD))

    on_a_thread(work)
    loop.close()


def test_the_end_of_holding_releases_and_holds_no_longer():
    loop, received = asyncio.new_event_loop(), []

    def work():
        with loops.Holder():
            loops.soon(loop, lambda: received.append("held"))
        turns(loop)
        assert received == ["held"]
        loops.soon(loop, lambda: received.append("at once"))
        turns(loop)
        assert received == ["held", "at once"]

    on_a_thread(work)
    loop.close()


def test_a_closed_loop_keeps_no_other_from_being_called():
    closed, loop, received = asyncio.new_event_loop(), asyncio.new_event_loop(), []
    closed.close()

    def work():
        with loops.Holder():
            loops.soon(closed, lambda: received.append("closed"))
            loops.soon(loop, lambda: received.append("open"))

    on_a_thread(work)
    turns(loop)
    assert received == ["open"]
    loop.close()
