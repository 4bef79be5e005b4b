"""Three supervised engines behind one HAProxy are restarted in turn while users ask."""

import json
import signal
import socket
import sys

import pytest
from completions_load import Load
from haproxy import HAPROXY, HAProxy
from ports import free_port
from raw_engine import Wire, post
from serve_peer import PATIENCE, wait_until
from serve_world import ENGINE_SIM

pytestmark = pytest.mark.skipif(HAPROXY is None, reason="haproxy is not installed")

RATE = 50  # tokens a second
SHORT, ENDLESS = 10, 100_000
USERS = [
    *[("stream", SHORT, True, False)] * 4,
    *[("unary", SHORT, False, False)] * 2,
    *[("endless", ENDLESS, True, True)] * 3,
]


class Replica:
    """One address, at which one supervised engine after the other lives."""

    def __init__(self, world):
        self.world = world
        self.ports = [free_port() for _ in range(3)]  # ingress, probes, engine
        self.address = f"127.0.0.1:{self.ports[0]}"
        self.lives = []

    def start(self):
        listen, probes, engine = (f"127.0.0.1:{port}" for port in self.ports)
        one = self.world(
            ingress={"listen": listen, "upstream": engine},
            probes={"listen": probes},
            engine={"kind": "vllm", "url": f"http://{engine}"},
            # What runs is cut after 5.2 s; 2.5 s are left to an engine that has its TERM.
            shutdown={"grace_period": "9s", "late_accept": "1s", "cleanup_reserve": "3500ms"},
        )
        flags = ("--port", str(self.ports[2]), "--rate", str(RATE), "--trace", one.path("trace"))
        one.process = one.run(sys.executable, ENGINE_SIM, *flags)
        self.lives.append(one)

    def stop(self):
        """How the requests ended that were in flight."""
        one = self.lives[-1]
        one.process.send_signal(signal.SIGTERM)
        assert one.process.wait(timeout=3 * PATIENCE) == 0
        return one.report()["requests"]

    def requests(self):
        """{id: whether it was whole}, of all that any engine here has ended."""
        found = {}
        for one in self.lives:
            with open(one.path("trace"), encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
            found.update({line["id"]: line["outcome"] == "completed" for line in lines
                          if line["event"] == "end"})  # fmt: skip
        return found


def test_a_rolling_restart_loses_no_request_that_had_room_to_finish(world, tmp_path):
    replicas = [Replica(world) for _ in range(3)]
    for replica in replicas:
        replica.start()
    front = HAProxy(str(tmp_path), [(one.address, one.ports[1]) for one in replicas])
    load, migrated = None, 0
    try:
        wait_until(lambda: all(map(front.is_up, ("s0", "s1", "s2"))), "all are up", patience=60)
        load = Load(front.port, USERS)
        for number, replica in enumerate(replicas):
            answered = len(load.ended)
            wait_until(lambda n=answered: len(load.ended) >= n + 20, "answers", patience=60)
            in_drain = replica.stop()
            migrated += in_drain["migrated"]
            assert in_drain["cancelled"] == in_drain["error"] == in_drain["lost"] == 0
            replica.start()
            wait_until(lambda n=number: front.is_up(f"s{n}"), "it is back", patience=60)
        load.end()
        for replica in replicas:
            replica.stop()
    finally:
        if load is not None:
            load.end()
        front.close()
    assert load.wrong == []
    assert load.ways("stream") == load.ways("unary") == {"completed"}
    assert load.ways("endless") == {"migrated", "left"}
    assert len(load.ids("migrated")) == migrated
    # Each request was one engine's and ended there as its user saw it end.
    seen = {request: whole for one in replicas for request, whole in one.requests().items()}
    assert {request for request, whole in seen.items() if whole} == load.ids("completed")
    assert {request for request, whole in seen.items() if not whole} == load.ids("migrated", "left")


@pytest.mark.parametrize("body", [b'{"stream":true}', b"{}"], ids=["stream", "unary"])
def test_a_client_that_leaves_haproxy_before_its_answer_has_left_the_engine(
    proxy, engine, tmp_path, body
):
    one = proxy()
    front = HAProxy(str(tmp_path), [(f"127.0.0.1:{one.ingress_port}", one.port)])
    try:
        wait_until(lambda: front.is_up("s0"), "it is up")
        user = Wire(socket.create_connection(("127.0.0.1", front.port)))
        user.send(post(body=body))
        wire, _ = engine.request()
        wire.exactly(len(body))
        user.close()
        assert wire.ended()
    finally:
        front.close()
    wait_until(lambda: one.status()["in_flight"]["requests"] == 0, "it has ended")
