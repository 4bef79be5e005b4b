"""The chart on a real cluster: what a kubelet, its probes and controllers make of a stop."""

import pytest
from client import wait_until
from kube_load import PATIENT, loaded, roll_out, rolled_out
from kube_release import gone, last_exit, reports_in, revived


def test_a_deleted_pod_finishes_its_streams(make_release):
    release = make_release(engine_options=["--rate", "20"]).install()
    name = release.pod()["metadata"]["name"]
    states, log = release.watch(name)
    streams = [release.stream(max_tokens=120) for _ in range(4)]
    release.kubectl("delete", "pod", name, "--wait=false")
    assert [s.next()["outcome"] for s in streams] == ["completed"] * 4
    gone(release, name)
    assert last_exit(states, "engine") in (0, None)
    [report] = reports_in(log.text())
    assert (report["cause"], report["exit_code"]) == ("signal", 0)
    assert report["requests"]["completed"] == 4


def test_a_drain_that_times_out_hands_off(make_release):
    config = {"shutdown": {"grace_period": "12s", "late_accept": "1s", "deregister_timeout": "1s"}}
    release = make_release(engine_options=["--rate", "10"], config=config).install()
    name = release.pod()["metadata"]["name"]
    states, log = release.watch(name)
    stream = release.stream(max_tokens=100_000)
    release.kubectl("delete", "pod", name, "--wait=false")
    end = stream.next()
    assert (end["outcome"], end["kind"]) == ("error", "migrated")
    gone(release, name)
    assert last_exit(states, "engine") in (0, None)
    assert reports_in(log.text())[0]["requests"]["migrated"] == 1


@pytest.mark.parametrize(
    ("failure", "cause"),
    [({"crash": "segv"}, "engine_exited"), ({"exit": 0}, "engine_exited"),
     ({"health_status": 503}, "dead")],
    ids=["crash", "exit_0", "health"],
)  # fmt: skip
def test_a_failed_engine_is_restarted_and_the_reason_is_in_its_status(make_release, failure, cause):
    release = make_release().install()
    release.control(**failure)

    def ended():
        return release.container("engine")["lastState"].get("terminated")

    terminated = wait_until(ended, "the engine's container was restarted")
    assert terminated["exitCode"] == 1
    assert cause in terminated["message"]
    wait_until(lambda: release.container("lastcall")["ready"], "ready again", patience=90)
    assert release.container("lastcall")["restartCount"] == 0
    assert release.stream(max_tokens=2).next()["outcome"] == "completed"


def test_a_stuck_supervisor_is_restarted_and_the_engine_goes_on(make_release):
    probe = {"periodSeconds": 1, "timeoutSeconds": 1, "failureThreshold": 2}
    release = make_release(
        engine_options=["--rate", "10"], sidecar={"livenessProbe": probe}
    ).install()
    name = release.pod()["metadata"]["name"]
    stream = release.stream(max_tokens=200)
    release.signal_supervisor("STOP", name)
    wait_until(lambda: release.container("lastcall")["restartCount"] == 1, "restarted", 90)
    wait_until(lambda: release.container("lastcall")["ready"], "ready again")
    assert release.container("engine")["restartCount"] == 0
    assert stream.next()["outcome"] == "completed"


def test_a_supervisor_killed_while_serving_is_back_at_once_and_nothing_is_lost(make_release):
    release = make_release(engine_options=["--rate", "20"]).install()
    name = release.pod()["metadata"]["name"]
    stream = release.stream(max_tokens=200)
    release.signal_supervisor("KILL", name)
    revived(release, name)
    assert stream.next()["outcome"] == "completed"
    assert release.container("engine")["restartCount"] == 0


@pytest.mark.parametrize("mode", [{}, {"mode": "prestop"}], ids=["shim", "prestop"])
def test_a_rollout_under_load_fails_no_request(make_release, mode):
    release = make_release(
        engine_options=["--rate", "100"], replicaCount=2, config=PATIENT, **mode
    ).install()
    old = release.names()
    sums = loaded(release, lambda: roll_out(release), lambda: rolled_out(release, old))
    assert sums["problems"] == [], sums
    assert sums["outcomes"]["completed"] > 20


def test_a_drained_node_lets_its_pods_finish(make_release):
    release = make_release(engine_options=["--rate", "20"])
    release.install(podLabels={"e2e": release.namespace})
    pod = release.pod()
    name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
    stream = release.stream(max_tokens=100)
    release.drain_node(node, 90)
    assert stream.next()["outcome"] == "completed"
    assert name not in [each["metadata"]["name"] for each in release.pods()]
