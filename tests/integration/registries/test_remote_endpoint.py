"""lastcall.remote against its real counterpart: an instance that etcd names, behind its ingress."""

import asyncio
import logging
import os
import sys

import pytest
from ports import free_port
from registry_world import etcd_world
from serve_peer import PATIENCE, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "../../.."))
sys.path += [os.path.join(HERE, "../sdk"), os.path.join(ROOT, "sdk/python")]

pytest.importorskip("uvicorn")

import lastcall  # noqa: E402
from asgi_world import live, metric, start  # noqa: E402
from lastcall.remote import Endpoint, NoInstance  # noqa: E402


@pytest.fixture
def instance(world, etcd):
    """A pod whose engine has the middleware, behind its ingress, registered in etcd."""
    listen = free_port()
    one = etcd_world(
        world, etcd, ingress={"listen": f"127.0.0.1:{listen}"},
        identity={"namespace": "dynamo", "component": "prefill",
                  "advertise": f"http://127.0.0.1:{listen}"},
    )  # fmt: skip
    one.process = start(one)
    etcd.wait_for_key()
    return one


def endpoint(etcd):
    return Endpoint("dynamo.prefill.generate", etcd=etcd.urls, path="/v1/chat/completions")


def body(tokens):
    return {"model": "Qwen", "stream": True, "max_tokens": tokens}


def run(main):
    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def test_a_call_finds_its_instance_and_brings_the_answer(instance, etcd):
    async def main():
        stream = await endpoint(etcd).generate(body(3))
        items = [item async for item in stream]
        assert len(items) == 3
        assert stream.instance.url == instance.config["identity"]["advertise"]

    run(main)
    wait_until(lambda: metric(instance, "lastcall_requests_total", outcome="completed") > 0)


def test_a_stop_of_the_caller_is_a_stop_behind_the_ingress(instance, etcd, caplog):
    caplog.set_level(logging.DEBUG, "lastcall")

    async def main():
        caller = lastcall.Context("user-1")
        stream = await endpoint(etcd).generate(body(10**6), context=caller)
        await stream.__anext__()
        caller.stop_generating()
        with pytest.raises(lastcall.Cancelled):
            async for _ in stream:
                pass

    run(main)
    wait_until(lambda: not live(instance), "it has ended")
    # The engine took the stop. It and the ingress worked on one request, of the caller's user.
    assert "cannot send a stop" not in caplog.text
    assert metric(instance, "lastcall_cancels_total") <= 1
    assert metric(instance, "lastcall_requests_total", outcome="cancelled") == 1
    assert metric(instance, "dynamo_frontend_model_cancellation_total") == 0


def test_an_instance_that_was_stopped_is_not_called_any_more(instance, etcd):
    async def main():
        one = endpoint(etcd)
        assert len([item async for item in await one.generate(body(1))]) == 1
        instance.process.terminate()
        await asyncio.to_thread(instance.process.wait, PATIENCE)
        with pytest.raises(NoInstance):
            await one.generate(body(1))

    run(main)
