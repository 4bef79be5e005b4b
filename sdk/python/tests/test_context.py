"""The cancellation state machine and its tree, without a supervisor."""

import asyncio
import threading

import pytest

from lastcall import Context


def test_state_only_rises_and_each_call_returns_whether_it_was_the_first():
    context = Context("a")
    assert not context.is_stopped() and not context.is_killed()
    assert context.stop_generating() is True
    assert context.stop_generating() is False
    assert context.stop() is False
    assert context.is_stopped() and not context.is_killed()
    assert context.kill() is True
    assert context.kill() is False
    assert context.is_stopped() and context.is_killed()
    assert context.stop() is False
    assert context.is_killed()


def test_the_first_reason_stays():
    context = Context()
    context.stop(reason="migrate")
    context.kill(reason="grace_timeout")
    assert context.reason == context.cause == "migrate"


def test_an_unknown_reason_is_refused_by_name():
    with pytest.raises(ValueError, match="'because'"):
        Context().kill(reason="because")


@pytest.mark.parametrize("bad", ["", "x" * 257, "\ud800", 7])
def test_an_id_that_cannot_go_on_the_wire_is_refused(bad):
    with pytest.raises(ValueError, match="request id"):
        Context(bad)


def test_children_are_notified_first_and_in_link_order():
    order = []
    top, first, second, grandchild = Context("t"), Context("1"), Context("2"), Context("g")
    for each in (top, first, second, grandchild):
        each.on_stop(lambda context: order.append(context.id()))
    top.link_child(first)
    top.link_child(second)
    first.link_child(grandchild)
    top.kill(reason="client_disconnect")
    assert order == ["g", "1", "2", "t"]
    assert grandchild.is_killed()
    assert top.reason == "client_disconnect"
    assert first.reason == grandchild.reason == "parent"
    assert grandchild.cause == "client_disconnect"


@pytest.mark.parametrize("method", ["stop", "kill"])
def test_a_late_child_gets_its_parents_state_at_once(method):
    parent, child = Context(), Context()
    getattr(parent, method)(reason="migrate")
    assert parent.link_child(child) is True
    assert child.is_stopped()
    assert child.is_killed() is (method == "kill")
    assert (child.reason, child.cause) == ("parent", "migrate")


def test_a_stopped_child_still_rises_when_its_parent_is_killed():
    parent, child = Context(), Context()
    parent.link_child(child)
    child.stop()
    parent.kill()
    assert child.is_killed()


def test_a_cycle_is_refused():
    a, b, c = Context("a"), Context("b"), Context("c")
    a.link_child(b)
    b.link_child(c)
    for top, child in ((a, a), (b, a), (c, a)):
        with pytest.raises(ValueError, match="cycle"):
            top.link_child(child)
    assert a.link_child(c) is True  # two ways down are not a cycle
    assert a.link_child(c) is False
    a.stop()
    assert c.is_stopped()


def test_depth_costs_no_stack():
    top = last = Context()
    chain = [top]
    for _ in range(20_000):
        child = Context()
        last.link_child(child)
        chain.append(child)
        last = child
    assert top.kill() is True
    assert last.is_killed()
    for each in reversed(chain):
        each.end()
    assert not top._children


def test_a_finished_child_is_unlinked():
    parent, child = Context(), Context()
    parent.link_child(child)
    child.end()
    assert not parent._children
    parent.stop()
    assert not child.is_stopped()
    assert parent.link_child(child) is False


def test_a_finished_context_still_passes_cancels_on_to_unfinished_children():
    top, middle, leaf = Context(), Context(), Context()
    top.link_child(middle)
    middle.link_child(leaf)
    middle.end()
    top.stop()
    assert leaf.is_stopped()
    leaf.end()
    assert not top._children and not middle._children


def test_the_first_end_wins():
    context = Context()
    assert context.end("error") is True
    assert context.end() is False
    assert context.outcome == "error"


@pytest.mark.parametrize(
    "cancel, outcome",
    [
        (lambda context: None, "completed"),
        (lambda context: context.stop("control"), "cancelled"),
        (lambda context: context.kill("migrate"), "migrated"),
        (lambda context: context.kill("grace_timeout"), "migrated"),
        (lambda context: context.kill("engine_dead"), "engine_dead"),
    ],
)
def test_the_outcome_follows_from_the_state(cancel, outcome):
    with Context() as context:
        cancel(context)
    assert context.outcome == outcome


@pytest.mark.parametrize(
    "error, outcome",
    [(KeyError("x"), "error"), (asyncio.CancelledError(), "cancelled")],
)
def test_an_exception_decides_the_outcome_of_a_live_context(error, outcome):
    with pytest.raises(type(error)):
        with Context() as context:
            raise error
    assert context.outcome == outcome


def test_a_failing_callback_does_not_keep_others_from_being_called():
    received = []
    context = Context()
    context.on_stop(lambda _: 1 / 0)
    context.on_stop(received.append)
    assert context.stop() is True
    assert received == [context]


def test_a_late_callback_runs_at_once_and_a_removed_one_never():
    received = []
    context = Context()
    context.on_stop(lambda _: received.append("removed"))()
    context.on_kill(lambda _: received.append("kill"))
    context.stop()
    context.on_stop(lambda _: received.append("late"))
    assert received == ["late"]
    context.kill()
    assert received == ["late", "kill"]


def test_a_callback_may_cancel_link_and_end():
    parent, child = Context(), Context()

    def react(context):
        context.link_child(child)
        context.kill()
        context.end()

    parent.on_stop(react)
    parent.stop()
    assert parent.is_killed() and child.is_killed()


def test_a_thread_waits_for_a_stop():
    context = Context()
    assert context.wait_stopped(0.01) is False
    threading.Timer(0.02, context.stop).start()
    assert context.wait_stopped(10) is True


def test_awaiting_ends_on_a_cancel_from_another_thread():
    async def main():
        context = Context()
        waits = [
            asyncio.ensure_future(each)
            for each in (context.stopped(), context.async_killed_or_stopped())
        ]
        killed = asyncio.ensure_future(context.killed())
        await asyncio.sleep(0)
        threading.Thread(target=context.stop).start()
        assert await asyncio.gather(*waits) == [None, True]
        await asyncio.sleep(0)
        assert not killed.done()
        threading.Thread(target=context.kill).start()
        await killed
        await context.stopped()  # at once

    asyncio.run(asyncio.wait_for(main(), 10))


def test_a_cancelled_wait_leaves_nothing_behind():
    async def main():
        context = Context()
        wait = asyncio.ensure_future(context.stopped())
        await asyncio.sleep(0)
        wait.cancel()
        await asyncio.gather(wait, return_exceptions=True)
        return context

    assert not asyncio.run(main())._callbacks


def test_only_one_of_many_threads_is_the_first():
    for _ in range(50):
        context = Context()
        children = [Context() for _ in range(4)]
        for child in children:
            context.link_child(child)
        firsts = []
        gate = threading.Barrier(4)

        def cancel():
            gate.wait()
            if context.kill():
                firsts.append(1)

        threads = [threading.Thread(target=cancel) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(firsts) == 1
        assert all(child.is_killed() for child in children)
