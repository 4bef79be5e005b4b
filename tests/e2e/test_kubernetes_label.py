"""A Deployment that knows nothing of lastcall, supervised by a label, by a pipe, or by a flag."""

import json
import os

import pytest
from client import wait_until
from kube_load import loaded, roll_out, rolled_out
from kube_release import HELM, KUBECTL, call
from kube_stranger import PROGRAMS, Stranger, comparable, inject_into, names_of


@pytest.fixture
def make_stranger(make_release):
    strangers = []

    def make():
        strangers.append(Stranger())
        return strangers[-1]

    yield make
    for each in strangers:
        call(HELM, "uninstall", each.namespace, "-n", each.namespace, check=False)
        each.close()


def labelled(stranger, by="policy"):
    inject_into(stranger.namespace, by=by)
    stranger.install()
    assert all(names_of(pod) == [] for pod in stranger.pods())
    stranger.replaced(stranger.label)
    return stranger


def piped(stranger):
    stranger.install()
    stranger.replaced(stranger.pipe)
    return stranger


def post_rendered(stranger, folder):
    stranger.post_render(str(folder))
    return stranger.started()


def way(name, stranger, folder):
    if name == "flag":
        return post_rendered(stranger, folder)
    if name == "pipe":
        return piped(stranger)
    return labelled(stranger, "webhook" if name == "webhook" else "policy")


WAYS = ("label", "webhook", "pipe", "flag")


@pytest.mark.parametrize("name", WAYS)
def test_a_rollout_under_load_loses_nothing(make_stranger, name, tmp_path):
    stranger = way(name, make_stranger(), tmp_path)
    for pod in stranger.pods():
        assert names_of(pod) == ["lastcall-install", "lastcall"]
    old = stranger.names()
    sums = loaded(stranger, lambda: roll_out(stranger), lambda: rolled_out(stranger, old))
    assert sums["problems"] == [], sums
    assert sums["outcomes"]["completed"] > 20


def test_each_way_gives_the_same_pod(make_stranger, tmp_path):
    specs = {name: comparable(way(name, make_stranger(), tmp_path).pods()[0])
             for name in WAYS}  # fmt: skip
    assert specs["webhook"] == specs["label"]
    assert specs["pipe"] == specs["label"]
    assert specs["flag"] == specs["label"]


@pytest.mark.parametrize("by", ["policy", "webhook"])
def test_its_stop_is_explained_and_uninstalling_changes_no_pod(make_stranger, by):
    stranger = labelled(make_stranger(), by)
    running = stranger.names()
    call(HELM, "uninstall", stranger.namespace, "-n", stranger.namespace)
    assert stranger.names() == running
    name = sorted(running)[0]
    states, _ = stranger.watch(name)
    stranger.kubectl("delete", "pod", name, "--wait=false")
    wait_until(lambda: name not in stranger.names(), "its end", patience=120)
    said = [status["state"]["terminated"].get("message", "")
            for state in states.states()
            for status in state["status"].get("containerStatuses", [])
            if "terminated" in status["state"]]  # fmt: skip
    assert any('"cause":"signal"' in message for message in said), said


def test_a_failed_engine_is_explained_by_describe(make_stranger):
    stranger = piped(make_stranger())
    pod = stranger.pods()[0]
    name = pod["metadata"]["name"]
    stranger.client.post(stranger.url("/sim/control", pod=pod), {"crash": "segv"})

    def described():
        text = stranger.kubectl("describe", "pod", name)
        parts = ("Last State", '"cause":"engine_exited"', '"exit_code":1')
        return text if all(part in text for part in parts) else None

    wait_until(described, "the report in `kubectl describe`", patience=90)


def test_a_rollout_is_shown_in_one_line_and_its_pods_in_a_table(make_stranger):
    stranger = piped(make_stranger())
    program = os.path.join(PROGRAMS, "lastcall")
    where = ["deployment/x-lastcall", "-n", stranger.namespace]
    table = call(program, "rollout", "status", *where).splitlines()
    assert [line.split()[3] for line in table[1:]] == ["serving", "serving"]
    patch = {"spec": {"template": {"metadata": {"annotations": {"turn": "2"}}}}}
    change = [KUBECTL, "-n", stranger.namespace, "patch", "deployment", "x-lastcall",
              "-p", json.dumps(patch)]  # fmt: skip
    lines = call(program, "rollout", "watch", *where, "--timeout", "160s", "--", *change)
    *pods, verdict = lines.splitlines()
    assert len(pods) == 2 and all(": signal: " in line for line in pods), lines
    assert verdict.startswith("2 pods, ") and verdict.endswith(" 0 lost"), lines
