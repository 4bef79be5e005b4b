"""preStop mode: the hooks as the kubelet calls them, beside an unmodified engine."""

import http.client
import re
import shutil
import socket
import subprocess
import sys

import pytest
from hostile_heads import each_is_answered
from prestop_world import ENGINE_HOOK, SUPERVISOR_HOOK, TOKEN, PrestopWorld
from serve_peer import PATIENCE, PeerError, wait_until
from serve_stream import Stream, call
from serve_world import LASTCALL


@pytest.fixture
def prestop(tmp_path):
    worlds = []

    def make(**config):
        worlds.append(PrestopWorld(tmp_path, **config))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


def status_text(world):
    command = [LASTCALL, "status", "--admin-socket", world.admin_socket]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def busy(world):
    """A request in flight that ends only when it is asked to."""
    peer = world.peer(role="engine", name="worker")
    peer.send("endpoint.register", endpoint="generate", graceful_shutdown=True)
    peer.send("request.begin", id="r1", endpoint="generate")
    wait_until(lambda: world.status()["in_flight"]["requests"] == 1, "a request is in flight")
    return peer


def end(peer):
    peer.send("request.end", id="r1", outcome="completed")


def test_a_deleted_pod_holds_the_engines_stop_signal_until_its_requests_are_done(prestop):
    world = prestop(shutdown={"grace_period": "60s"})
    world.begin()
    peer = busy(world)
    # With the slash that older kubelets put before a path.
    assert world.call("/" + SUPERVISOR_HOOK).result()["why"] == "recorded"
    call = world.call("/" + ENGINE_HOOK)
    world.wait_for_phase("draining")
    assert call.is_alive()
    status = world.status()
    assert status["prestop"]["waits"] and status["prestop"]["deletion"]
    assert re.search(r"^preStop +called .* ago, the pod is being deleted, returns within ",
                     status_text(world), re.MULTILINE)  # fmt: skip
    end(peer)
    assert call.result()["why"] == "drained"
    world.end_engine()
    assert world.status()["phase"] == "drained"
    world.supervisor.terminate()
    assert world.supervisor.wait(PATIENCE) == 0
    report = world.report()
    assert report["cause"] == "own_signal" and report["exit_code"] == 0
    assert report["phases"]["draining"]["outcome"] == "completed"


def test_evidence_in_the_drain_lets_a_call_outlive_a_container_restart(prestop):
    world = prestop(shutdown={"grace_period": "60s"})
    world.begin()
    peer = busy(world)
    call = world.call()
    world.wait_for_call()
    assert world.status()["prestop"]["returns_within_ms"] <= 5000
    world.call(SUPERVISOR_HOOK).result()
    assert world.status()["prestop"]["returns_within_ms"] > 5000
    end(peer)
    assert call.result()["why"] == "drained"


def test_a_call_is_held_by_a_request_that_the_gauges_do_not_show_yet(prestop):
    """Its prefill started from idle: only a token of our own proves that nothing is left."""
    world = prestop(shutdown={"grace_period": "60s", "drain_unknown": "30s"},
                    engine={"metrics": {"refresh": "200ms"}})  # fmt: skip
    world.begin("--late-gauges", "--prefill", "4", "--rate", "40")
    stream = Stream(world.engine_port, 20)
    state = lambda: call(world.engine_port, "GET", "/sim/state")  # noqa: E731
    wait_until(lambda: state()["running"] == 1, "its prefill")
    world.call(SUPERVISOR_HOOK).result()
    body = world.call().result()
    assert body["why"] == "drained" and body["held_ms"] >= 2_000
    world.end_engine()
    text = stream.finished()
    assert "t19" in text and "[DONE]" in text
    world.supervisor.terminate()
    assert world.supervisor.wait(PATIENCE) == 0
    report = world.report()
    assert report["in_flight"] == "gauges" and "in_flight_at_end" not in report


def test_a_call_returns_at_the_reserve_however_long_requests_run(prestop):
    world = prestop(shutdown={"grace_period": "6s", "cleanup_reserve": "3s"})
    world.begin()
    busy(world)
    world.call(SUPERVISOR_HOOK).result()
    body = world.call().result()
    assert body["why"] == "time is up"
    assert 2500 <= body["held_ms"] < 5500


def test_resume_is_refused_while_the_pod_is_being_deleted(prestop):
    world = prestop(shutdown={"grace_period": "60s"})
    world.begin()
    busy(world)
    world.call(SUPERVISOR_HOOK).result()
    world.call()
    world.wait_for_call()
    with pytest.raises(PeerError, match="preStop") as refused:
        world.operator().ask("resume")
    assert refused.value.code == "conflict"


def test_a_restarted_container_serves_again_when_another_engine_is_there(prestop):
    world = prestop()
    world.begin()
    call = world.call()
    assert call.result()["held_ms"] <= 5000
    world.wait_for_phase("starting")
    world.end_engine()
    world.wait_for_log('"stopped waiting for another engine","why":"its port refused a connection"')
    assert world.status()["phase"] == "starting"
    world.engine()
    world.wait_for_phase("serving")
    assert world.reports() == []


def test_the_same_engine_does_not_serve_again(prestop):
    world = prestop()
    world.begin()
    world.call().result()
    world.wait_for_phase("starting")
    checks = world.status()["health"]["checks"][0]
    assert checks["state"] == "passed"  # it answers, and is still the one that has to go
    world.wait_for_log('"waiting for another engine"')
    status = world.status()
    assert status["phase"] == "starting" and status["replacement"]["condemned"] is False
    assert "waiting for another engine for" in status_text(world)
    assert world.get("/readyz")[0] == 503


def test_two_callers_share_one_drain(prestop):
    world = prestop(shutdown={"grace_period": "60s"})
    world.begin()
    peer = busy(world)
    world.call(SUPERVISOR_HOOK).result()
    calls = [world.call(), world.call()]
    world.wait_for_call(2)
    end(peer)
    assert [call.result()["why"] for call in calls] == ["drained", "drained"]
    assert world.log().count('"phase begun","phase":"draining"') == 1


def test_a_caller_that_dies_undoes_nothing(prestop):
    world = prestop(shutdown={"grace_period": "60s"})
    world.begin()
    peer = busy(world)
    world.call(SUPERVISOR_HOOK).result()
    with socket.create_connection(("127.0.0.1", world.hooks_port)) as caller:
        head = f"GET {ENGINE_HOOK} HTTP/1.1\r\nHost: a\r\nX-Lastcall-Token: {TOKEN}\r\n\r\n"
        caller.sendall(head.encode())
        world.wait_for_call()
    again = world.call()
    world.wait_for_call(2)
    assert again.is_alive()
    end(peer)
    assert again.result()["why"] == "drained"


@pytest.mark.parametrize(("token", "status"), [(None, 401), ("wrong", 403)])
def test_a_call_without_the_token_changes_nothing(prestop, token, status):
    world = prestop()
    world.begin(LASTCALL_LIFECYCLE_TOKEN="secret")
    for path in (ENGINE_HOOK, SUPERVISOR_HOOK):
        call = world.call(path, token)
        assert call.result()["error"]["code"] == "not_allowed" and call.status == status
    assert world.status()["phase"] == "serving" and "preStop called" not in world.log()
    allowed = world.call(token="secret")
    assert allowed.result()["status"] == "returned" and allowed.status == 200


def test_no_head_ends_what_is_behind_the_hooks(prestop):
    world = prestop()
    world.begin()
    assert each_is_answered(world.hooks_port)
    assert world.supervisor.poll() is None and world.status()["phase"] == "serving"


def own_address():
    """One that the host has and that is not a loopback one; none without a route."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("192.0.2.1", 9))  # nothing is sent
        except OSError:
            return None
        return asked.getsockname()[0]


@pytest.mark.parametrize("source", ["127.0.0.1", "own"])
@pytest.mark.parametrize("host", ["127.0.0.1", "own"])
def test_without_a_token_nothing_in_the_pod_can_call(prestop, host, source):
    """An engine that fetches a URL for its client is such a caller, and it may choose both."""
    own = own_address()
    if own is None and "own" in (host, source):
        pytest.skip("this host has loopback addresses only")
    host, address = (own if each == "own" else each for each in (host, source))
    world = prestop(lifecycle={"token": None})
    world.config["lifecycle"]["listen"] = f"0.0.0.0:{world.hooks_port}"
    world.begin()
    for path in (ENGINE_HOOK, SUPERVISOR_HOOK, ENGINE_HOOK):
        call = world.call(path, token=None, host=host, source=address)
        assert call.result()["error"]["code"] == "not_allowed" and call.status == 403
    assert world.status()["phase"] == "serving"
    refused = "\nlastcall_prestop_refused_total 3\n"
    wait_until(lambda: refused in world.get("/metrics")[1], "all are counted")
    assert world.log().count(f'"preStop call refused","from":"{address}"') == 1  # the first


POD, SECOND, NODE = "198.51.100.7", "198.51.100.8", "198.51.100.1"


@pytest.fixture
def pod_and_node():
    """Wrappers of commands in two network namespaces, of which the first one has two addresses."""
    holders = []
    try:
        for _ in range(2):
            holders.append(subprocess.Popen(["unshare", "-n", "sh", "-c", "echo; exec sleep 600"],
                                            stdout=subprocess.PIPE))  # fmt: skip
            if not holders[-1].stdout.readline():
                pytest.skip("this host allows no network namespaces")
        pod, node = (("nsenter", "-t", str(each.pid), "-n") for each in holders)
        for where, words in (
            (pod, f"link add eth0 type veth peer name eth0 netns {holders[1].pid}"),
            *((pod, f"addr add {each}/24 dev eth0") for each in (POD, SECOND)),
            (node, f"addr add {NODE}/24 dev eth0"),
            *((each, f"link set {name} up") for each in (pod, node) for name in ("lo", "eth0")),
        ):
            if subprocess.run([*where, "ip", *words.split()], check=False).returncode != 0:
                pytest.skip("this host can make no pair of interfaces")
        yield pod, node
    finally:
        for each in holders:
            each.kill()
            each.wait()
            each.stdout.close()


def status_of_call(wrapper, port, source, host):
    script = (
        "import http.client as h\n"
        f"c = h.HTTPConnection({host!r}, {port}, timeout=20, source_address=({source!r}, 0))\n"
        f"c.request('GET', {ENGINE_HOOK!r})\nprint(c.getresponse().status)"
    )
    words = [*wrapper, sys.executable, "-c", script]
    return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(shutil.which("ip") is None, reason="needs ip, of iproute2")
def test_without_a_token_a_call_from_any_address_of_the_pod_is_refused(prestop, pod_and_node):
    pod, node = pod_and_node
    check = {"name": "engine", "exec": {"command": ["/bin/true"]}}
    world = prestop(lifecycle={"token": None}, health={"checks": [check]})
    world.config["lifecycle"]["listen"] = f"[::]:{world.hooks_port}"
    world.wrapped = pod
    world.serve()
    world.wait_for_log('"phase begun","phase":"serving"')
    for source, host in ((SECOND, POD), (POD, SECOND), (SECOND, "127.0.0.1"), (POD, POD)):
        assert status_of_call(pod, world.hooks_port, source, host) == 403
    assert status_of_call(node, world.hooks_port, NODE, POD) == 200


def test_a_pod_that_outlives_its_prestop_calls_serves_again(prestop):
    world = prestop()
    world.begin(LASTCALL_POD_GRACE_SECONDS="4")
    assert world.call(SUPERVISOR_HOOK).result()["why"] == "recorded"
    world.call().result()
    assert world.status()["phase"] == "drained"
    world.wait_for_phase("serving")  # 4 s and the kubelet's 2 s later
    [reported] = [one for one in world.records() if "outlived its preStop call" in one["msg"]]
    assert reported["level"] == "WARNING" and reported["first_call_from"] == "127.0.0.1"
    assert "\nlastcall_prestop_false_total 1\n" in world.get("/metrics")[1]
    assert world.get("/readyz")[0] == 200
    world.call().result()  # a restart of the engine's container alone
    world.wait_for_phase("starting")


def test_a_condemned_engine_fails_its_liveness_probe_until_it_is_another(prestop):
    world = prestop()
    world.begin()
    assert world.get("/engine/livez")[0] == 200
    connection = http.client.HTTPConnection("127.0.0.1", world.engine_port, timeout=PATIENCE)
    connection.request("POST", "/sim/control", body='{"health_status": 500}')
    connection.getresponse().read()
    connection.close()
    world.wait_for_livez(503)
    world.wait_for_log("this engine will not serve again")
    assert world.call().result()["why"] == "the engine is considered lost"
    assert world.get("/engine/livez")[0] == 503
    world.end_engine()
    world.wait_for_livez(200)
    world.engine()
    world.wait_for_phase("serving")
    assert world.supervisor.poll() is None


def test_the_hooks_are_off_unless_they_are_enabled(prestop):
    world = prestop(lifecycle={"enabled": False})
    world.begin()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", world.hooks_port))
