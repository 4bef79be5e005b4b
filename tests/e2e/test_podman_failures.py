"""Kubernetes gets an engine's failure by its container's exit code, whatever it wrote."""

import pytest
from client import wait_until
from podman_pod import podman


@pytest.mark.parametrize(
    "failure", [{"crash": "segv"}, {"crash": "kill"}, {"exit": 0}, {"exit": 3}], ids=str
)
def test_an_engine_that_ends_by_itself_is_a_failure(make_pod, failure):
    pod = make_pod(engine_options=("--rate", "20")).start()
    stream = pod.stream(max_tokens=1000)
    pod.control(**failure)
    assert stream.next()["outcome"] in ("cut", "error")
    assert pod.exit_code("engine") == 1
    [report] = wait_until(pod.reports, "the drain report")
    assert (report["cause"], report["mode"]) == ("engine_exited", "fatal")
    assert report["cause"] in pod.message("engine")


def test_an_engine_killed_for_its_memory_is_reported_as_a_failure_of_memory(make_pod):
    pod = make_pod(memory="64m", health={"checks": []})
    pod.install()
    pod.start_supervisor()
    hungry = "import sys; sys.stdin.read(); held = bytearray(1 << 30); held[::4096] = held[::4096]"
    pod.start_engine(command=("python3", "-c", hungry))
    assert pod.exit_code("engine") == 1
    [report] = wait_until(pod.reports, "the drain report")
    assert report["cause"] == "engine_exited"
    assert report["engine"]["oom"] is True


def test_an_engine_that_answers_503_is_found_dead(make_pod):
    pod = make_pod().start()
    pod.control(health_status=503)
    assert pod.exit_code("engine") == 1
    assert wait_until(pod.reports, "the drain report")[0]["cause"] == "dead"


def test_the_supervisor_waits_for_the_next_engine(make_pod):
    pod = make_pod().start()
    pod.control(exit=0)
    assert pod.exit_code("engine") == 1
    wait_until(lambda: pod.probe("/readyz")[0] == 503, "not ready without an engine")
    podman("start", pod.container("engine"))
    pod.wait_ready()
    assert pod.stream(max_tokens=2).next()["outcome"] == "completed"
