"""The supervisor is killed in the middle of whatever happens to its pod.

PID 1 of its container starts it again at once, in a pod that is being deleted too. No request that
had room to finish is lost.
"""

import concurrent.futures

import pytest
from client import wait_until
from kube_load import PATIENT, loaded, roll_out, rolled_out
from kube_release import gone, last_exit, revived


def restarts(states, name):
    """The restarts of a container: as many as any state of its pod showed."""
    return max(
        each["restartCount"]
        for state in states.states()
        for each in state["status"].get("containerStatuses", [])
        if each["name"] == name
    )


@pytest.mark.parametrize("phase", ["deregistering", "draining"])
def test_a_supervisor_killed_in_a_stop_goes_on_with_it(make_release, phase):
    release = make_release(engine_options=["--rate", "20"]).install()
    name = release.pod()["metadata"]["name"]
    states, log = release.watch(name)
    streams = [release.stream(max_tokens=240) for _ in range(4)]
    release.kubectl("delete", "pod", name, "--wait=false")
    wait_until(lambda: f'"phase begun","phase":"{phase}"' in log.text(), phase)
    release.signal_supervisor("KILL", name)
    assert [s.next()["outcome"] for s in streams] == ["completed"] * 4
    gone(release, name)
    assert "starting it again" in log.text()
    assert last_exit(states, "engine") in (0, None)
    assert restarts(states, "engine") == 0


@pytest.mark.timeout(360)
def test_a_supervisor_killed_in_a_rollout_fails_no_request(make_release):
    release = make_release(
        engine_options=["--rate", "100"], replicaCount=2, config=PATIENT
    ).install()
    old = release.names()

    def change():
        roll_out(release)
        leaving = wait_until(lambda: old - {p["metadata"]["name"] for p in release.pods()},
                             "an old pod is being deleted", patience=120)  # fmt: skip
        release.signal_supervisor("KILL", min(leaving))

    sums = loaded(release, change, lambda: rolled_out(release, old))
    assert sums["problems"] == [], sums
    assert sums["outcomes"]["completed"] > 20


def test_a_supervisor_killed_in_a_node_drain_lets_its_pod_finish(make_release):
    release = make_release(engine_options=["--rate", "20"])
    release.install(podLabels={"e2e": release.namespace})
    pod = release.pod()
    name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
    states, _ = release.watch(name)
    stream = release.stream(max_tokens=200)
    with concurrent.futures.ThreadPoolExecutor(1) as beside:
        drain = beside.submit(release.drain_node, node, 120)
        wait_until(lambda: "deletionTimestamp" in states.states()[-1]["metadata"], "evicted")
        release.signal_supervisor("KILL", name)
        assert stream.next()["outcome"] == "completed"
        drain.result()
    assert name not in release.names()
    assert restarts(states, "engine") == 0


@pytest.mark.parametrize("failure", [{"crash": "segv"}, {"eat_memory": "worker"}], ids=str)
@pytest.mark.parametrize("first", ["supervisor", "engine"])
def test_a_supervisor_killed_as_its_engine_fails_comes_back_for_the_next_one(
    make_release, failure, first
):
    release = make_release(
        engine_options=["--workers", "1"],
        engine={"resources": {"limits": {"memory": "128Mi"}}},
    ).install()
    name = release.pod()["metadata"]["name"]
    kill = [lambda: release.signal_supervisor("KILL", name), lambda: release.control(**failure)]
    for step in kill if first == "supervisor" else reversed(kill):
        step()

    def ended():
        return release.container("engine")["lastState"].get("terminated")

    assert wait_until(ended, "the engine's container was restarted", 90)["exitCode"] == 1
    wait_until(lambda: release.container("engine")["restartCount"] == 1, "the engine", 90)
    revived(release, name)
    wait_until(lambda: release.container("lastcall")["ready"], "ready again", patience=90)
    assert release.stream(max_tokens=2).next()["outcome"] == "completed"
    assert release.phase(name) == "serving"


def test_a_supervisor_killed_in_a_drain_that_is_no_stop_drains_on(make_release):
    release = make_release(engine_options=["--rate", "20"]).install()
    name = release.pod()["metadata"]["name"]
    stream = release.stream(max_tokens=300)
    inside = ["exec", name, "-c", "lastcall", "--", "lastcall"]
    release.kubectl(*inside, "drain")
    wait_until(lambda: release.phase(name) == "draining", "draining")
    release.signal_supervisor("KILL", name)
    revived(release, name)
    assert stream.next()["outcome"] == "completed"
    wait_until(lambda: release.phase(name) == "drained", "drained")
    release.kubectl(*inside, "resume")
    wait_until(lambda: release.container("lastcall")["ready"], "ready again")
    assert release.container("engine")["restartCount"] == 0
