"""docs/other-workloads.md: objects for copying, whose pods the library chart has rendered."""

import os
import re

import pytest
import yaml
from conftest import ROOT
from test_golden import injected

PAGE = ROOT / "docs/other-workloads.md"
INTRO = """# Other workloads

<!-- Written by tests/chart/test_other_workloads.py with LASTCALL_UPDATE_GOLDEN=1. Do not edit. -->

charts/lastcall makes a Deployment, a StatefulSet or a LeaderWorkerSet. Other workloads get the
same pod by [injection](injection.md): by a label, or with the library chart. If neither is
possible, use these objects to see what a pod needs. They were rendered by `lastcall-lib.inject` for
a cluster with native sidecars, and an API server accepts them as they are
(`tests/e2e/test_kubernetes_injection.py`). Replace the engine's image and command, and the images
of lastcall, with your own. [What a pod gets](injection.md#what-a-pod-gets) explains each part.
"""
JOB = """## A Job

The engine of a Job exits when its work is done, and its exit code becomes the Job's. From the
`restartPolicy` follows that `engine.on_exit` is `propagate`, because otherwise an exit with 0
counts as a failure. A native sidecar ends with the engine. A plain sidecar (`mode: plain`, before
Kubernetes 1.29) also gets `shutdown.after_stop: exit`; otherwise the supervisor would wait for the
next engine, and the Job would never complete.
"""
SET = """## A workload with names of its own

This is a StatefulSet; the `leaderTemplate` of a LeaderWorkerSet has the same pod. The pods of its
workers get the kubelet's TERM at once when the group is deleted. Give them a `preStop` hook that
waits for as long as the leader may drain; the chart's own (`workload: LeaderWorkerSet`) waits for
the end of their leader's lastcall.
"""


def template(notes):
    return {
        "metadata": {"labels": {"app": "engine"}, "annotations": notes},
        "spec": {
            "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "fsGroup": 1000},
            "containers": [{
                "name": "engine", "image": "vllm/vllm-openai:v0.10.0",
                "command": ["vllm", "serve", "Qwen/Qwen3-0.6B"],
                "ports": [{"name": "http", "containerPort": 8000, "protocol": "TCP"}],
            }],
        },
    }  # fmt: skip


def objects(helm, folder):
    job = template({})
    job["spec"]["restartPolicy"] = "Never"
    made = [injected(helm, folder, pod) for pod in (job, template({}))]
    for pod in made:
        del pod["apiVersion"], pod["kind"]
        if not pod["metadata"]["annotations"]:
            del pod["metadata"]["annotations"]
    meta = {"name": "engine", "labels": {"app": "engine"}}
    return [
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta,
         "spec": {"backoffLimit": 2, "template": made[0]}},
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta,
         "spec": {"serviceName": "engine", "replicas": 1,
                  "selector": {"matchLabels": {"app": "engine"}}, "template": made[1]}},
    ]  # fmt: skip


def page(helm, folder):
    blocks = [
        f"```yaml\n{yaml.safe_dump(each, sort_keys=False, width=110)}```\n"
        for each in objects(helm, folder)
    ]
    return "\n".join([INTRO, JOB, blocks[0], SET, blocks[1]])


def test_the_page_is_what_the_library_renders(helm, tmp_path):
    new = page(helm, tmp_path)
    if os.environ.get("LASTCALL_UPDATE_GOLDEN"):
        PAGE.write_text(new)
    assert PAGE.read_text() == new


@pytest.mark.parametrize("at", [0, 1])
def test_every_mount_of_the_page_has_its_volume(at):
    blocks = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    spec = yaml.safe_load(blocks[at])["spec"]["template"]["spec"]
    volumes = {volume["name"] for volume in spec["volumes"]}
    mounts = {mount["name"] for each in spec["initContainers"] + spec["containers"]
              for mount in each["volumeMounts"]}  # fmt: skip
    assert mounts == volumes
