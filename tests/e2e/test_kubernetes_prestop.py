"""Mode prestop on a real cluster: the kubelet calls the hooks, and signals an unmodified engine."""

import json

from client import wait_until
from kube_load import PATIENT, loaded
from kube_release import gone, reports_in

UNLESS_ILL = {
    "exec": {"command": ["sh", "-c", "! test -e /tmp/ill"]},
    "periodSeconds": 1,
    "failureThreshold": 1,
}
STALLS = 3
STALL = (
    "for each in /proc/[0-9]*; do"
    ' read -r name <"$each/comm" && test "$name" = lastcall || continue;'
    ' kill -STOP "${each#/proc/}"; sleep 1.5; kill -CONT "${each#/proc/}"; done'
)


def make(make_release, *options, **values):
    return make_release(engine_options=options, mode="prestop", **values).install()


def status(release, pod):
    return json.loads(release.kubectl("exec", pod, "-c", "lastcall", "--", "lastcall", "status",
                                      "-o", "json"))  # fmt: skip


def messages(log):
    return [json.loads(line)["msg"] for line in log.text().splitlines() if line.startswith("{")]


def test_the_hook_of_a_deleted_pod_holds_the_signal_until_the_streams_have_ended(make_release):
    release = make(make_release, "--rate", "20")
    name = release.pod()["metadata"]["name"]
    _, log = release.watch(name)
    streams = [release.stream(max_tokens=320) for _ in range(3)]
    release.kubectl("delete", "pod", name, "--wait=false")
    hook = wait_until(lambda: status(release, name).get("prestop"), "the kubelet's call")
    # The supervisor's own hook is what distinguishes a deletion from a restart of the engine's
    # container.
    wait_until(lambda: status(release, name)["prestop"]["deletion"], "deletion evidence")
    assert hook["waits"] is True
    refusal = release.kubectl("exec", name, "-c", "lastcall", "--", "sh", "-c",
                              "lastcall resume 2>&1 && echo resumed", check=False)  # fmt: skip
    assert "cannot be resumed" in refusal and "resumed\n" not in refusal
    assert [s.next()["outcome"] for s in streams] == ["completed"] * 3
    gone(release, name)
    report = reports_in(log.text())[-1]
    assert (report["cause"], report["mode"]) == ("own_signal", "graceful")
    assert report["phases"]["draining"]["outcome"] == "completed"


def test_a_drain_that_times_out_hands_off_before_the_kubelet_kills(make_release):
    config = {"shutdown": {"grace_period": "12s", "late_accept": "1s", "deregister_timeout": "1s"}}
    release = make(make_release, "--rate", "10", config=config)
    name = release.pod()["metadata"]["name"]
    stream = release.stream(max_tokens=100_000)
    release.kubectl("delete", "pod", name, "--wait=false")
    end = stream.next()
    assert (end["outcome"], end.get("kind")) == ("error", "migrated")
    gone(release, name)


def test_a_dead_engine_is_restarted_by_its_liveness_probe_and_the_next_one_serves(make_release):
    release = make(make_release)
    name = release.pod()["metadata"]["name"]
    _, log = release.watch(name)
    release.control(health_status=503)
    wait_until(lambda: release.container("engine")["restartCount"] == 1, "restarted", 90)
    wait_until(lambda: release.container("lastcall")["ready"], "ready again", patience=90)
    assert release.container("lastcall")["restartCount"] == 0
    assert release.stream(max_tokens=2).next()["outcome"] == "completed"
    said = messages(log)
    assert said.index("preStop called") > said.index("fatal stop")
    assert "preStop returns" in said
    assert reports_in(log.text())[0]["cause"] == "dead"


def inside(release, name, command):
    release.kubectl("exec", name, "-c", "lastcall", "--", "sh", "-c", command)


def restart_engine(release, name, log):
    """The one of a pod with the probe UNLESS_ILL, by making it ill."""
    inside(release, name, "touch /tmp/ill")
    wait_until(lambda: "preStop called" in messages(log), "the kubelet's call", 90)
    inside(release, name, "rm /tmp/ill")


def replace_liveness(release, probe):
    """The engine's container gets the probe, in every new pod."""
    spec = json.loads(release.kubectl("get", "deployment", "x-lastcall", "-o", "json"))["spec"]
    names = [each["name"] for each in spec["template"]["spec"]["containers"]]
    path = f"/spec/template/spec/containers/{names.index('engine')}/livenessProbe"
    change = [{"op": "replace", "path": path, "value": probe}]
    release.kubectl("patch", "deployment", "x-lastcall", "--type", "json", "-p",
                    json.dumps(change))  # fmt: skip
    release.kubectl("rollout", "status", "deployment/x-lastcall", "--timeout=170s")
    replicas = spec["replicas"]
    wait_until(lambda: len(release.pods()) == replicas, "the old pods are gone", patience=90)


def test_a_restart_that_no_deletion_explains_is_over_when_another_engine_answers(make_release):
    release = make(make_release, "--rate", "20")
    replace_liveness(release, UNLESS_ILL)
    name = release.pod()["metadata"]["name"]
    _, log = release.watch(name)
    stream = release.stream(max_tokens=50)
    restart_engine(release, name, log)
    assert stream.next()["outcome"] == "completed"
    wait_until(lambda: release.container("engine")["restartCount"] == 1, "restarted", 90)
    wait_until(lambda: release.container("lastcall")["ready"], "ready again", patience=90)
    assert status(release, name)["phase"] == "serving"
    assert release.stream(max_tokens=2).next()["outcome"] == "completed"
    said = messages(log)
    assert "preStop returns" in said and "fatal stop" not in said


def test_a_sidecar_that_stands_still_for_a_moment_restarts_no_engine(make_release):
    release = make(make_release)
    name = release.pod()["metadata"]["name"]
    _, log = release.watch(name)
    for _ in range(STALLS):
        inside(release, name, STALL)
        assert status(release, name)["phase"] == "serving"
    assert release.container("engine")["restartCount"] == 0
    assert "preStop called" not in messages(log)


def test_a_restart_that_no_deletion_explains_fails_no_request(make_release):
    release = make(make_release, "--rate", "100", replicaCount=2, config=PATIENT)
    replace_liveness(release, UNLESS_ILL)
    name = release.pods()[0]["metadata"]["name"]
    _, log = release.watch(name)

    def restarted():
        [pod] = [each for each in release.pods() if each["metadata"]["name"] == name]
        engine, sidecar = (release.container(each, pod) for each in ("engine", "lastcall"))
        return engine["restartCount"] == 1 and sidecar["ready"]

    sums = loaded(release, lambda: restart_engine(release, name, log), restarted)
    assert sums["problems"] == [], sums
    assert sums["outcomes"]["completed"] > 20
