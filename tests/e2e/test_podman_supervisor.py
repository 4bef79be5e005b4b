"""The supervisor dies, comes late, or is another user than the engine."""

import time

import pytest
from client import wait_until


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


def test_without_a_supervisor_the_engine_starts_all_the_same(make_pod):
    pod = make_pod(shim_options=("--supervisor-timeout", "500ms"))
    pod.install()
    pod.start_engine()
    wait_until(lambda: pod.client.get(pod.url("/health"))[0] == 200, "the engine serves")
    pod.start_supervisor()
    pod.wait_ready()
    pod.signal("TERM", "engine")
    assert pod.exit_code("engine") == 0


def test_a_killed_shim_is_noticed_at_once(make_pod):
    pod = make_pod().start()
    killed = time.time()
    pod.kill("engine")
    wait_until(pod.reports, "the drain report")
    assert pod.reports()[0]["cause"] == "shim_lost"
    # Without a handle on the process it would be a second, for a shim that only reconnects.
    assert pod.time_of("fatal stop") - killed < 0.9


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
