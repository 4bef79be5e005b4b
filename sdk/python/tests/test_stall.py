"""Callbacks that run on the connection's thread, and what they may not do there."""

import asyncio

import pytest
from strict_supervisor import eventually


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
    told = []

    def begin(_):
        for wait in (
            lambda: client.begin("a", admit=True),
            lambda: asyncio.run(client.begin_async("b", admit=True)),
        ):
            try:
                wait()
            except Exception as error:
                told.append(error)

    stopped_by_supervisor(begin)
    eventually(lambda: len(told) == 2)
    assert {type(each) for each in told} == {RuntimeError}
    assert "on the client's own thread" in str(told[0])
    client.end("r")
    supervisor.wait("request.end", id="r")
    assert client.in_flight == 0
    assert len(supervisor.all("request.begin")) == 1
