"""Stops of a pod of separate containers: the order of the signals makes no difference."""

import pytest
from client import wait_until
from podman_pod import CONFIG

SHORT = {**CONFIG["shutdown"], "grace_period": "12s"}


@pytest.mark.parametrize("first", ["engine", "both", "supervisor"])
def test_streams_in_flight_end_before_the_engine_is_stopped(make_pod, first):
    pod = make_pod(engine_options=("--rate", "20")).start()
    streams = [pod.stream(max_tokens=60) for _ in range(4)]
    both = ("engine", "supervisor")
    order = {"engine": [both[:1]], "both": [both], "supervisor": [both[1:], both[:1]]}[first]
    for names in order:
        pod.signal("TERM", *names)
    assert [s.next()["outcome"] for s in streams] == ["completed"] * 4
    assert pod.exit_code("engine") == 0
    [report] = wait_until(pod.reports, "the drain report")
    assert (report["cause"], report["mode"], report["exit_code"]) == ("signal", "graceful", 0)
    assert report["requests"]["completed"] == 4


def test_the_kubelets_order_ends_the_sidecar_with_0_after_the_engine(make_pod):
    """Native sidecars: TERM to the engine, and to the sidecar only when the engine has ended."""
    pod = make_pod(restart="no").start()
    pod.signal("TERM", "engine")
    assert pod.exit_code("engine") == 0
    wait_until(lambda: pod.status()["phase"] == "starting", "the supervisor waits for the next one")
    pod.signal("TERM", "supervisor")
    assert pod.exit_code("supervisor") == 0
    assert '"exit_code":0' in pod.message("engine").replace(" ", "")


def test_a_drain_that_times_out_hands_off_and_ends_with_0(make_pod):
    pod = make_pod(engine_options=("--rate", "10"), shutdown=SHORT).start()
    streams = [pod.stream(max_tokens=100_000), pod.stream("/v1/completions", max_tokens=100_000)]
    pod.signal("TERM", "engine", "supervisor")
    ends = [s.next() for s in streams]
    assert [(e["outcome"], e["kind"]) for e in ends] == [("error", "migrated")] * 2
    assert pod.exit_code("engine") == 0
    [report] = wait_until(pod.reports, "the drain report")
    assert report["requests"]["migrated"] == 2


def test_an_engine_that_ignores_its_signal_is_killed_at_the_deadline(make_pod):
    pod = make_pod(engine_options=("--ignore-term",), shutdown=SHORT).start()
    pod.signal("TERM", "engine")
    assert pod.exit_code("engine") == 137
