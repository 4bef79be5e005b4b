"""Callbacks that run on the connection's thread, and what they may not do there."""

import asyncio
import logging
import threading

import pytest
from strict_supervisor import eventually

from lastcall import stall


@pytest.fixture
def stopped_by_supervisor(supervisor, client):
    """Runs a callback on the connection's thread: that of a request which is cancelled."""
    eventually(lambda: client.connected)

    def stop(callback):
        client.begin("r").on_stop(callback)
        supervisor.wait("request.begin", id="r")
        supervisor.cancel("r")

    yield stop
    client.end("r")


def test_a_callback_cannot_wait_for_an_admission(supervisor, client, stopped_by_supervisor):
    raised = []

    def begin(_):
        for wait in (
            lambda: client.begin("a", admit=True),
            lambda: asyncio.run(client.begin_async("b", admit=True)),
        ):
            try:
                wait()
            except Exception as error:
                raised.append(error)

    stopped_by_supervisor(begin)
    eventually(lambda: len(raised) == 2)
    assert {type(each) for each in raised} == {RuntimeError}
    assert "on the client's own thread" in str(raised[0])
    client.end("r")
    supervisor.wait("request.end", id="r")
    assert client.in_flight == 0
    assert len(supervisor.all("request.begin")) == 1


def test_a_callback_that_hangs_is_reported_once_with_its_place(
    supervisor, client, stopped_by_supervisor, caplog, monkeypatch
):
    hangs, is_over = threading.Event(), threading.Event()

    def never_returns(_):
        hangs.set()
        is_over.wait(20)

    with caplog.at_level(logging.ERROR, "lastcall"):
        stopped_by_supervisor(never_returns)
        assert hangs.wait(20)
        monkeypatch.setattr(stall, "PATIENCE", 0.0)  # now: a message under way is not a stall
        for _ in range(3):
            client.begin().end()
        is_over.set()
    [message] = [each.getMessage() for each in caplog.records]
    assert "never_returns" in message and "nothing reaches the supervisor" in message
    client.end("r")
    supervisor.wait("request.end", id="r")


def test_a_callback_that_reports_by_itself_is_not_reported(caplog, monkeypatch):
    monkeypatch.setattr(stall, "PATIENCE", 0.0)
    watch = stall.Stall()
    watch.call(lambda _: watch.report(), None)
    assert not caplog.records
