"""Requests that ask before they run."""

import asyncio
import select
import threading
import time

import pytest
from asgi_server import Server, echo, run, wrap
from strict_supervisor import FakeSupervisor, eventually

import lastcall
from lastcall import ledger, link


def test_admission_waits_for_admitted(supervisor, client):
    eventually(lambda: client.connected)
    supervisor.admit = False
    begun = []
    thread = threading.Thread(target=lambda: begun.append(client.begin("q", admit=True)))
    thread.start()
    assert supervisor.wait("request.begin")["admit"] is True
    assert begun == []
    supervisor.send("admitted", id="q")
    thread.join(10)
    begun[0].end()
    assert supervisor.wait("request.end", id="q")["outcome"] == "completed"


def test_the_priority_is_sent_and_sent_again_after_a_reconnect(supervisor, client):
    eventually(lambda: client.connected)
    urgent = client.begin("urgent", admit=True, priority=0)
    assert supervisor.wait("request.begin", id="urgent")["priority"] == 0
    client.begin("usual").end()
    assert "priority" not in supervisor.wait("request.begin", id="usual")

    @client.endpoint("background", priority=7)
    def background(request):
        return request

    background(None, request_id="idle")
    assert supervisor.wait("request.begin", id="idle")["priority"] == 7
    supervisor.hang_up()
    assert supervisor.wait("request.begin", id="urgent", connection=2)["priority"] == 0
    urgent.end()


@pytest.mark.parametrize("priority", [-1, 8, "3", True, 1.0])
def test_a_priority_that_is_none_is_refused_before_it_is_sent(client, priority):
    with pytest.raises(ValueError, match="expected 0 to 7"):
        client.begin("r", priority=priority)
    assert client.in_flight == 0


def test_a_rejected_request_raises_with_its_reason(supervisor, client):
    eventually(lambda: client.connected)
    supervisor.admit = False

    async def main():
        waiting = asyncio.ensure_future(client.begin_async("q", admit=True))
        await asyncio.to_thread(supervisor.wait, "request.begin")
        supervisor.send("rejected", id="q", reason="overloaded", retry_after_ms=1500)
        await waiting

    with pytest.raises(lastcall.Rejected) as caught:
        asyncio.run(main())
    assert (caught.value.reason, caught.value.retry_after) == ("overloaded", 1.5)
    assert client.in_flight == 0
    client.begin("q").end()  # the id is free again
    supervisor.wait("request.end")
    assert len(supervisor.all("request.end")) == 1


def test_a_cancelled_task_withdraws_its_question(supervisor, client):
    eventually(lambda: client.connected)
    supervisor.admit = False

    async def main():
        async def wait():
            async with client.request("q", admit=True):
                raise AssertionError("never admitted")

        task = asyncio.ensure_future(wait())
        await asyncio.to_thread(supervisor.wait, "request.begin")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert supervisor.wait("request.end", id="q")["outcome"] == "cancelled"
    assert client.in_flight == 0


def test_a_cancel_beats_the_wait_for_admission(supervisor, client):
    eventually(lambda: client.connected)
    supervisor.admit = False
    failures = []

    def wait():
        try:
            client.begin("q", admit=True)
        except lastcall.Cancelled as error:
            failures.append(error.reason)

    thread = threading.Thread(target=wait)
    thread.start()
    supervisor.wait("request.begin")
    supervisor.cancel("q", reason="operator")
    thread.join(10)
    assert failures == ["operator"]
    assert client.in_flight == 0


def test_a_waiting_request_asks_the_next_supervisor_again(supervisor, client):
    eventually(lambda: client.connected)
    supervisor.admit = False
    begun = []
    thread = threading.Thread(target=lambda: begun.append(client.begin("q", admit=True)))
    thread.start()
    supervisor.wait("request.begin")
    supervisor.admit = True
    supervisor.hang_up()
    thread.join(10)
    assert begun
    again = supervisor.wait("request.begin", connection=2)
    assert again["admit"] is True and "resumed" not in again
    assert supervisor.wait("hello", connection=2)["live"] == 0


def test_without_a_supervisor_it_starts_unadmitted(client):
    started = time.monotonic()
    with client.begin("q", admit=True):
        assert time.monotonic() - started >= 0.95


@pytest.fixture
def patient(monkeypatch):
    """A request that waits for an admission at all does so for longer than any test."""
    monkeypatch.setattr("lastcall.ledger.UNADMITTED_AFTER", 3600.0)


def test_without_a_supervisor_a_request_that_does_not_ask_does_not_wait(patient, client):
    with client.begin("thread"):
        pass

    @client.endpoint("generate")
    async def generate(request):
        yield request

    async def main():
        async with client.request("task"):
            return [item async for item in generate(1)]

    assert asyncio.run(asyncio.wait_for(main(), 20)) == [1]
    assert client.request("asks", admit=True)._start()[1] is not None  # this one does


def test_without_a_supervisor_a_middleware_that_does_not_ask_does_not_wait(patient, client):
    async def main():
        server = Server(wrap(echo, client, admit=False))
        assert await server.start().ends() is None and server.status == 200

    run(main)


def test_a_supervisor_that_stays_away_holds_up_nobody_after_the_first_second(client):
    with client.begin("first", admit=True):
        _, admission = client.request("second", admit=True)._start()
        assert admission is None
        client.end("second")


def test_a_supervisor_that_hangs_up_before_its_welcome_was_never_there(path, make_client):
    with FakeSupervisor(path, welcome=False, admit=False) as fake:
        client = make_client()
        started = client._session.lost_at
        for number in range(1, 4):
            fake.wait("hello", connection=number)
            fake.hang_up()
        assert client._session.lost_at == started
        client.begin("q", admit=True).end()


def test_one_that_started_unadmitted_is_resumed(path, client):
    with client.begin("q", admit=True):
        with FakeSupervisor(path) as fake:
            assert fake.wait("hello")["live"] == 1
            assert fake.wait("request.begin")["resumed"] is True


def test_a_mute_supervisor_does_not_hold_admission(path, make_client):
    with FakeSupervisor(path, welcome=False, admit=False) as fake:
        client = make_client()
        fake.wait("hello")
        with client.begin("q", admit=True):
            # A late refusal does not undo the start: it is made to count instead.
            fake.send("rejected", id="q", reason="overloaded")
            eventually(lambda: len(fake.all("request.begin")) == 2)
            assert fake.all("request.begin")[1]["resumed"] is True


def test_a_supervisor_that_stands_still_counts_as_absent_until_it_answers(
    supervisor, client, monkeypatch
):
    monkeypatch.setattr(ledger, "SILENT_AFTER", 0.3)
    eventually(lambda: client.connected)
    supervisor.acks = supervisor.admit = False
    client.begin("first", admit=True)  # would wait for ever
    question = supervisor.wait("request.begin", id="first", admit=True)
    monkeypatch.setattr(ledger, "SILENT_AFTER", 60)
    client.begin("second", admit=True)  # at once: only the first one waits
    assert "began_at_ms" in supervisor.wait("request.begin", id="second", resumed=True)
    supervisor.acks = True
    supervisor.send("ack", seq=question["seq"])
    supervisor.send("cancel", ids=["first"], mode="stop", reason="control")
    client.find("first").wait_stopped(10)  # the line before it was handled, too
    asking = threading.Thread(target=client.begin, args=("third",), kwargs={"admit": True})
    asking.start()
    assert supervisor.wait("request.begin", id="third")["admit"] is True
    assert asking.is_alive()
    supervisor.send("admitted", id="third")
    asking.join(10)
    assert not asking.is_alive()


def test_a_request_that_waits_in_the_supervisors_queue_goes_on_waiting(
    supervisor, client, monkeypatch
):
    monkeypatch.setattr(ledger, "SILENT_AFTER", 60)
    eventually(lambda: client.connected)
    supervisor.admit = False
    asking = threading.Thread(target=client.begin, args=("q",), kwargs={"admit": True})
    asking.start()
    supervisor.wait("request.begin", id="q")
    eventually(lambda: not client._session.ledger._asked)
    monkeypatch.setattr(ledger, "SILENT_AFTER", 0.05)
    asking.join(0.5)
    assert asking.is_alive()
    supervisor.send("admitted", id="q")
    asking.join(10)
    assert not asking.is_alive()


def test_an_error_to_the_question_starts_it_unadmitted(supervisor, client):
    eventually(lambda: client.connected)
    supervisor.admit = False
    begun = []
    thread = threading.Thread(target=lambda: begun.append(client.begin("q", admit=True)))
    thread.start()
    seq = supervisor.wait("request.begin")["seq"]
    supervisor.send("error", seq=seq + 100, code="conflict", message="another line")
    supervisor.send("error", seq=seq, code="conflict", message="no")
    # The fake acknowledged the line first; a second answer has no question.
    supervisor.send("admitted", id="q")
    thread.join(10)
    assert begun


def test_a_close_starts_a_waiting_request_unadmitted(supervisor, client):
    eventually(lambda: client.connected)
    supervisor.admit = False
    begun = []
    thread = threading.Thread(target=lambda: begun.append(client.begin("q", admit=True)))
    thread.daemon = True
    thread.start()
    supervisor.wait("request.begin")
    client.close()
    thread.join(10)
    assert [context.is_stopped() for context in begun] == [False]


@pytest.mark.parametrize("where", ["connected", "alone"])
def test_after_a_close_nobody_waits_for_admission(patient, path, make_client, where):
    if where == "connected":
        with FakeSupervisor(path):
            client = make_client()
            eventually(lambda: client.connected)
            client.close()
    else:
        client = make_client()
        client.close()
    context, admission = client.request("q", admit=True)._start()
    assert admission is None and client.find("q") is context
    context.end()


def test_a_close_by_the_clients_own_thread_starts_waiting_requests(supervisor, client):
    eventually(lambda: client.connected)
    supervisor.admit = False
    _, admission = client.request("q", admit=True)._start()
    client.begin("r").on_stop(lambda _: client.close())
    supervisor.wait("request.begin", id="r")
    supervisor.cancel("r")
    assert admission.result(10) is False


def test_blocking_admission_inside_the_event_loop_is_refused(client):
    async def main():
        client.begin(admit=True)

    with pytest.raises(RuntimeError, match="begin_async"):
        asyncio.run(main())


def test_blocking_admission_inside_the_event_loop_is_refused_without_a_socket_too(monkeypatch):
    # What is tried on a desk must not fail only in a pod.
    monkeypatch.delenv("LASTCALL_SOCKET", raising=False)
    client = lastcall.Client("alone")

    async def main():
        with pytest.raises(RuntimeError, match="begin_async"):
            client.begin("q", admit=True)
        with pytest.raises(RuntimeError, match="async with"):
            with client.request("q", admit=True):
                pass
        async with client.request("q", admit=True) as context:
            assert client.find("q") is context

    asyncio.run(main())


def test_an_answer_that_arrived_while_the_process_was_stopped_counts(
    supervisor, make_client, monkeypatch
):
    monkeypatch.setattr(ledger, "SILENT_AFTER", 0.1)
    monkeypatch.setattr(ledger, "READ_WITHIN", 0.05)
    client = make_client()
    eventually(lambda: client.connected)
    supervisor.acks = supervisor.admit = False
    real = select.poll
    stopped = threading.Event()

    class Poll:
        """Like one that is interrupted by a stop, after which Python finds the time to be over."""

        def __init__(self):
            self.real = real()
            self.register = self.real.register

        def poll(self, timeout=None):
            if client._own.ledger._late_since is None or stopped.is_set() or timeout == 0:
                return self.real.poll(timeout)
            question = supervisor.wait("request.begin", id="q")
            supervisor.send("admitted", id="q")
            supervisor.send("ack", seq=question["seq"])
            over_at = client._own.ledger._late_since + ledger.READ_WITHIN
            eventually(lambda: time.monotonic() > over_at)
            stopped.set()
            return []

    supervisor.hang_up()
    monkeypatch.setattr(link.select, "poll", Poll)
    supervisor.wait("hello", connection=2)
    eventually(lambda: client.connected)
    _, admission = client.request("q", admit=True)._start()
    assert admission.result(10) is True
    assert stopped.is_set()
