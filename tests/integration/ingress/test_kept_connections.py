"""Clients that keep their connections, while the replicas behind them are stopped and started."""

import os
import signal
import sys
import threading
import time

import pytest
import service_address
from in_time import unless_late
from known_process import monotonic_ms
from kept_load import Service, end, users
from ports import free_port
from prestop_world import SUPERVISOR_HOOK, TOKEN, Call
from raw_engine import chunk, client, get, ok, post, stream
from serve_peer import PATIENCE, wait_until
from serve_world import ENGINE_SIM, is_stopped


@pytest.fixture(params=["iptables", "named"])
def service(request):
    """What its clients connect to: a Service's address, or a name where there can be none."""
    why_not = service_address.why_not()
    if request.param == "named":
        if not why_not:
            pytest.skip("the address is there, and holds for this one, too")
        yield Service()
        return
    if why_not:
        pytest.skip(why_not)
    with service_address.own_network():
        yield service_address.ServiceAddress()


class Replica:
    """One address, at which one supervised engine after the other lives."""

    def __init__(self, world):
        self.world = world
        self.ports = [free_port() for _ in range(3)]  # ingress, probes, engine

    def start(self):
        listen, probes, engine = (f"127.0.0.1:{port}" for port in self.ports)
        self.one = self.world(
            ingress={"listen": listen, "upstream": engine},
            probes={"listen": probes},
            engine={"kind": "vllm", "url": f"http://{engine}"},
            shutdown={"grace_period": "20s", "late_accept": "2s"},
        )
        flags = ("--port", str(self.ports[2]), "--rate", "200")
        self.one.port = self.ports[1]
        self.one.process = self.one.run(sys.executable, ENGINE_SIM, *flags)

    def is_ready(self):
        return self.one.get("/readyz")[0] == 200

    def stop(self):
        self.one.process.send_signal(signal.SIGTERM)
        assert self.one.process.wait(timeout=3 * PATIENCE) == 0
        requests = self.one.report()["requests"]
        assert requests["error"] == requests["lost"] == requests["cancelled"] == 0, requests


class Endpoints(threading.Thread):
    """Follows which replicas are ready, as an endpoint slice does."""

    def __init__(self, service, replicas):
        super().__init__()
        self.service, self.replicas, self.ends = service, replicas, threading.Event()
        self.look()
        self.start()

    def look(self):
        ready = [replica.ports[0] for replica in self.replicas if replica.is_ready()]
        if ready:
            self.service.set_ready(ready)

    def run(self):
        while not self.ends.wait(0.05):
            self.look()


def test_a_rolling_restart_loses_no_request_on_a_kept_connection(world, service):
    replicas = [Replica(world) for _ in range(3)]
    for replica in replicas:
        replica.start()
    for replica in replicas:
        wait_until(replica.is_ready, "it is ready", patience=60)
    endpoints = Endpoints(service, replicas)
    everybody = users(service)
    try:
        for replica in replicas:
            served = sum(user.served for user in everybody)
            wait_until(lambda n=served: sum(user.served for user in everybody) >= n + 50,
                       "answers", patience=60)  # fmt: skip
            replica.stop()
            replica.start()
            wait_until(replica.is_ready, "it is back", patience=60)
    finally:
        end(everybody)
        endpoints.ends.set()
        endpoints.join()
    assert [lost for user in everybody for lost in user.lost] == []
    assert all(user.served for user in everybody)


def kept_users(one, engine):
    """Clients whose connections are idle after an answer."""
    kept = [client(one) for _ in range(8)]
    for user in kept:
        user.send(get())
        wire, _ = engine.request()
        wire.send(ok(b"hello", "Connection: close"))
        user.until(b"hello")
    return kept


def test_a_client_that_connects_while_the_listener_closes_is_answered(proxy, engine):
    """What waits in the kernel's queue when phase 2 ends is not reset."""
    one = proxy()
    user, wire = stream(one, engine)
    one.process.send_signal(signal.SIGTERM)
    one.wait_for_phase("draining")
    pid = one.supervisor_pid()
    os.kill(pid, signal.SIGSTOP)
    late = [client(one) for _ in range(30)]
    for newcomer in late:
        newcomer.send(post(body=b"{}"))
    silent = client(one)
    wire.send(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
    wire.close()  # the last request: phase 3 begins with its end
    os.kill(pid, signal.SIGCONT)
    user.until(b"0\r\n\r\n")
    for newcomer in late:
        answer = newcomer.rest()
        assert answer.startswith(b"HTTP/1.1 503 ") and b'"type":"draining"' in answer, answer
        assert b"\r\nConnection: close\r\n" in answer and b"<reset>" not in answer
    assert silent.rest() == b""
    assert one.process.wait(timeout=PATIENCE) == 0


def test_a_request_on_a_silent_connection_is_answered_when_a_drain_has_ended(proxy, engine):
    one = proxy()
    kept = kept_users(one, engine)
    pid = one.supervisor_pid()
    operator = one.operator()
    operator.ask("drain", exit=False)
    one.wait_for_phase("drained")
    os.kill(pid, signal.SIGSTOP)  # whatever comes next, it is there before it is looked at
    for user in kept:
        user.send(post(body=b"{}"))
    os.kill(pid, signal.SIGCONT)
    for user in kept:
        answer = user.rest()
        assert answer.startswith(b"HTTP/1.1 503 ") and b'"type":"draining"' in answer, answer
        assert b"\r\nConnection: close\r\n" in answer and b"<reset>" not in answer


class Stop:
    """A supervisor without work, whose engine is played by the test."""

    def __init__(self, world, engine, threads):
        port = free_port()
        self.one = one = world(ingress={"listen": f"127.0.0.1:{port}", "upstream": engine.address,
                                        "threads": threads},
                               shutdown={"grace_period": "60s"})  # fmt: skip
        one.ingress_port = port
        one.config["health"]["checks"] = []
        self.serve = one.serve()
        self.shim = one.peer(role="shim", boot="b", run=True, engine={"state": "waiting"})
        self.shim.expect("engine.start")
        self.shim.ask("engine.started", pid=4242, at_ms=monotonic_ms())
        one.wait_for_phase("serving")

    def begin(self):
        self.shim.ask("signal", name="TERM", at_ms=monotonic_ms())
        self.shim.expect("engine.signal", name="TERM")

    def freeze(self):
        self.serve.send_signal(signal.SIGSTOP)
        wait_until(lambda: is_stopped(self.serve.pid), "the supervisor hangs")

    def go_on(self):
        self.serve.send_signal(signal.SIGCONT)

    def engine_ends(self):
        """The core decides nothing after it."""
        self.shim.send("engine.exited", code=0)

    def expect_end(self):
        self.shim.close()
        assert self.serve.wait(timeout=PATIENCE) == 0


def is_refused(answer):
    is_whole = b"\r\nConnection: close\r\n" in answer and b"<reset>" not in answer
    is_draining = answer.startswith(b"HTTP/1.1 503 ") and b'"type":"draining"' in answer
    return is_draining and is_whole


@pytest.mark.parametrize("threads", (1, 3), ids="threads={}".format)
def test_a_request_that_arrives_after_the_last_decision_is_answered(world, engine, threads):
    """The core decides nothing any more, and the process ends as soon as its shim has ended."""
    stop = Stop(world, engine, threads)
    kept = kept_users(stop.one, engine)
    stop.begin()
    stop.freeze()
    stop.engine_ends()  # is read first
    for user in kept:
        user.send(post(body=b"{}"))
    stop.go_on()
    for user in kept:
        answer = user.rest()
        assert is_refused(answer), answer
    stop.shim.expect("exit", code=0)
    stop.expect_end()


def is_too_late(answer):
    is_whole = b"\r\nConnection: close\r\n" in answer and b"<reset>" not in answer
    return answer.startswith(b"HTTP/1.1 408 ") and is_whole


@pytest.mark.parametrize("threads", (1, 3), ids="threads={}".format)
@pytest.mark.parametrize("sent, is_answered", [
    (post(body=b"{}"), is_refused),
    (post(body=b"{}")[:-1], is_refused),
    (post(body=b"{}")[:20], is_too_late),
], ids=["whole", "part of its body", "part of its head"])  # fmt: skip
def test_a_client_that_connects_at_the_end_has_a_moment_to_send_its_request(
    world, engine, threads, sent, is_answered
):
    """Between its connection and its request there is at least the time of one round trip."""
    moment = 0.1

    def attempt():
        stop = Stop(world, engine, threads)
        kept = kept_users(stop.one, engine)
        begin = time.monotonic()
        users = [client(stop.one) for _ in range(8)]
        stop.begin()
        stop.engine_ends()
        assert all(user.ended() for user in kept)  # the supervisor has parted from its clients
        for user in users:
            user.send(sent)
        took = time.monotonic() - begin
        answers = [user.rest() for user in users]
        stop.shim.expect("exit", code=0)
        stop.expect_end()
        return answers, took

    answers, took = unless_late(attempt, lambda result: result[1] > moment, tries=5)
    may_be_none = took > moment  # on a busy machine the requests may have been late each time
    assert all(is_answered(one) or (may_be_none and one == b"") for one in answers), answers


def test_only_the_next_engine_brings_the_listener_back(world, engine):
    """It was not reported whether the pod ends: without an engine there is nothing to relay to."""
    one = world(ingress={"listen": "127.0.0.1:%d" % free_port(), "upstream": engine.address},
                health={"checks": []})  # fmt: skip
    one.ingress_port = int(one.config["ingress"]["listen"].rpartition(":")[2])
    one.serve()
    serving = '"phase begun","phase":"serving"'
    for life in (1, 2):
        shim = one.shim("/bin/sleep", "3600")
        one.wait_for_log(serving, count=life)
        user = client(one)
        user.send(get())
        wire, _ = engine.request()
        wire.send(ok(b"hello", "Connection: close"))
        user.until(b"hello")
        shim.send_signal(signal.SIGTERM)
        assert shim.wait(timeout=PATIENCE) == 0
        one.wait_for_log('"phase begun","phase":"starting"', count=life)
        with pytest.raises(ConnectionRefusedError):
            client(one)


def test_a_pod_that_is_being_deleted_does_not_listen_again(world, engine):
    """Its engine has been stopped, and the next one never comes."""
    listen, hooks = free_port(), free_port()
    one = world(ingress={"listen": f"127.0.0.1:{listen}", "upstream": engine.address},
                lifecycle={"enabled": True, "listen": f"127.0.0.1:{hooks}", "token": TOKEN},
                health={"checks": []})  # fmt: skip
    one.ingress_port = listen
    one.serve()
    shim = one.shim("/bin/sleep", "3600")
    one.wait_for_log('"phase begun","phase":"serving"')
    call = Call(hooks, SUPERVISOR_HOOK, TOKEN)
    call.start()
    call.result()
    shim.send_signal(signal.SIGTERM)
    assert shim.wait(timeout=PATIENCE) == 0
    one.wait_for_log('"phase begun","phase":"starting"')  # again
    try:
        client(one).close()
    except ConnectionRefusedError:
        return
    raise AssertionError("it listens again")
