"""Registered in a real etcd: when it enters, how it leaves, and whose keys it touches."""

import json
import os
import signal

from in_time import unless_late
from registry_world import ADVERTISE, etcd_world
from serve_peer import PATIENCE, holds_for, wait_until
from serve_world import SLEEPER


def registered(world, etcds):
    etcd = etcds()
    one = etcd_world(world, etcd)
    process = one.run(*SLEEPER)
    etcd.wait_for_key()
    one.wait_for_log('"state":"registered"')
    return one, etcd, process


def late(stopped):
    """Takes (world, server); each attempt has its own server, since a late one leaves things."""
    return stopped[0].registries_were_late()


def test_a_serving_instance_is_one_key_under_one_lease_in_dynamos_layout(world, etcd):
    one = etcd_world(world, etcd, identity={"namespace": "ns", "component": "c", "model": "m"})
    one.run(*SLEEPER, LASTCALL_POD_UID="pod-1")
    [(key, (value, lease))] = etcd.wait_for_key().items()
    value = json.loads(value)
    assert key == f"v1/instances/ns/c/generate/{value['instance_id']:x}"
    assert value["transport"] == {"http": ADVERTISE}
    assert (value["namespace"], value["component"], value["endpoint"]) == ("ns", "c", "generate")
    assert (value["type"], value["model"], value["pod_uid"]) == ("Endpoint", "m", "pod-1")
    assert value["instance_id"] < 2**53
    assert etcd.leases() == {lease}


def test_nothing_is_registered_before_the_engine_is_ready(world, etcd):
    one = etcd_world(world, etcd)
    ready = one.path("ready")
    one.config["health"]["checks"] = [
        {"name": "engine", "exec": {"command": ["test", "-e", ready]}, "timeout": "5s"}
    ]
    one.run(*SLEEPER)
    one.wait_for_phase("starting")
    holds_for(lambda: etcd.keys() == {}, 3)
    open(ready, "w").close()
    etcd.wait_for_key()


def test_a_stop_deletes_the_key_in_phase_1_and_revokes_the_lease_in_phase_3(world, etcds):
    def stopped():
        one, etcd, process = registered(world, etcds)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE) == 0
        return one, etcd

    one, etcd = unless_late(stopped, late)
    report = one.report()
    assert report["registries"] == [{"name": "etcd", "state": "confirmed"}]
    assert report["phases"]["deregistering"]["outcome"] == "completed"
    assert report["cleanup"]["registries"]["outcome"] == "completed"
    assert etcd.keys() == {}
    assert etcd.leases() == set()


def test_the_key_is_gone_before_the_drain_ends_and_before_any_signal_reaches_the_engine(
    world, etcd
):
    one = etcd_world(world, etcd)
    ended_at = one.path("ended")
    # Its trap prints when a signal arrived; CLOCK_MONOTONIC is the watcher's clock too.
    engine = (
        "import signal, sys, time\n"
        "def stop(*_):\n"
        f"    open({ended_at!r}, 'w').write(str(time.monotonic())); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, stop)\n"
        "while True: time.sleep(0.05)\n"  # a signal just before a pause() would not end that
    )
    process = one.run("/usr/bin/python3", "-c", engine)
    watcher = etcd.watch()
    etcd.wait_for_key()
    one.wait_for_log('"state":"registered"')
    peer = one.peer()
    peer.ask("request.begin", id="r1", endpoint="generate")
    process.send_signal(signal.SIGTERM)
    _, key, gone_at = watcher.wait_for("DELETE")
    assert key.startswith("v1/instances/")
    peer.expect("phase", phase="draining")
    assert not os.path.exists(ended_at)
    peer.ask("request.end", id="r1", outcome="completed")
    assert process.wait(timeout=PATIENCE) == 0
    watcher.close()
    with open(ended_at) as file:
        assert gone_at < float(file.read())


def test_a_killed_supervisor_adopts_its_key_and_lease(world, etcd):
    one = etcd_world(world, etcd)
    one.run(*SLEEPER)
    before = etcd.wait_for_key()
    one.wait_for_log('"state":"registered"')
    watcher = etcd.watch()
    os.kill(one.supervisor_pid(), signal.SIGKILL)
    one.wait_for_log('"state":"registered"', count=2)
    assert etcd.keys() == before
    assert watcher.events == []
    watcher.close()


def test_a_key_of_a_pod_whose_processes_were_all_killed_ends_with_its_lease(world, etcd):
    one = etcd_world(world, etcd, etcd={"lease_ttl": "2s"})
    one.run(*SLEEPER)
    etcd.wait_for_key()
    one.close()
    wait_until(lambda: etcd.keys() == {} and etcd.leases() == set(), "the lease ends")


def test_a_stale_key_of_an_earlier_life_is_replaced(world, etcd):
    first = etcd_world(world, etcd)
    first.run(*SLEEPER, LASTCALL_POD_UID="pod-1")
    [(key, (value, _))] = etcd.wait_for_key().items()
    first.close()
    gateway = etcd.gateway()
    [old_lease] = etcd.leases()
    gateway.ask("lease/revoke", ID=old_lease)
    stale = {**json.loads(value), "transport": {"http": "http://10.9.9.9:1"}}
    other_lease = gateway.ask("lease/grant", TTL=600)["ID"]
    gateway.put(key, json.dumps(stale), lease=other_lease)

    second = etcd_world(world, etcd)
    second.run(*SLEEPER, LASTCALL_POD_UID="pod-1")
    second.wait_for_log('"state":"registered"')
    assert list(etcd.keys().values()) == [(value, old_lease)]
    gateway.close()


def test_a_key_of_another_pod_is_left_alone_by_registering_and_by_stopping(world, etcd):
    first = etcd_world(world, etcd)
    first.run(*SLEEPER, LASTCALL_POD_UID="pod-1")
    [(key, (value, lease))] = etcd.wait_for_key().items()
    first.close()
    gateway = etcd.gateway()
    gateway.ask("lease/revoke", ID=lease)
    theirs = json.dumps({**json.loads(value), "pod_uid": "pod-2"})
    gateway.put(key, theirs)

    second = etcd_world(world, etcd)
    process = second.run(*SLEEPER, LASTCALL_POD_UID="pod-1")
    second.wait_for_log("it belongs to pod pod-2")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE) == 0
    assert etcd.keys() == {key: (theirs, 0)}
    assert second.report()["registries"] == [{"name": "etcd", "state": "confirmed"}]
    [left] = [r for r in second.records() if r.get("state") == "deregistered"]
    assert "it belongs to pod pod-2" in left["note"]
    gateway.close()


def test_resume_registers_again(world, etcd):
    one = etcd_world(world, etcd)
    one.run(*SLEEPER)
    before = etcd.wait_for_key()
    one.wait_for_log('"state":"registered"')
    operator = one.operator()
    operator.ask("drain")
    one.wait_for_phase("drained")
    assert etcd.keys() == {}
    assert operator.ask("resume")["changed"] is True
    assert etcd.wait_for_key() == before
    one.wait_for_log('"state":"registered"', count=2)
    assert operator.ask("resume")["changed"] is False


def test_a_fatal_stop_removes_the_key_too(world, etcds):
    def stopped():
        one, etcd, process = registered(world, etcds)
        os.kill(one.status()["engine"]["pid"], signal.SIGKILL)
        assert process.wait(timeout=PATIENCE) == 1
        return one, etcd

    one, etcd = unless_late(stopped, late)
    assert one.report()["registries"] == [{"name": "etcd", "state": "confirmed"}]
    assert etcd.keys() == {}
    assert etcd.leases() == set()


def test_a_supervisor_killed_in_the_stop_still_removes_the_key(world, etcds):
    def stopped():
        one, etcd, process = registered(world, etcds)
        peer = one.peer()
        peer.ask("request.begin", id="r1", endpoint="generate")
        etcd.signal(signal.SIGSTOP)
        process.send_signal(signal.SIGTERM)
        peer.expect("phase", phase="deregistering")
        os.kill(one.supervisor_pid(), signal.SIGKILL)
        etcd.signal(signal.SIGCONT)
        assert process.wait(timeout=2 * PATIENCE) == 0
        return one, etcd

    _, etcd = unless_late(stopped, late)
    assert etcd.keys() == {}
    assert etcd.leases() == set()


def test_a_stop_while_etcd_does_not_answer_the_registration_leaves_no_key(world, etcds):
    def stopped():
        etcd = etcds()
        etcd.signal(signal.SIGSTOP)
        one = etcd_world(world, etcd)
        process = one.run(*SLEEPER)
        one.wait_for_log("no answer within")
        process.send_signal(signal.SIGTERM)
        etcd.signal(signal.SIGCONT)
        assert process.wait(timeout=2 * PATIENCE) == 0
        return one, etcd

    one, etcd = unless_late(stopped, late)
    assert one.report()["registries"] == [{"name": "etcd", "state": "confirmed"}]
    holds_for(lambda: etcd.keys() == {}, 2, pause=0.2)
    assert etcd.leases() == set()
