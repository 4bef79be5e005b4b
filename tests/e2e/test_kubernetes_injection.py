"""Injection by a real API server: the policies of charts/lastcall-injector, and the golden pods.

The comparison needs the API server alone (server-side dry-run), with MutatingAdmissionPolicy."""

import copy
import hashlib
import json
import os
import re
import subprocess
import uuid
from pathlib import Path

import pytest
import yaml
from kube_release import HELM, KUBECTL
from kube_stranger import version_of_policies

ROOT = Path(__file__).resolve().parents[2]
INJECTOR = ROOT / "charts/lastcall-injector"
GOLDEN = ROOT / "tests/chart/golden"
PODS = sorted((GOLDEN / "pods").glob("*.yaml"))
# Each process that runs some of these tests has an injector of its own, for one namespace's pods:
# with a name that they share, the first to end would take it from the others.
SPACE = RELEASE = f"lc-{uuid.uuid4().hex[:8]}"
ONLY_HERE = ("namespaceSelector.matchExpressions=null",
             rf"namespaceSelector.matchLabels.kubernetes\.io/metadata\.name={SPACE}")  # fmt: skip


def kubectl(*words, text=None, check=True):
    done = subprocess.run([KUBECTL, *words], input=text, capture_output=True, text=True, timeout=60)
    assert not check or done.returncode == 0, done.stderr
    return done


def rendered(version, *settings):
    words = [word for each in settings for word in ("--set", each)]
    return subprocess.run(
        [HELM, "template", RELEASE, INJECTOR, "--kube-version", "1.34.0",
         "--set", f"apiVersion={version}", *words],
        capture_output=True, text=True, timeout=60, check=True,
    ).stdout  # fmt: skip


def in_effect(labelled):
    """The API server takes a policy up a moment after it was created: until a pod is injected."""
    for _ in range(300):
        made = dry_run(labelled, check=False)
        if made.returncode == 0 and '"lastcall-install"' in made.stdout:
            return
    raise AssertionError(f"the policy does nothing: {made.stderr}")


@pytest.fixture(scope="module")
def cluster():
    text = rendered(version_of_policies(), *ONLY_HERE)
    kubectl("create", "namespace", SPACE)
    try:
        kubectl("apply", "-f", "-", text=text)
        in_effect(asking(GOLDEN / "pods/command.yaml"))
        yield text
    finally:
        kubectl("delete", "--ignore-not-found", "-f", "-", text=text)
        kubectl("delete", "namespace", SPACE, "--wait=false")


def dry_run(pod, check=True):
    return kubectl("-n", SPACE, "create", "--dry-run=server", "-o", "json", "-f", "-",
                   text=json.dumps(pod), check=check)  # fmt: skip


def asking(path):
    pod = yaml.safe_load(path.read_text())
    pod["metadata"].setdefault("labels", {})["lastcall.dev/inject"] = "true"
    return pod


def without_token(spec):
    """What the admission of service accounts adds, where it is on."""
    spec = copy.deepcopy(spec)
    spec["volumes"] = [v for v in spec["volumes"] if not v["name"].startswith("kube-api-access")]
    for each in spec["initContainers"] + spec["containers"]:
        mounts = [m for m in each.get("volumeMounts", [])
                  if not m["name"].startswith("kube-api-access")]  # fmt: skip
        if "volumeMounts" in each:
            each["volumeMounts"] = mounts
    return spec


@pytest.mark.parametrize("path", PODS, ids=lambda path: path.stem)
def test_the_policy_makes_the_golden_pod(cluster, path):
    """The golden pod goes through the server, too, for its defaults; it has lastcall already."""
    made = json.loads(dry_run(asking(path)).stdout)
    golden = json.loads(dry_run(asking(GOLDEN / "native" / path.name)).stdout)
    assert without_token(made["spec"]) == without_token(golden["spec"])


@pytest.mark.parametrize("path", PODS, ids=lambda path: path.stem)
def test_a_plain_golden_pod_is_one_that_the_server_takes(cluster, path):
    pod = yaml.safe_load((GOLDEN / "plain" / path.name).read_text())
    pod["metadata"].get("labels", {}).pop("lastcall.dev/inject", None)
    assert dry_run(pod)


def blocks_of(page):
    text = (ROOT / "docs" / page).read_text()
    return re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("at", [0, 1], ids=["job", "stateful_set"])
def test_the_objects_of_the_docs_are_ones_that_the_server_takes(cluster, at):
    text = blocks_of("other-workloads.md")[at]
    assert kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", text=text)


def test_a_pod_that_does_not_ask_stays_as_it_is(cluster):
    pod = yaml.safe_load((GOLDEN / "pods/bare.yaml").read_text())
    made = json.loads(dry_run(pod).stdout)["spec"]
    assert [each["name"] for each in made["containers"]] == ["engine"]
    assert "initContainers" not in made and made["terminationGracePeriodSeconds"] == 30


def changed(**annotations):
    pod = asking(GOLDEN / "pods/annotated.yaml")
    notes = {**pod["metadata"]["annotations"], **annotations}
    pod["metadata"]["annotations"] = {key: value for key, value in notes.items() if value}
    return pod


def hooked():
    pod = asking(GOLDEN / "pods/entry-point.yaml")
    pod["spec"]["containers"][0]["lifecycle"] = {"preStop": {"exec": {"command": ["sleep", "5"]}}}
    return pod


def unstartable(**spec):
    pod = asking(GOLDEN / "pods/port-udp.yaml")
    pod["spec"] |= spec
    return pod


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        (changed(**{"lastcall.dev/container": "other"}),
         "lastcall.dev/container is other, expected the name of a container"),
        (changed(**{"lastcall.dev/config.shutdown.grace_period": "90"}),
         "shutdown.grace_period is 90, expected 1s to 24h"),
        (changed(**{"lastcall.dev/config.shutdown.grace_period": "25h"}),
         "shutdown.grace_period is 25h, expected 1s to 24h"),
        (changed(**{"lastcall.dev/config.shutdown.grace_period": "999999999h"}),
         "shutdown.grace_period is 999999999h, expected 1s to 24h"),
        (changed(**{"lastcall.dev/config.shutdown.grace_period": "500ms"}),
         "shutdown.grace_period is 500ms, expected 1s to 24h"),
        (changed(**{"lastcall.dev/config": "shutdown:\n  grace_period: 2m\n",
                    "lastcall.dev/config.shutdown.grace_period": None}),
         "the file in lastcall.dev/config gives shutdown.grace_period"),
        (changed(**{"lastcall.dev/config.ipc.socket": "/x"}), "injection decides"),
        (changed(**{f"lastcall.dev/config.k{i}": "v" for i in range(25)}), "more than 24"),
        (hooked(), "container server has no command"),
        (unstartable(volumes=[{"name": "opt", "configMap": {"name": "x"}}]),
         "a volume of container vllm is mounted at /opt or /run and is read-only"),
        (unstartable(terminationGracePeriodSeconds=86403),
         "terminationGracePeriodSeconds is 86403, expected at most 86402"),
        (unstartable(containers=[{"name": "vllm", "image": "v", "command": ["v"], "volumeMounts":
                                  [{"name": "opt", "mountPath": "/opt/lastcall/x"}]}]),
         "a volume of container vllm is mounted at or below /opt/lastcall or /run/lastcall"),
        (unstartable(containers=[{"name": "vllm", "image": "v", "command": ["v"], "volumeMounts":
                                  [{"name": "opt", "mountPath": "/.//run/./lastcall/"}]}]),
         "a volume of container vllm is mounted at or below /opt/lastcall or /run/lastcall"),
        (unstartable(containers=[{"name": "vllm", "image": "v", "command": ["v"], "volumeMounts":
                                  [{"name": "opt", "mountPath": "/a/../opt/lastcall"}]}]),
         "a volume of container vllm is mounted at or below /opt/lastcall or /run/lastcall"),
        (unstartable(containers=[{"name": "vllm", "image": "v", "command": ["v"],
                                  "ports": [{"containerPort": 7090}]}]),
         "a container has port 7090, which is the sidecar's"),
        (unstartable(initContainers=[{"name": "cache", "image": "c", "restartPolicy": "Always",
                                      "ports": [{"containerPort": 7090}]}]),
         "a container has port 7090, which is the sidecar's"),
    ],
    ids=["container", "grace", "long", "overflow", "short", "file", "decided", "many", "hook",
         "read_only", "day", "below", "dots", "above", "port", "port_of_sidecar"],
)  # fmt: skip
def test_a_pod_that_cannot_be_injected_is_refused_with_the_reason(cluster, pod, reason):
    refusal = dry_run(pod, check=False).stderr
    assert "lastcall cannot be put into this pod" in refusal and reason in refusal


def test_as_many_annotations_as_are_allowed_come_in_the_order_of_their_keys(cluster):
    keys = {f"lastcall.dev/config.k{i}": str(i) for i in range(20)}
    pod = json.loads(dry_run(changed(**keys)).stdout)
    [sidecar] = [c for c in pod["spec"]["initContainers"] if c["name"] == "lastcall"]
    words = [word for word in sidecar["args"] if word.startswith("--set=")]
    names = [word.removeprefix("--set=").split("=")[0] for word in words]
    assert len(names) == 4 + 20 + 3 and names == sorted(names)


@pytest.mark.parametrize("setting", ["selectBy=annotation", "pods.imagePullSecrets[0].name=pull"])
def test_a_policy_with_other_values_is_one_that_the_server_takes(cluster, setting):
    text = rendered(version_of_policies(), setting).replace(RELEASE, "other-values")
    assert kubectl("apply", "--dry-run=server", "-f", "-", text=text)


def test_the_policy_that_was_tried_is_written_down(cluster):
    """tests/chart compares the policy that it renders with this; last, so after all comparisons."""
    objects = {each["kind"]: each for each in yaml.safe_load_all(cluster) if each}
    specs = [objects[kind]["spec"] for kind in sorted(objects) if kind.endswith("Policy")]
    for spec in specs:
        spec["matchConstraints"].pop("namespaceSelector")
    found = hashlib.sha256(json.dumps(specs, sort_keys=True).encode()).hexdigest()
    file = GOLDEN / "policy.json"
    if os.environ.get("LASTCALL_UPDATE_GOLDEN"):
        server = json.loads(kubectl("version", "-o", "json").stdout)["serverVersion"]["gitVersion"]
        file.write_text(json.dumps({"server": server, "sha256": found}, indent=2) + "\n")
    assert json.loads(file.read_text())["sha256"] == found
