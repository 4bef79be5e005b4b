"""What the supervisor asks of the process, and what the process reports about itself."""

import asyncio
import threading
import time

import pytest
from strict_supervisor import FakeSupervisor, eventually

import lastcall


def test_health_is_answered_by_the_worst_callback(supervisor, client):
    eventually(lambda: client.connected)
    supervisor.send("health.check")
    assert supervisor.wait("health")["status"] == "healthy"
    client.on_health(lambda: True)
    client.on_health(lambda: ("busy", "long prefill"))
    supervisor.send("health.check", seq=1)
    assert supervisor.wait("health", 2) == {
        "op": "health", "status": "busy", "detail": "long prefill",
    }  # fmt: skip

    @client.on_health
    def broken():
        raise RuntimeError("CUDA error: " + "x" * 200_000)

    supervisor.send("health.check")
    answer = supervisor.wait("health", 3)
    assert answer["status"] == "dead"
    assert "CUDA error" not in answer["detail"] and answer["detail"].startswith("[...]")


def test_a_hanging_health_callback_delays_neither_cancel_nor_cleanup(supervisor, client):
    eventually(lambda: client.connected)
    release = threading.Event()
    asked = []
    client.on_health(lambda: asked.append(1) or release.wait(30))
    cleaned = []
    client.on_cleanup(cleaned.append)
    context = client.begin("r")
    supervisor.wait("request.begin")
    for _ in range(3):
        supervisor.send("health.check")
    supervisor.cancel("r", mode="kill", reason="engine_dead")
    assert context.wait_stopped(10)
    supervisor.send("cleanup", deadline_at_ms=int(time.monotonic() * 1000) + 5000)
    supervisor.wait("cleanup.done")
    assert 0 < cleaned[0] <= 5
    assert supervisor.all("health") == []
    release.set()
    supervisor.wait("health")
    assert asked == [1]


def test_a_coroutine_callback_runs_on_the_loop_it_was_registered_on(supervisor, client):
    async def main():
        loops = []

        @client.on_cleanup
        async def cleanup(seconds):
            loops.append(asyncio.get_running_loop())

        supervisor.send("cleanup", deadline_at_ms=0)
        await asyncio.to_thread(supervisor.wait, "cleanup.done")
        assert loops == [asyncio.get_running_loop()]

    eventually(lambda: client.connected)
    asyncio.run(main())


def test_a_function_that_returns_a_coroutine_is_a_callback_too(supervisor, client):
    async def main():
        loops = []

        async def note(answer):
            loops.append(asyncio.get_running_loop())
            return answer

        client.on_health(lambda: note(("busy", "long prefill")))
        client.on_cleanup(lambda seconds: note(None))
        supervisor.send("health.check")
        answer = await asyncio.to_thread(supervisor.wait, "health")
        assert answer == {"op": "health", "status": "busy", "detail": "long prefill"}
        supervisor.send("cleanup", deadline_at_ms=0)
        await asyncio.to_thread(supervisor.wait, "cleanup.done")
        assert loops == [asyncio.get_running_loop()] * 2

    eventually(lambda: client.connected)
    asyncio.run(main())


def test_deregister_is_confirmed_after_the_callbacks(supervisor, client):
    eventually(lambda: client.connected)
    client.on_deregister(lambda: 1 / 0)
    called = []
    client.on_deregister(lambda: called.append(supervisor.all("deregistered")))
    supervisor.send("deregister", seq=9)
    supervisor.wait("deregistered")
    assert called == [[]]


def test_a_deregister_callback_is_announced_now_and_in_each_greeting(supervisor, client):
    eventually(lambda: client.connected)
    assert supervisor.all("registered") == []
    client.on_deregister(lambda: None)
    supervisor.wait("registered")
    client.register_endpoint("generate")
    supervisor.wait("endpoint.register")
    supervisor.hang_up()
    supervisor.wait("endpoint.register", 2)
    assert supervisor.ops(2) == ["hello", "registered", "endpoint.register"]


def test_phases_are_reported_in_order_and_the_deadline_is_kept(supervisor, client):
    phases = []
    client.on_phase(phases.append)
    eventually(lambda: client.connected)
    assert client.time_left() is None
    deadline = int(time.monotonic() * 1000) + 30_000
    for phase in ("deregistering", "draining", "draining"):
        supervisor.send("phase", phase=phase, deadline_at_ms=deadline)
    eventually(lambda: client.draining)
    assert 0 < client.time_left() <= 30
    supervisor.send("phase", phase="serving")
    eventually(lambda: phases[-3:] == ["deregistering", "draining", "serving"])
    assert client.time_left() is None


def test_fatal_carries_the_traceback_and_is_acknowledged(supervisor, client):
    eventually(lambda: client.connected)
    try:
        raise RuntimeError("EngineDeadError")
    except RuntimeError:
        assert client.report_fatal("engine core died") is True
    fatal = supervisor.wait("fatal")
    assert fatal["reason"] == "engine core died"
    assert 'raise RuntimeError("EngineDeadError")' in fatal["detail"]
    assert client.report_fatal("again") is True
    assert len(supervisor.all("fatal")) == 1


def test_fatal_takes_an_exception_as_its_reason(supervisor, client):
    eventually(lambda: client.connected)
    assert client.report_fatal(RuntimeError("CUDA error"), OSError("gone"), timeout=10)
    fatal = supervisor.wait("fatal")
    assert (fatal["reason"], fatal["detail"]) == ("CUDA error", "gone")


def test_fatal_waits_for_the_supervisor_to_come_back(path, client):
    assert client.report_fatal("dead", "detail", timeout=0) is False
    with FakeSupervisor(path) as fake:
        assert fake.wait("fatal")["detail"] == "detail"


def test_load_is_reported(supervisor, client):
    eventually(lambda: client.connected)
    client.report_load(dp_rank=1, active_decode_blocks=3, kv_total_blocks=10)
    assert supervisor.wait("load") == {
        "op": "load", "dp_rank": 1, "active_decode_blocks": 3, "kv_total_blocks": 10,
    }  # fmt: skip


class Numpys:
    """Like an integer of numpy or torch, which json cannot encode."""

    def __index__(self):
        return 7


def test_any_whole_number_is_a_load_and_nothing_else_is(supervisor, client):
    eventually(lambda: client.connected)
    for bad in (0.5, -1, 10**15 + 1, "7"):
        with pytest.raises(lastcall.InvalidArgument, match="cannot use the kv_total_blocks"):
            client.report_load(kv_total_blocks=bad)
    client.report_load(kv_total_blocks=Numpys())
    assert supervisor.wait("load") == {"op": "load", "dp_rank": 0, "kv_total_blocks": 7}


def test_the_threads_of_a_client_end_with_it(supervisor, make_client):
    others = set(threading.enumerate())
    client = make_client()
    client.on_phase(lambda _: None)
    eventually(lambda: client.connected)
    supervisor.send("health.check")
    supervisor.wait("health")
    eventually(lambda: {"lastcall-phase", "lastcall-health"} <= names(others))
    client.close()
    eventually(lambda: not {each for each in names(others) if each.startswith("lastcall")})


def names(others):
    return {each.name for each in set(threading.enumerate()) - others}
