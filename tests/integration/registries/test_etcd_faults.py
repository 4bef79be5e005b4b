"""etcd killed, stopped, slow, forgetful, without a leader: never the engine's matter."""

import contextlib
import os
import signal
import time

import pytest
from http_service import HttpService
from registry_world import etcd_world
from serve_peer import PATIENCE, holds_for, wait_until
from serve_world import SLEEPER
from tcp_proxy import TcpProxy


@pytest.fixture
def proxy_to():
    with contextlib.ExitStack() as opened:

        def make(port):
            return opened.enter_context(contextlib.closing(TcpProxy(port)))

        yield make


def registered(one, etcd):
    one.process = one.run(*SLEEPER)
    keys = etcd.wait_for_key()
    one.wait_for_log('"state":"registered"')
    return keys


def stop(one):
    one.process.send_signal(signal.SIGTERM)
    assert one.process.wait(timeout=2 * PATIENCE) == 0
    return one.report()


def engine_pid(one):
    return one.status()["engine"]["pid"]


def test_a_wedged_etcd_costs_the_budget_and_a_warning_and_the_exit_code_stays_0(world, etcd):
    one = etcd_world(world, etcd, shutdown={"deregister_timeout": "2s"})
    registered(one, etcd)
    etcd.signal(signal.SIGSTOP)
    report = stop(one)
    etcd.signal(signal.SIGCONT)
    phase = report["phases"]["deregistering"]
    assert phase["outcome"] in ("timed_out", "failed")
    assert 2000 <= phase["ms"] < 10_000  # of 20 s
    [record] = report["registries"]
    assert record["state"] == "failed" and record["detail"]
    assert report["cleanup"]["registries"]["outcome"] in ("timed_out", "failed")
    assert report["exit_code"] == 0


def test_a_stop_without_any_etcd_ends_with_0(world, etcd):
    one = etcd_world(world, etcd, shutdown={"deregister_timeout": "1s"})
    registered(one, etcd)
    etcd.kill()
    report = stop(one)
    assert report["registries"][0]["state"] == "failed"


def test_etcd_restarted_with_its_data_finds_the_key_kept_alive(world, etcd):
    one = etcd_world(world, etcd)
    keys = registered(one, etcd)
    pid = engine_pid(one)
    etcd.kill()
    etcd.start()
    holds_for(lambda: etcd.keys() == keys, 12, pause=0.5)  # longer than the lease
    assert engine_pid(one) == pid
    assert one.log().count("engine started") == 1


def test_etcd_restarted_without_its_data_gets_the_key_again(world, etcd):
    one = etcd_world(world, etcd, etcd={"lease_ttl": "3s"})
    keys = registered(one, etcd)
    pid = engine_pid(one)
    etcd.kill()
    etcd.start(forget=True)
    assert wait_until(etcd.keys, "the key again", patience=60) == keys
    assert engine_pid(one) == pid
    assert stop(one)["registries"] == [{"name": "etcd", "state": "confirmed"}]


def test_a_lost_lease_is_registered_again_without_restarting_the_engine(world, etcd):
    one = etcd_world(world, etcd, etcd={"lease_ttl": "3s"})
    keys = registered(one, etcd)
    pid = engine_pid(one)
    gateway = etcd.gateway()
    [lease] = etcd.leases()
    gateway.ask("lease/revoke", ID=lease)
    one.wait_for_log("the lease is gone")
    assert wait_until(etcd.keys, "the key again") == keys
    assert engine_pid(one) == pid
    gateway.close()


@pytest.mark.parametrize("how", ["deleted", "rewritten"])
def test_a_key_that_somebody_took_away_is_entered_again(world, etcd, how):
    one = etcd_world(world, etcd, etcd={"lease_ttl": "3s"})
    keys = registered(one, etcd)
    [(key, (value, _))] = keys.items()
    with contextlib.closing(etcd.gateway()) as gateway:
        if how == "deleted":
            gateway.delete(key)
        else:
            gateway.put(key, value.replace("10.0.0.7", "10.0.0.8"))
    one.wait_for_log(f"{key} is {'gone' if how == 'deleted' else 'not as it was written'}")
    wait_until(lambda: etcd.keys() == keys, "the key again")
    one.wait_for_log('"state":"registered"', count=2)
    assert stop(one)["registries"] == [{"name": "etcd", "state": "confirmed"}]
    assert etcd.keys() == {}


def test_an_outage_longer_than_the_lease_is_reported_and_then_over(world, etcd):
    one = etcd_world(world, etcd, etcd={"lease_ttl": "2s"})
    keys = registered(one, etcd)
    etcd.signal(signal.SIGSTOP)
    one.wait_for_log("cannot keep the lease alive")
    wait_until(lambda: one.status()["registries"][0]["state"] == "registering")
    assert one.status()["phase"] == "serving"
    assert 'lastcall_registry_registered{registry="etcd"} 0' in one.get("/metrics")[1]
    status, verbose = one.get("/readyz?verbose")
    assert status == 200 and "[-]registry-etcd" in verbose
    etcd.signal(signal.SIGCONT)
    one.wait_for_log('"state":"registered"', count=2)
    metrics = one.get("/metrics")[1]
    assert 'lastcall_registry_registered{registry="etcd"} 1' in metrics
    assert 'operations_total{operation="register",registry="etcd",result="retried"}' in metrics
    assert etcd.keys() == keys


def test_a_worker_is_ready_when_it_was_registered_once_whatever_is_lost_later(world, etcd):
    etcd.signal(signal.SIGSTOP)
    one = etcd_world(world, etcd, etcd={"lease_ttl": "2s"})
    one.process = one.run(*SLEEPER)
    one.wait_for_phase("serving")
    one.wait_for_log('"state":"registering"')
    assert "not registered everywhere yet" in one.get("/readyz?verbose")[1]
    assert one.get("/readyz")[0] == 503
    etcd.signal(signal.SIGCONT)
    wait_until(lambda: one.get("/readyz")[0] == 200, "ready", patience=60)
    etcd.kill()
    one.wait_for_log("cannot keep the lease alive")
    wait_until(lambda: one.status()["registries"][0]["state"] == "registering")
    holds_for(lambda: one.get("/readyz")[0] == 200, 1)
    assert 'lastcall_registry_registered{registry="etcd"} 0' in one.get("/metrics")[1]


def test_a_slow_etcd_is_waited_for(world, etcd, proxy_to):
    proxy = proxy_to(etcd.port)
    one = etcd_world(world, etcd, urls=[proxy.url])
    registered(one, etcd)
    proxy.delay = 0.4
    report = stop(one)
    assert report["registries"] == [{"name": "etcd", "state": "confirmed"}]
    assert etcd.keys() == {}


def test_a_connection_that_died_unnoticed_is_replaced(world, etcd, proxy_to):
    proxy = proxy_to(etcd.port)
    one = etcd_world(world, etcd, urls=[proxy.url])
    registered(one, etcd)
    proxy.cut()
    assert stop(one)["registries"] == [{"name": "etcd", "state": "confirmed"}]


def test_the_next_server_is_asked_when_the_first_is_not_there_or_hangs(world, etcds):
    hung, good = etcds(), etcds()
    hung.signal(signal.SIGSTOP)
    nobody = TcpProxy(1)
    nobody.close()
    one = etcd_world(world, good, urls=[nobody.url, hung.urls[0], good.urls[0]])
    registered(one, good)
    assert stop(one)["registries"] == [{"name": "etcd", "state": "confirmed"}]
    assert good.keys() == {}


@pytest.mark.parametrize("status, body", [(404, b"404 page not found\n"), (200, b"<html></html>")])
def test_an_address_that_is_no_etcds_is_passed_over(world, etcd, status, body):
    with contextlib.closing(HttpService()) as other:
        other.statuses, other.body = [status] * 1000, body
        one = etcd_world(world, etcd, urls=[other.url, etcd.urls[0]])
        registered(one, etcd)
        assert stop(one)["registries"] == [{"name": "etcd", "state": "confirmed"}]
        assert etcd.keys() == {}
        assert other.requests


REFUSED = b'{"code": 3, "message": "etcdserver: authentication failed"}'


@pytest.mark.parametrize(
    "status, retry_after, body, least",
    [(503, 2, b"", 2), (400, None, REFUSED, 0.07)],
    ids=["a gateway that asks for time", "a refused password"],
)
def test_a_single_address_that_refuses_is_not_asked_again_at_once(
    world, status, retry_after, body, least
):
    with contextlib.closing(HttpService()) as gateway:
        gateway.statuses, gateway.retry_after, gateway.body = [status] * 1000, retry_after, body
        user = {"username": "worker"} if body else {}
        one = etcd_world(world, None, urls=[gateway.url], etcd=user)
        one.run(*SLEEPER, LASTCALL_ETCD_PASSWORD="x")
        wait_until(lambda: len(gateway.times) >= 2)
        first, second = gateway.times[:2]
        assert second - first >= least


def test_an_address_that_turned_into_another_service_does_not_keep_the_key(world, etcd):
    with contextlib.closing(HttpService()) as other, contextlib.closing(
        TcpProxy(etcd.port)
    ) as proxy:
        other.statuses, other.body = [404] * 1000, b"404 page not found\n"
        one = etcd_world(world, etcd, urls=[proxy.url, etcd.urls[0]])
        registered(one, etcd)
        proxy.target = int(other.url.rpartition(":")[2])
        proxy.cut()
        assert stop(one)["registries"] == [{"name": "etcd", "state": "confirmed"}]
        assert etcd.keys() == {}


def test_a_cluster_of_three_that_loses_its_leader_is_left_and_joined_all_the_same(world, etcds):
    etcd = etcds(members=3)
    one = etcd_world(world, etcd, shutdown={"grace_period": "60s", "deregister_timeout": "20s"})
    registered(one, etcd)
    leader = wait_until(etcd.leader, "a leader")
    etcd.kill(leader)
    report = stop(one)
    assert report["registries"] == [{"name": "etcd", "state": "confirmed"}]
    [left, _] = [member for member in etcd.members if member is not leader]
    gateway = etcd.gateway(etcd.members.index(left))
    assert gateway.keys() == {}
    gateway.close()


def test_at_idle_etcd_is_asked_for_lease_and_key_each_third_of_the_lease(world, etcd, proxy_to):
    proxy = proxy_to(etcd.port)
    one = etcd_world(world, etcd, urls=[proxy.url], etcd={"lease_ttl": "6s"})
    registered(one, etcd)
    gateway = etcd.gateway()
    [lease] = etcd.leases()
    before = proxy.requests
    began = time.monotonic()
    lowest = []
    while time.monotonic() < began + 8:
        lowest.append(int(gateway.ask("lease/timetolive", ID=lease)["TTL"]))
        wait_until(lambda: True, pause=0.1)
    asked, elapsed = proxy.requests - before, time.monotonic() - began
    thirds = elapsed / 2
    assert thirds / 2 <= asked / 2 <= thirds + 1  # a busy machine asks later, and so less often
    assert proxy.connections == 1
    assert min(lowest) >= 1
    gateway.close()


def test_one_registry_that_hangs_does_not_delay_another(world, etcds, tmp_path):
    hung, good = etcds(), etcds()
    one = world(
        identity={"advertise": "http://10.0.0.7:8000"},
        shutdown={"grace_period": "20s", "deregister_timeout": "3s"},
        discovery=[
            {"name": "hung", "etcd": {"endpoints": hung.urls}},
            {"name": "good", "etcd": {"endpoints": good.urls}},
            {"file": {"directory": str(tmp_path / "i")}},
        ],
    )
    one.process = one.run(*SLEEPER)
    good.wait_for_key()
    hung.wait_for_key()
    one.wait_for_log('"state":"registered"', count=3)
    watcher = good.watch()
    hung.signal(signal.SIGSTOP)
    began = time.monotonic()
    one.process.send_signal(signal.SIGTERM)
    _, _, gone_at = watcher.wait_for("DELETE")
    wait_until(lambda: not os.listdir(tmp_path / "i"), "the file is gone too")
    assert one.process.wait(timeout=2 * PATIENCE) == 0
    states = {record["name"]: record["state"] for record in one.report()["registries"]}
    assert states == {"hung": "failed", "good": "confirmed", "file": "confirmed"}
    assert gone_at < began + 3
    watcher.close()
