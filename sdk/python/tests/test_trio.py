"""Under trio, also below anyio: a wait is refused with a reason, and a cancel is a cancel.

Trio itself is used if it is installed. Otherwise a stand-in takes its place, with the only two
names of trio that the package asks for.
"""

import importlib
import importlib.util
import sys
import types

import pytest
from strict_supervisor import eventually

import lastcall
from lastcall import outgoing, remote

REASON = "runs under trio, expected asyncio"


class StandIn(types.ModuleType):
    """Runs coroutines that never wait, and cancels at once."""

    class Cancelled(BaseException):
        pass

    def __init__(self):
        super().__init__("trio")
        self.task = None
        self.lowlevel = types.SimpleNamespace(current_task=self.current_task)

    def current_task(self):
        if self.task is None:
            raise RuntimeError("must be called from async context")
        return self.task

    def run(self, function):
        self.task = function
        try:
            function().send(None)
        except StopIteration as end:
            return end.value
        finally:
            self.task = None
        raise AssertionError("it waited for an event loop")


def run(trio, function):
    if isinstance(trio, StandIn):
        return trio.run(function)

    async def soon():
        with trio.fail_after(20):
            return await function()

    return trio.run(soon)


@pytest.fixture(params=["stand-in", *(["trio"] if importlib.util.find_spec("trio") else [])])
def trio(request, monkeypatch):
    if request.param == "stand-in":
        monkeypatch.setitem(sys.modules, "trio", StandIn())
    return importlib.import_module("trio")


@pytest.fixture
def client(supervisor, make_client):
    client = make_client()
    eventually(lambda: client.connected)
    return client


def test_a_request_without_admission_is_a_block(trio, supervisor, client):
    async def main():
        async with client.request("r") as context:
            context.progress()

    run(trio, main)
    assert supervisor.wait("request.end", id="r")["outcome"] == "completed"


async def admit(client):
    async with client.request("r", admit=True):
        pass


async def admit_and_block(client):
    client.begin("r", admit=True)


async def begin(client):
    await client.begin_async("r", admit=True)


async def call_a_handler(client):
    @client.endpoint("generate")
    async def generate():
        pass

    await generate(request_id="r")


async def call_a_generator(client):
    @client.endpoint("generate")
    async def generate():
        yield 1

    async for _ in generate(request_id="r"):
        pass


async def call_another_tier(client):
    endpoint = remote.Endpoint("dynamo.prefill.generate", urls=["http://127.0.0.1:1"])
    await endpoint.generate({})


@pytest.mark.parametrize(
    "wait",
    [admit, admit_and_block, begin, call_a_handler, call_a_generator, call_another_tier],
    ids=lambda wait: wait.__name__,
)
def test_a_wait_is_refused_and_begins_no_request(trio, supervisor, client, wait):
    error = pytest.raises(RuntimeError, run, trio, lambda: wait(client)).value
    expected = "block the event loop" if wait is admit_and_block else REASON
    assert expected in str(error)
    assert client.in_flight == 0
    assert [message for _, message in supervisor.lines if message["op"] == "request.begin"] == []


async def wait_for_a_stop(context):
    await context.stopped()


async def abort_on_stop(context):
    async with outgoing.abort_on_stop(context):
        pass


@pytest.mark.parametrize("wait", [wait_for_a_stop, abort_on_stop], ids=lambda wait: wait.__name__)
def test_a_wait_for_a_cancel_is_refused(trio, wait):
    context = lastcall.Context("r")
    with pytest.raises(RuntimeError, match=REASON):
        run(trio, lambda: wait(context))


def test_a_cancel_of_trio_is_a_cancel_of_the_request(trio, supervisor, client):
    async def main():
        if isinstance(trio, StandIn):
            with pytest.raises(trio.Cancelled):
                async with client.request("r"):
                    raise trio.Cancelled
        else:
            with trio.CancelScope() as scope:
                async with client.request("r"):
                    scope.cancel()
                    await trio.sleep_forever()

    run(trio, main)
    assert supervisor.wait("request.end", id="r")["outcome"] == "cancelled"


def test_a_coroutine_cannot_be_a_callback(trio, client):
    async def main():
        @client.on_health
        async def health():
            return True

    with pytest.raises(RuntimeError, match="cannot call .*health back under trio"):
        run(trio, main)


def test_without_any_loop_the_reason_does_not_name_trio():
    with pytest.raises(RuntimeError, match="no event loop runs here, expected asyncio"):
        lastcall.Context("r").stopped().send(None)
