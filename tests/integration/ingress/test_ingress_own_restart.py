"""A supervisor beside a shim of another container that is restarted: its ingress ends in order."""

import select
import signal

import pytest
from ports import free_port
from raw_engine import chunk, client, ok, post, stream
from serve_peer import PATIENCE, wait_until
from serve_world import SLEEPER

THREADS = (1, 3)


@pytest.fixture
def beside(world, engine, threads):
    def make(**shutdown):
        port = free_port()
        one = world(
            ingress={"listen": f"127.0.0.1:{port}", "upstream": engine.address,
                     "threads": threads},  # fmt: skip
            shutdown={"grace_period": "60s", **shutdown},
        )
        one.ingress_port = port
        one.config["health"]["checks"] = []
        one.process = one.serve()
        one.engine_shim = one.shim(*SLEEPER)
        one.wait_for_phase("serving")
        return one

    return make


def is_refused(one, engine):
    """Whether a late request is; one that is not is served."""
    before = engine.connections()
    late = client(one)
    late.send(post())

    def is_decided():
        return engine.connections() > before or select.select([late.socket], [], [], 0)[0]

    wait_until(is_decided, "the request is served or refused")
    if engine.connections() > before:
        wire, _ = engine.request()
        wire.until(b"}")
        wire.send(ok(b"hello", "Connection: close"))
        late.until(b"hello")
        return False
    assert b"X-Lastcall-Reason: draining" in late.rest()
    return True


def test_it_drains_its_ingress_and_leaves_the_engine_alone(beside, engine):
    one = beside()
    user, wire = stream(one, engine)
    one.process.send_signal(signal.SIGTERM)
    wait_until(lambda: is_refused(one, engine), "refusals")
    assert one.process.poll() is None, "a stream still runs"
    assert one.status()["phase"] == "serving"
    wire.send(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
    assert b"[DONE]" in user.until(b"0\r\n\r\n")
    assert one.process.wait(timeout=PATIENCE) == 0
    assert one.engine_shim.poll() is None, "the engine goes on"
    assert one.reports() == []
    one.process = one.serve()
    one.wait_for_phase("serving")


def test_its_probe_fails_while_it_still_serves(beside, engine):
    """Its own signal is no evidence of a deletion: only the probe takes it out of a Service."""
    one = beside()
    user, _ = stream(one, engine)
    one.process.send_signal(signal.SIGTERM)
    wait_until(lambda: one.get("/readyz")[0] == 503, "not ready any more")
    assert not is_refused(one, engine)
    user.close()
    assert one.process.wait(timeout=PATIENCE) == 0


def test_streams_that_do_not_end_in_time_are_sent_elsewhere(beside, engine):
    one = beside(grace_period="5s", cleanup_reserve="1s")
    user, wire = stream(one, engine)
    one.process.send_signal(signal.SIGTERM)
    last = user.rest()
    assert b'"type":"migrated"' in last and not last.endswith(b"0\r\n\r\n")
    assert wire.ended()
    assert one.process.wait(timeout=PATIENCE) == 0
    assert one.engine_shim.poll() is None


def test_a_signal_of_the_shim_makes_it_a_stop_all_the_same(beside, engine):
    one = beside()
    user, wire = stream(one, engine)
    one.process.send_signal(signal.SIGTERM)
    wait_until(lambda: is_refused(one, engine), "refusals")
    one.engine_shim.send_signal(signal.SIGTERM)
    one.wait_for_log('"phase begun","phase":"draining"')
    wire.send(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
    assert b"[DONE]" in user.until(b"0\r\n\r\n")
    assert one.engine_shim.wait(timeout=PATIENCE) == 0
    assert one.process.wait(timeout=PATIENCE) == 0
