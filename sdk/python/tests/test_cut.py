"""A kill that meets the cancel scope of a library, and whose cancellation it was in the end."""

import asyncio
import contextlib
import sys

import pytest
from asgi_server import Server, answer, run, wrap
from strict_supervisor import eventually

import lastcall

counts = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="a task does not count its cancellations"
)


async def leave_as_anyio_does(receive, on_cancelled, others):
    """Cancels its own task when the client is gone, as the scope of a task group does.

    It takes its own cancellation back, and if there is another one lets its own error through.
    """
    task = asyncio.current_task()
    before = task.cancelling()
    while (await receive())["type"] != "http.disconnect":
        pass
    task.cancel("by the scope")
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError as error:
        on_cancelled()
        while task.cancelling() < before + 1 + others:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
        task.uncancel()
        raise error


@counts
@pytest.mark.parametrize("from_outside", [False, True])
def test_a_kill_while_a_scope_cancels_is_told_apart_from_one_of_the_server(client, from_outside):
    async def main():
        def kill():
            client.find("r").kill("engine_dead")
            if from_outside:
                asyncio.get_running_loop().call_soon(server.task.cancel)

        async def app(scope, receive, send):
            await answer(send, b"data: 1\n\n", kind=b"text/event-stream", end=False)
            await leave_as_anyio_does(receive, kill, 2 if from_outside else 1)

        server = Server(wrap(app, client), x_request_id="r").start()
        await server.sends(b"1")
        client.find("r").stop("engine_dead")
        await asyncio.wait({server.task}, timeout=20)
        if from_outside:
            assert server.task.cancelled()
        else:
            assert isinstance(server.task.exception(), lastcall.Cancelled)

    run(main)


@pytest.mark.parametrize("ready", [True, False], ids=["sends", "waits"])
@pytest.mark.parametrize("turns", range(6))
def test_a_kill_right_after_a_stop_breaks_a_stream_of_starlette_as_one_of_ours(
    supervisor, client, turns, ready
):
    """Wherever the kill finds the task group that such a response is sent from."""
    responses = pytest.importorskip("starlette.responses")

    async def app(scope, receive, send):
        async def stream():
            yield b"data: 1\n\n"
            while ready:
                await asyncio.sleep(0)
                yield b"data: 1\n\n"
            await asyncio.sleep(3600)

        response = responses.StreamingResponse(stream(), media_type="text/event-stream")
        await response(scope, receive, send)

    async def main():
        server = Server(wrap(app, client), x_request_id="r")
        server.scope["asgi"]["spec_version"] = "2.3"  # uvicorn's
        server.start()
        await server.sends(b"1")
        context = client.find("r")
        context.stop("engine_dead")
        for _ in range(turns):
            await asyncio.sleep(0)
        context.kill("engine_dead")
        await asyncio.wait({server.task}, timeout=20)
        assert not server.task.cancelled()
        assert isinstance(server.task.exception(), lastcall.Cancelled)
        assert server.error()["type"] == "engine_dead"

    eventually(lambda: client.connected)
    run(main)
