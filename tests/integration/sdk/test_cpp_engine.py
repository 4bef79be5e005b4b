"""examples/cpp_engine, built as its users build it: against an installed SDK, in both ways."""

import asyncio
import json
import os
import shutil
import signal
import subprocess

import pytest
from asgi_world import ROOT, Call, ask, metric, wait_until_live
from cpp_build import call, settings
from ports import free_port
from serve_peer import PATIENCE, wait_until

import lastcall
from lastcall.remote import Endpoint

EXAMPLE = os.path.join(ROOT, "examples", "cpp_engine")


@pytest.fixture(scope="module", params=["find_package", "pkg-config"])
def program(request, prefix, tmp_path_factory):
    where = str(tmp_path_factory.mktemp("build"))
    compiler, flags = settings()
    environment = {**os.environ, "CXX": compiler, "CXXFLAGS": flags}
    if request.param == "find_package":
        call("cmake", "-S", EXAMPLE, "-B", where, f"-DCMAKE_PREFIX_PATH={prefix}", env=environment)
        call("cmake", "--build", where)
    else:
        shutil.copytree(EXAMPLE, where, dirs_exist_ok=True)
        [found] = [folder for folder, _, files in os.walk(prefix) if "lastcall.pc" in files]
        call("make", "-C", where, env={**environment, "PKG_CONFIG_PATH": found})
    return os.path.join(where, "cpp_engine")


@pytest.fixture
def engine(world, program):
    """It serves below `lastcall run`; what every way of building it gives."""
    one = world()
    one.engine_port = free_port()
    one.config["engine"] = {"kind": "custom"}
    url = f"http://127.0.0.1:{one.engine_port}/health"
    one.config["health"]["checks"] = [
        {"name": "engine", "http": {"url": url}, "timeout": "5s"},
        {"name": "sdk", "ipc": {}, "timeout": "5s"},
    ]
    one.process = one.run(program, str(one.engine_port))
    one.wait_for_log('"phase begun","phase":"serving"')
    return one


def stream(one, request_id, tokens=10**6):
    return Call(one.engine_port, request_id, path="/v1/completions", tokens=tokens)


def test_it_streams_is_cancelled_notices_clients_that_leave_and_drains(engine):
    one = engine
    whole = stream(one, "whole", tokens=3)
    whole.answer()
    text, broken = whole.rest()
    assert text.count(b"data: token") == 3 and text.endswith(b"data: [DONE]\n\n") and not broken

    cancelled = stream(one, "cancelled").first_token()
    assert wait_until_live(one, "cancelled")["endpoint"] == "completions"
    one.operator().ask("cancel", root="cancelled", mode="stop")
    text, broken = cancelled.rest()
    assert broken and b"event: error" in text and b"[DONE]" not in text
    error = cancelled.error()
    assert error == {**error, "type": "cancelled", "request_id": "cancelled", "retryable": False,
                     "events_sent": text.count(b"data: token")}  # fmt: skip

    stream(one, "left").first_token().leave()
    wait_until(lambda: metric(one, "lastcall_cancels_total", reason="client_disconnect") == 1)
    assert metric(one, "lastcall_cancels_total") == 2

    last = stream(one, "last").first_token()
    one.process.send_signal(signal.SIGTERM)
    one.wait_for_log('"phase begun","phase":"draining"')
    refused = stream(one, "late").answer()
    assert (refused.status, refused.headers["X-Lastcall-Reason"]) == (503, "draining")
    assert json.loads(refused.read())["error"]["type"] == "draining"
    text, broken = last.rest()
    assert broken and (last.error()["type"], last.error()["retryable"]) == ("migrated", True)
    assert one.process.wait(PATIENCE) == 0
    assert one.report()["requests"]["migrated"] == 1


def test_a_stop_of_a_tier_above_is_a_stop_and_a_closed_connection_a_kill(engine):
    """The tier above is one of the Python SDK."""
    one = engine

    async def one_token(parent, then):
        called = Endpoint("dynamo.decode.completions", urls=[f"http://127.0.0.1:{one.engine_port}"])
        stream = await called.generate({"max_tokens": 10**6}, context=parent)
        await asyncio.to_thread(
            wait_until, lambda: one.operator().ask("requests")["requests"], "it runs"
        )
        [request] = one.operator().ask("requests")["requests"]
        assert (request["root"], request["id"]) == ("user", stream.context.id())
        then()
        with pytest.raises(lastcall.Cancelled):
            async for _ in stream:
                pass

    for mode, reason in (("stop", "parent"), ("kill", "client_disconnect")):
        parent = lastcall.Context("caller", root="user")
        asyncio.run(one_token(parent, getattr(parent, mode)))
        wait_until(lambda r=reason: metric(one, "lastcall_cancels_total", reason=r) == 1)
        wait_until(lambda: not one.operator().ask("requests")["requests"], "it has ended")
    assert metric(one, "lastcall_cancels_total") == 2


def test_it_survives_a_restart_of_the_supervisor(engine):
    one = engine
    kept = stream(one, "kept").first_token()
    wait_until_live(one, "kept")
    before = one.supervisor_pid()
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: one.supervisor_pid() not in (0, before), "another supervisor")
    one.wait_for_phase("serving")
    wait_until_live(one, "kept")
    one.operator().ask("cancel", root="kept", mode="stop")
    assert kept.rest()[1] and kept.error()["type"] == "cancelled"


def test_without_a_supervisor_it_runs_unchanged(program):
    environment = {key: text for key, text in os.environ.items() if key != "LASTCALL_SOCKET"}
    port = free_port()
    with subprocess.Popen([program, str(port)], env=environment, stderr=subprocess.PIPE,
                          text=True) as process:  # fmt: skip
        assert process.stderr.readline().startswith("cpp_engine serves")
        assert ask(port, "/health") == {}
        whole = Call(port, "r", path="/v1/completions", tokens=2)
        whole.answer()
        assert whole.rest()[0].count(b"data: token") == 2
        process.kill()
