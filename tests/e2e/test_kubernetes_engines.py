"""Engines of other users, out of memory, and vLLM's values of the chart, on a real kubelet."""

import pytest
from client import wait_until
from kube_release import gone, last_exit, reports_in

USERS = {
    "another": {"runAsUser": 1000, "runAsGroup": 1000},
    "root": {"runAsUser": 0, "runAsGroup": 0, "runAsNonRoot": False},
}


@pytest.mark.parametrize("who", [*USERS])
def test_an_engine_of_another_user_is_served_alike(make_release, who):
    """fsGroup is what lets it reach the socket: it has no capability, root neither."""
    release = make_release(
        engine_options=["--rate", "20"], engine={"securityContext": USERS[who]}
    ).install()
    name = release.pod()["metadata"]["name"]
    uid = release.kubectl("exec", name, "-c", "engine", "--", "sh", "-c",
                          "while read -r key id rest; do [ $key = Uid: ] && echo $id; done "
                          "</proc/1/status || true")  # fmt: skip
    assert int(uid) == USERS[who]["runAsUser"]
    states, log = release.watch(name)
    stream = release.stream(max_tokens=120)
    release.kubectl("delete", "pod", name, "--wait=false")
    assert stream.next()["outcome"] == "completed"
    gone(release, name)
    assert last_exit(states, "engine") in (0, None)
    [report] = reports_in(log.text())
    # The engine's SDK could connect, too: it reported what was in flight.
    assert (report["in_flight"], report["requests"]["completed"]) == ("sdk", 1)


@pytest.mark.parametrize("who", ["self", "worker"])
def test_an_engine_killed_for_its_memory_is_restarted_and_the_kill_is_reported(make_release, who):
    release = make_release(
        engine_options=["--workers", "1"],
        engine={"resources": {"limits": {"memory": "128Mi"}}},
    ).install()
    release.control(eat_memory=who)

    def ended():
        return release.container("engine")["lastState"].get("terminated")

    terminated = wait_until(ended, "the engine's container was restarted", 90)
    assert terminated["exitCode"] in (1, 137)  # where the kernel kills whole groups: the shim's
    if terminated["exitCode"] == 1:
        assert '"oom":true' in terminated["message"].replace(" ", "")
    wait_until(lambda: release.container("lastcall")["ready"], "ready again", patience=90)
    assert release.container("lastcall")["restartCount"] == 0
    assert release.stream(max_tokens=2).next()["outcome"] == "completed"


def test_the_values_for_vllm_give_a_pod_that_serves_and_drains_by_the_engines_gauges(make_release):
    """Only the images are others, and there is no GPU and no provider of volumes."""
    release = make_release(
        example="vllm.yaml", engine={"resources": {"limits": {"nvidia.com/gpu": "0"}}},
        persistence={"enabled": False},
    ).install()
    pod = release.pod()
    name = pod["metadata"]["name"]
    assert pod["spec"]["terminationGracePeriodSeconds"] == 122
    _, log = release.watch(name)
    stream = release.stream(max_tokens=200)
    release.kubectl("delete", "pod", name, "--wait=false")
    assert stream.next()["outcome"] == "completed"
    gone(release, name)
    [report] = reports_in(log.text())
    assert (report["cause"], report["exit_code"], report["in_flight"]) == ("signal", 0, "gauges")
    assert report["phases"]["draining"]["outcome"] == "completed"
