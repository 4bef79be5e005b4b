"""What the supervisor asks of a real API server, with the rights that the chart gives it."""

import json

import pytest
from client import wait_until
from kube_release import gone, reports_in

GATE, LABEL = "lastcall.dev/serving", "lastcall.dev/takes-requests"


def make(make_release, *options, registry=None, **values):
    config = {"discovery": [{"kubernetes": registry or {}}], **values.pop("config", {})}
    return make_release(
        engine_options=options, rbac={"create": True}, config=config, **values
    ).install()


def records(log):
    return [json.loads(line) for line in log.text().splitlines() if line.startswith("{")]


def position(found, **wanted):
    """The place of the first record that has all of it."""
    return next(
        i for i, record in enumerate(found)
        if all(record.get(key) == value for key, value in wanted.items())
    )  # fmt: skip


def condition(pod):
    return next((c["status"] for c in pod["status"]["conditions"] if c["type"] == GATE), None)


@pytest.mark.parametrize("mode", [{}, {"mode": "prestop"}], ids=["shim", "prestop"])
def test_removal_from_every_slice_is_confirmed_before_the_drain_ends(make_release, mode):
    release = make(make_release, "--rate", "20", **mode)
    name = release.pod()["metadata"]["name"]
    _, log = release.watch(name)
    stream = release.stream(max_tokens=120)
    release.kubectl("delete", "pod", name, "--wait=false")
    assert stream.next()["outcome"] == "completed"
    gone(release, name)
    found = records(log)
    confirmed = position(found, msg="registry", state="deregistered")
    assert confirmed < position(found, msg="phase ended", phase="draining")
    [report] = reports_in(log.text())
    assert report["phases"]["deregistering"]["outcome"] == "completed"
    assert not [r for r in found if r["msg"] == "registry" and r["state"] == "failed"]


def test_gate_label_and_event_need_no_more_than_the_charts_rights(make_release):
    registry = {"readiness_gate": GATE, "serving_label": LABEL, "event": True}
    # Helm waits for Ready, and the gate is a part of that.
    release = make(make_release, registry=registry)
    pod = release.pod()
    name = pod["metadata"]["name"]
    assert condition(pod) == "True"
    assert pod["metadata"]["labels"][LABEL] == "true"
    inside = ["exec", name, "-c", "lastcall", "--", "lastcall"]
    release.kubectl(*inside, "drain")
    wait_until(lambda: condition(release.pod()) == "False", "the gate is closed")
    assert LABEL not in release.pod()["metadata"]["labels"]
    wait_until(lambda: release.targets() == [], "no endpoint is ready")
    release.kubectl(*inside, "resume")
    wait_until(lambda: condition(release.pod()) == "True", "the gate is open")
    wait_until(lambda: len(release.targets()) == 1, "an endpoint is ready")
    _, log = release.watch(name)
    release.kubectl("delete", "pod", name, "--wait=false")
    gone(release, name)

    def events():
        found = json.loads(release.kubectl("get", "events", "-o", "json"))["items"]
        return [e for e in found if e["source"].get("component") == "lastcall"]

    def of_the_stop():
        return [e for e in events() if e["reason"] != "OperatorOrder"]

    [event] = wait_until(of_the_stop, "the Event")
    assert event["involvedObject"]["name"] == name
    assert (event["reason"], event["type"]) == ("Drained", "Normal")
    assert len(events()) == 3  # with those of the drain and of its end
    assert "forbidden" not in log.text()


def test_a_shorter_grace_of_the_deletion_is_kept(make_release):
    release = make(make_release, "--rate", "10", config={"shutdown": {"grace_period": "60s"}})
    name = release.pod()["metadata"]["name"]
    states, log = release.watch(name)
    stream = release.stream(max_tokens=100_000)
    release.kubectl("delete", "pod", name, "--grace-period=10", "--wait=false")
    end = stream.next()
    assert (end["outcome"], end.get("kind")) == ("error", "migrated")
    gone(release, name)
    [report] = reports_in(log.text())
    assert (report["cause"], report["exit_code"]) == ("signal", 0)
    assert report["requests"]["migrated"] == 1
    assert records(log)[position(records(log), msg="the pod is being deleted")]["grace_s"] == 10


def test_a_signal_of_the_sidecars_own_is_the_pods_end_when_the_pod_is_deleted(make_release):
    """A preStop of the engine's container holds the TERM for its shim back, for longer than all."""
    release = make(make_release, "--rate", "20", mode="plain")
    hold = {"lifecycle": {"preStop": {"exec": {"command": ["sleep", "25"]}}}, "name": "engine"}
    patch = {"spec": {"template": {"spec": {"containers": [hold]}}}}
    release.kubectl("patch", "deployment", "x-lastcall", "-p", json.dumps(patch))
    release.kubectl("rollout", "status", "deployment/x-lastcall", "--timeout=170s")
    wait_until(lambda: len(release.pods()) == 1, "the old pod is on its way", patience=90)
    name = release.pod()["metadata"]["name"]
    _, log = release.watch(name)
    stream = release.stream(max_tokens=120)
    release.kubectl("delete", "pod", name, "--wait=false")
    assert stream.next()["outcome"] == "completed"
    wait_until(lambda: reports_in(log.text()), "the drain report")
    [report] = reports_in(log.text())
    assert (report["cause"], report["mode"], report["exit_code"]) == ("own_signal", "graceful", 0)
    gone(release, name)
