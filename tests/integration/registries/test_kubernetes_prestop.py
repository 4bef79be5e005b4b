"""preStop mode beside an API server that reports how long the deleted pod may take."""

import contextlib
import os
import signal
import sys
import time

import pytest
from certificates import Authority
from prestop_world import SUPERVISOR_HOOK, PrestopWorld
from serve_peer import PATIENCE, wait_until

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../helpers"))
from api_server_sim import NAMESPACE, POD, UID, ApiServer, slice_of  # noqa: E402


@pytest.fixture
def api(tmp_path):
    authority = Authority(tmp_path)
    server = ApiServer(authority.server_context("api"), "token-1")
    server.authority = authority
    with contextlib.closing(server):
        yield server


def world_beside(api, directory):
    (directory / "token").write_text("token-1\n")
    registry = {
        "api_server": api.url,
        "ca_file": api.authority.certificate,
        "token_file": str(directory / "token"),
    }
    # Nothing reports what is in flight: the drain lasts until its bound.
    return PrestopWorld(
        directory, engine={"kind": "custom"}, discovery=[{"kubernetes": registry}],
        shutdown={"grace_period": "60s", "cleanup_reserve": "5s", "drain_unknown": "60s"},
    )  # fmt: skip


def returns_within(world):
    """Milliseconds; 0 while no call is held."""
    return world.status().get("prestop", {}).get("returns_within_ms", 0)


def limits(world):
    """The earliest and the latest instant that the hook's limit may be, as far as one can ask."""
    before = time.monotonic() * 1000
    within = returns_within(world)
    return before + within - 2, time.monotonic() * 1000 + within + 2


def test_a_restarted_supervisor_keeps_a_call_to_the_grace_that_an_earlier_one_read(api, tmp_path):
    who = {"POD_NAME": POD, "POD_NAMESPACE": NAMESPACE, "LASTCALL_POD_UID": UID}
    api.put_slice(slice_of("a", ready=True))
    with contextlib.closing(world_beside(api, tmp_path)) as world:
        world.begin(**who)
        world.wait_for_log('"state":"registered"')
        api.delete_pod(grace=40)
        world.call(SUPERVISOR_HOOK).result()
        world.call()
        # 40 s less 2 s for the kubelet and 5 s of reserve; without them it would be 55 s.
        wait_until(lambda: 0 < returns_within(world) <= 33_000, "the grace was read")
        api.close()  # so that only the first life can have read it
        _, latest = limits(world)
        world.supervisor.send_signal(signal.SIGKILL)
        assert world.supervisor.wait(PATIENCE) == -signal.SIGKILL
        world.serve(**who)
        # Until it listens; calls share one drain.
        wait_until(lambda: world.call() and returns_within(world) > 0, "a call is held again")
        earliest, _ = limits(world)
        assert earliest <= latest
