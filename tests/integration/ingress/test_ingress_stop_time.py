"""How long a stop takes that the ingress knows all about, and what it gives to requests."""

import os
import signal

import pytest
from ports import free_port
from raw_engine import chunk, stream
from serve_peer import PATIENCE, wait_until
from serve_stream import Stream
from serve_world import SLEEPER


def loading(world, engine, **config):
    """A supervisor whose engine's check has not passed yet, and an engine that streams anyway."""
    one = world(**config)
    port = free_port()
    one.ingress_port = port
    one.config["ingress"] = {"listen": f"127.0.0.1:{port}", "upstream": engine.address}
    one.config["health"]["checks"] = [
        {"name": "never", "tcp": {"address": f"127.0.0.1:{free_port()}"}}
    ]
    one.process = one.run(*SLEEPER)
    one.wait_for_log('"engine started"')
    return one


def test_a_stop_while_starting_drains_a_stream_that_is_in_flight(world, engine):
    one = loading(world, engine, shutdown={"grace_period": "60s"})
    user, wire = stream(one, engine)
    one.process.send_signal(signal.SIGTERM)
    one.wait_for_phase("draining")
    wire.send(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
    wire.close()
    assert b"[DONE]" in user.until(b"0\r\n\r\n")
    assert one.process.wait(timeout=PATIENCE) == 0
    report = one.report()
    assert report["requests"]["completed"] == 1
    assert report["phases"]["draining"]["outcome"] == "completed"
    assert report["stopped_in_starting"] is False


@pytest.mark.parametrize("reserve", ["0s", "100ms"])
def test_streams_are_notified_before_their_engine_ends_however_short_the_reserve(world, reserve):
    engine, listen = free_port(), free_port()
    one = world(ingress={"listen": f"127.0.0.1:{listen}", "upstream": f"127.0.0.1:{engine}"},
                shutdown={"grace_period": "6s", "cleanup_reserve": reserve})  # fmt: skip
    one.run_engine("--rate", "50", port=engine)  # its TERM cuts what runs
    streams = [Stream(listen, 100_000) for _ in range(4)]
    wait_until(lambda: all("data: " in each.text for each in streams), "they run")
    one.process.send_signal(signal.SIGTERM)
    assert one.process.wait(timeout=PATIENCE) == 0
    for text in (each.finished() for each in streams):
        last = text.rpartition("event: error")[2]
        assert '"type":"migrated"' in last and '"reason":"grace_timeout"' in last, text[-500:]
    assert one.report()["requests"]["migrated"] == 4


def test_a_container_that_is_killed_in_its_stop_had_no_time_left_and_did_not_fail(world, engine):
    """As by a kubelet whose grace is shorter than ours, which was not reported to us."""
    one = world(shutdown={"grace_period": "60s"})
    one.ingress_port = free_port()
    one.config["ingress"] = {"listen": f"127.0.0.1:{one.ingress_port}", "upstream": engine.address}
    one.config["health"]["checks"] = []
    one.serve()
    wait_until(lambda: os.path.exists(one.socket), "the socket")
    shim = one.shim(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    user, wire = stream(one, engine)
    shim.send_signal(signal.SIGTERM)
    one.wait_for_phase("draining")
    shim.kill()
    last = user.rest()
    assert b'{"error":{"type":"migrated"' in last and b'"reason":"grace_timeout"' in last, last
    assert wire.ended()
    wait_until(one.reports, "the report")
    assert one.report()["requests"]["migrated"] == 1
    assert "grace may be shorter" in one.log()


def test_an_idle_pod_that_never_relayed_does_not_wait_for_what_is_unknown(proxy):
    one = proxy(shutdown={"grace_period": "60s"})
    one.process.send_signal(signal.SIGTERM)
    assert one.process.wait(timeout=PATIENCE) == 0
    report = one.report()
    assert report["in_flight"] == "ingress"
    assert report["phases"]["draining"] == {"outcome": "completed", "ms": 0}


def test_an_ingress_beside_other_ways_in_proves_nothing_before_it_relayed(proxy):
    one = proxy(shutdown={"grace_period": "60s", "drain_unknown": "700ms"},
                ingress={"exclusive": False})  # fmt: skip
    one.process.send_signal(signal.SIGTERM)
    assert one.process.wait(timeout=PATIENCE) == 0
    report = one.report()
    assert report["in_flight"] == "unknown"
    assert report["phases"]["draining"]["ms"] >= 700


def test_late_accept_is_honoured_in_a_short_grace_that_a_registry_leaves_unused(proxy, tmp_path):
    one = proxy(shutdown={"grace_period": "8s", "late_accept": "1s", "deregister_timeout": "5s"},
                identity={"advertise": "http://10.0.0.7:8000"},
                discovery=[{"file": {"directory": str(tmp_path)}}])  # fmt: skip
    one.process.send_signal(signal.SIGTERM)
    assert one.process.wait(timeout=PATIENCE) == 0
    phase = one.report()["phases"]["deregistering"]
    assert phase["outcome"] == "completed" and phase["ms"] >= 1000
