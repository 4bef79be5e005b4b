"""The supervisor dies, comes late, or is another user than the engine."""

import pytest
from client import wait_until
from podman_pod import CONFIG, podman


def restarted(pod, before):
    def is_new():
        state = pod.state("supervisor")
        return state["Running"] and state["Pid"] not in (0, before)

    wait_until(is_new, "the supervisor runs again")


def test_a_supervisor_killed_while_serving_comes_back_and_the_engine_notices_nothing(make_pod):
    pod = make_pod(engine_options=("--rate", "20")).start()
    stream = pod.stream(max_tokens=60)
    restarted(pod, pod.kill("supervisor"))
    pod.wait_ready()
    assert stream.next()["outcome"] == "completed"
    pod.signal("TERM", "engine")
    assert pod.exit_code("engine") == 0


def test_a_supervisor_killed_in_the_drain_goes_on_with_it(make_pod):
    pod = make_pod(engine_options=("--rate", "20")).start()
    stream = pod.stream(max_tokens=120)
    pod.signal("TERM", "engine")
    wait_until(lambda: pod.status()["phase"] == "draining", "draining")
    restarted(pod, pod.kill("supervisor"))
    assert stream.next()["outcome"] == "completed"
    assert pod.exit_code("engine") == 0
    [report] = wait_until(pod.reports, "the drain report")
    assert (report["cause"], report["exit_code"]) == ("signal", 0)


def test_without_anybody_to_restart_it_the_shim_ends_the_stop_alone(make_pod):
    """As in a pod that is being deleted: held until the reserve, then ended by the shim's order."""
    shutdown = {**CONFIG["shutdown"], "grace_period": "8s"}
    pod = make_pod(engine_options=("--rate", "20"), restart="no", shutdown=shutdown).start()
    stream = pod.stream(max_tokens=40)
    pod.signal("TERM", "engine", "supervisor")
    wait_until(lambda: pod.status()["phase"] == "draining", "draining")
    pod.kill("supervisor")
    assert stream.next()["outcome"] == "completed"
    assert pod.exit_code("engine") == 0
    assert not pod.state("supervisor")["Running"] and pod.reports() == []


@pytest.mark.parametrize("first", ["supervisor", "engine"])
def test_a_supervisor_killed_as_its_engine_crashes_waits_for_the_next_one(make_pod, first):
    pod = make_pod().start()
    before = pod.pid("supervisor")
    kill = [lambda: pod.kill("supervisor"), lambda: pod.control(crash="segv")]
    for step in kill if first == "supervisor" else reversed(kill):
        step()
    assert pod.exit_code("engine") == 1
    restarted(pod, before)
    podman("start", pod.container("engine"))
    pod.wait_ready()
    assert pod.stream(max_tokens=2).next()["outcome"] == "completed"


def test_without_a_supervisor_the_engine_starts_all_the_same(make_pod):
    pod = make_pod(shim_options=("--supervisor-timeout", "500ms"))
    pod.install()
    pod.start_engine()
    wait_until(lambda: pod.client.get(pod.url("/health"))[0] == 200, "the engine serves")
    pod.start_supervisor()
    pod.wait_ready()
    pod.signal("TERM", "engine")
    assert pod.exit_code("engine") == 0


def test_a_killed_shim_is_noticed_within_100_ms(make_pod):
    """Without a handle on its process it would be a second, for a shim that only reconnects.

    A busy machine may be late with anything: that it was in time once shows what reports it.
    """
    pod = make_pod(log={"level": "debug"}).start()
    took = []
    while not took or (took[-1] > 100 and len(took) < 5):
        if took:
            podman("start", pod.container("engine"))
            pod.wait_ready()
        ended = pod.kill_and_watch("engine")
        wait_until(lambda: len(pod.reports()) > len(took), "the drain report")
        took.append(pod.events("shim_gone")[-1] - ended)
    assert took[-1] <= 100, took
    assert {report["cause"] for report in pod.reports()} == {"shim_lost"}


@pytest.mark.parametrize("user", [0, 1000], ids=["root", "another"])
def test_an_engine_of_another_user_is_served_alike(make_pod, user):
    config = {"ipc": {"allow_uids": [1000]}}
    pod = make_pod(engine_user=user, engine_options=("--rate", "20"), **config).start()
    stream = pod.stream(max_tokens=40)
    pod.signal("TERM", "engine", "supervisor")
    assert stream.next()["outcome"] == "completed"
    assert pod.exit_code("engine") == 0


def test_a_shared_pid_namespace_changes_nothing(make_pod):
    pod = make_pod(share_pid=True, engine_options=("--rate", "20")).start()
    stream = pod.stream(max_tokens=40)
    pod.signal("TERM", "engine", "supervisor")
    assert stream.next()["outcome"] == "completed"
    assert pod.exit_code("engine") == 0
