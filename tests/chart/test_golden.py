"""Pods of other people with lastcall in them, as the library chart makes them (golden/)."""

import os
import shutil

import pytest
import yaml
from conftest import ROOT, container
from known_fields import CONTAINER, POD_SPEC, unknown_fields

GOLDEN = ROOT / "tests/chart/golden"
INJECTING = ROOT / "tests/chart/injecting"
PODS = sorted((GOLDEN / "pods").glob("*.yaml"))
FORMS = {"native": "1.34.0", "plain": "1.28.0"}


def injected(helm, folder, pod, *, kube="1.34.0", values=None, check=True):
    """A pod that another chart renders through the library."""
    file = folder / "values.yaml"
    template = {key: pod[key] for key in ("metadata", "spec")}
    file.write_text(yaml.safe_dump({"template": template, "lastcall": values or {}}))
    done = helm.template("-f", file, kube=kube, chart=INJECTING, check=check)
    return yaml.safe_load(done.stdout) if check else done


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("path", PODS, ids=lambda path: path.stem)
def test_the_library_makes_the_golden_pod(helm, tmp_path, path, form):
    found = injected(helm, tmp_path, yaml.safe_load(path.read_text()), kube=FORMS[form])
    golden = GOLDEN / form / path.name
    if os.environ.get("LASTCALL_UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(yaml.safe_dump(found, sort_keys=False, width=110))
    assert found == yaml.safe_load(golden.read_text())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("path", PODS, ids=lambda path: path.stem)
def test_a_golden_pod_has_only_fields_that_kubernetes_knows(path, form):
    spec = yaml.safe_load((GOLDEN / form / path.name).read_text())["spec"]
    assert unknown_fields(spec, POD_SPEC) == []
    names = [volume["name"] for volume in spec["volumes"]]
    assert len(names) == len(set(names))
    for each in spec["initContainers"] + spec["containers"]:
        assert {mount["name"] for mount in each.get("volumeMounts", [])} <= set(names)
        assert len({env["name"] for env in each.get("env", [])}) == len(each.get("env", []))
    assert CONTAINER.keys() >= container(spec, "lastcall").keys()


@pytest.mark.parametrize("path", PODS, ids=lambda path: path.stem)
def test_the_users_own_settings_are_still_there(path):
    """Injection adds: only the command, the grace, and a hook and probes without a shim differ."""
    before = yaml.safe_load(path.read_text())["spec"]
    after = yaml.safe_load((GOLDEN / "native" / path.name).read_text())["spec"]
    for each in before.get("initContainers", []) + before["containers"]:
        now = container(after, each["name"])
        for key, value in each.items():
            if key == "command":
                assert now[key][-len(value) :] == value
            elif isinstance(value, list):
                assert now[key][: len(value)] == value
            else:
                assert now[key] == value
    assert before.get("volumes", []) == after["volumes"][: len(before.get("volumes", []))]
    assert after["terminationGracePeriodSeconds"] >= before.get("terminationGracePeriodSeconds", 0)


@pytest.mark.parametrize("path", PODS, ids=lambda path: path.stem)
def test_the_configuration_of_a_golden_pod_is_one_that_lastcall_accepts(accepted_words, path):
    pod = yaml.safe_load((GOLDEN / "native" / path.name).read_text())
    words = container(pod["spec"], "lastcall")["args"]
    text = pod["metadata"].get("annotations", {}).get("lastcall.dev/config", "")
    assert accepted_words([word for word in words if word.startswith("--set=")], text)


@pytest.mark.parametrize("own", [None, "30s"])
def test_the_pods_grace_follows_that_of_the_file_unless_an_annotation_gives_it(
    helm, tmp_path, own
):
    pod = yaml.safe_load((GOLDEN / "pods/bare.yaml").read_text())
    notes = {"lastcall.dev/config": "shutdown: {grace_period: 2m}\n"}
    if own:
        notes["lastcall.dev/config.shutdown.grace_period"] = own
    pod["metadata"]["annotations"] = notes
    spec = injected(helm, tmp_path, pod)["spec"]
    assert spec["terminationGracePeriodSeconds"] == (32 if own else 122)
    words = container(spec, "lastcall")["args"]
    assert [word for word in words if "grace_period" in word] == (
        ["--set=shutdown.grace_period=30s"] if own else []
    )
    assert (own or "2m") in container(spec, "engine")["command"]


@pytest.mark.parametrize("own", [[], ["own", "both"]])
def test_secrets_for_the_images_are_added_to_the_pods_own(helm, tmp_path, own):
    pod = yaml.safe_load((GOLDEN / "pods/bare.yaml").read_text())
    if own:
        pod["spec"]["imagePullSecrets"] = [{"name": name} for name in own]
    values = {"imagePullSecrets": [{"name": "both"}, {"name": "ours"}]}
    secrets = injected(helm, tmp_path, pod, values=values)["spec"]["imagePullSecrets"]
    assert [each["name"] for each in secrets] == (own or ["both"]) + ["ours"]


def test_a_pod_that_has_lastcall_stays_as_it_is(helm, tmp_path):
    pod = yaml.safe_load((GOLDEN / "native/command.yaml").read_text())
    assert injected(helm, tmp_path, pod) == pod


def test_a_container_that_is_not_there_is_refused(helm, tmp_path):
    pod = yaml.safe_load((GOLDEN / "pods/annotated.yaml").read_text())
    pod["metadata"]["annotations"]["lastcall.dev/container"] = "other"
    refusal = injected(helm, tmp_path, pod, check=False).stderr
    assert "lastcall.dev/container is other, expected the name of a container" in refusal


def test_a_second_prestop_hook_is_refused(helm, tmp_path):
    pod = yaml.safe_load((GOLDEN / "pods/entry-point.yaml").read_text())
    pod["spec"]["containers"][0]["lifecycle"] = {"preStop": {"exec": {"command": ["sleep", "5"]}}}
    refusal = injected(helm, tmp_path, pod, check=False).stderr
    assert "container server has no command" in refusal and "written out as the command" in refusal


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"volumes": [{"name": "opt", "secret": {"secretName": "x"}}]},
         "the volume opt at /opt of container vllm is read-only, expected it to be writable"),
        ({"terminationGracePeriodSeconds": 86403},
         "terminationGracePeriodSeconds is 86403, expected at most 86402"),
        ({"containers": [{"name": "vllm", "image": "v", "command": ["v"],
                          "ports": [{"containerPort": 7090}]}]},
         "container vllm has port 7090, which is the sidecar's"),
        ({"initContainers": [{"name": "cache", "image": "c", "restartPolicy": "Always",
                              "ports": [{"containerPort": 7090}]}]},
         "container cache has port 7090, which is the sidecar's"),
        ({"containers": [{"name": "vllm", "image": "v", "command": ["v"],
                          "volumeMounts": [{"name": "a", "mountPath": "/opt/lastcall/x"}]}]},
         "the volume a of container vllm is mounted at /opt/lastcall/x, expected nothing"),
        ({"containers": [{"name": "vllm", "image": "v", "command": ["v"],
                          "volumeMounts": [{"name": "a", "mountPath": "/a/..//run/./lastcall/"}]}]},
         "the volume a of container vllm is mounted at /a/..//run/./lastcall/, expected nothing"),
        ({"volumes": [{"name": "opt", "secret": {"secretName": "x"}}],
          "containers": [{"name": "vllm", "image": "v", "command": ["v"],
                          "volumeMounts": [{"name": "opt", "mountPath": "opt/."}]}]},
         "the volume opt at opt/. of container vllm is read-only, expected it to be writable"),
    ],
)  # fmt: skip
def test_a_pod_that_could_not_start_is_refused(helm, tmp_path, spec, reason):
    pod = yaml.safe_load((GOLDEN / "pods/port-udp.yaml").read_text())
    pod["spec"] |= spec
    assert reason in injected(helm, tmp_path, pod, check=False).stderr


def test_a_grace_period_without_a_value_is_refused(helm, tmp_path):
    pod = yaml.safe_load((GOLDEN / "pods/bare.yaml").read_text())
    pod["metadata"]["annotations"] = {"lastcall.dev/config.shutdown.grace_period": ""}
    refusal = injected(helm, tmp_path, pod, check=False).stderr
    assert "lastcall.dev/config.shutdown.grace_period is , expected 1s to 24h" in refusal


@pytest.mark.parametrize("grace", ["90", "0s", "25h", "999999999999999h", "1m30s"])
def test_a_grace_period_that_the_sidecar_would_refuse_is_refused_by_its_name(helm, tmp_path, grace):
    pod = yaml.safe_load((GOLDEN / "pods/bare.yaml").read_text())
    for key, told in ((".shutdown.grace_period", grace),
                      ("", yaml.safe_dump({"shutdown": {"grace_period": grace}}))):  # fmt: skip
        pod["metadata"]["annotations"] = {f"lastcall.dev/config{key}": told}
        refusal = injected(helm, tmp_path, pod, check=False).stderr
        assert "shutdown.grace_period" in refusal and "lastcall.dev/config" in refusal
        assert f" is {grace}, expected 1s to 24h" in refusal


@pytest.mark.parametrize("uid", [0, -1, "root"])
def test_a_sidecar_that_would_be_root_is_refused(helm, tmp_path, uid):
    pod = yaml.safe_load((GOLDEN / "pods/bare.yaml").read_text())
    refusal = injected(helm, tmp_path, pod, values={"uid": uid}, check=False).stderr
    assert f"uid is {uid}, expected 1 or more" in refusal


def test_a_grace_of_more_than_a_day_may_have_a_grace_period_besides_it(helm, tmp_path):
    pod = yaml.safe_load((GOLDEN / "pods/port-udp.yaml").read_text())
    pod["spec"]["terminationGracePeriodSeconds"] = 100000
    pod["metadata"]["annotations"] = {"lastcall.dev/config.shutdown.grace_period": "24h"}
    assert injected(helm, tmp_path, pod)["spec"]["terminationGracePeriodSeconds"] == 100000


@pytest.mark.parametrize("key", ["ipc.socket", "probes.listen", "lifecycle.http"])
def test_keys_that_injection_decides_itself_are_refused_as_annotations(helm, tmp_path, key):
    pod = yaml.safe_load((GOLDEN / "pods/annotated.yaml").read_text())
    pod["metadata"]["annotations"][f"lastcall.dev/config.{key}"] = "x"
    assert f"lastcall.dev/config.{key}" in injected(helm, tmp_path, pod, check=False).stderr


def test_the_values_of_the_chart_above_go_over_the_defaults(helm, tmp_path):
    pod = yaml.safe_load((GOLDEN / "pods/command.yaml").read_text())
    values = {"image": {"repository": "r/lastcall", "tag": "9"}, "mode": "plain",
              "gracePeriod": "5m", "install": {"resources": {"limits": {"cpu": "1"}}}}  # fmt: skip
    spec = injected(helm, tmp_path, pod, values=values)["spec"]
    assert [each["name"] for each in spec["containers"]] == ["lastcall", "vllm", "logs"]
    assert container(spec, "lastcall")["image"] == "r/lastcall:9"
    limits = container(spec, "lastcall-install")["resources"]["limits"]
    assert limits == {"cpu": "1", "memory": "32Mi"}
    assert spec["terminationGracePeriodSeconds"] == 302


@pytest.mark.parametrize(
    ("values", "kube", "words"),
    [
        ({"graceperiod": "5s"}, "1.34.0", "values has graceperiod, expected one of gracePeriod"),
        ({"mode": "prestop"}, "1.34.0", "mode is prestop, expected auto, native or plain"),
        ({"mode": "native"}, "1.28.0", "mode native needs Kubernetes 1.29, this cluster is"),
    ],
)
def test_values_that_the_library_cannot_use_are_refused(helm, tmp_path, values, kube, words):
    pod = yaml.safe_load((GOLDEN / "pods/bare.yaml").read_text())
    done = injected(helm, tmp_path, pod, values=values, kube=kube, check=False)
    assert words in done.stderr


def test_the_linter_finds_nothing(helm):
    helm("lint", "--strict", ROOT / "charts/lastcall-lib")


def test_the_library_is_packed_into_the_chart(helm, tmp_path):
    """A package has the library in it, though the tree has a link there."""
    helm("package", ROOT / "charts/lastcall", "-d", tmp_path)
    [package] = tmp_path.glob("lastcall-*.tgz")
    shutil.unpack_archive(package, tmp_path)
    assert (tmp_path / "lastcall/charts/lastcall-lib/templates/_pod.tpl").is_file()
    assert helm.objects("-f", ROOT / "charts/lastcall/examples/vllm.yaml", chart=package)


def test_the_defaults_of_the_library_are_those_of_the_chart(helm):
    chart = yaml.safe_load((ROOT / "charts/lastcall/values.yaml").read_text())
    text = (ROOT / "charts/lastcall-lib/templates/_inject.tpl").read_text()
    text = text.split('define "lastcall-lib.defaults" -}}\n')[1].split("{{- end -}}")[0]
    library = yaml.safe_load(text)
    for key in ("mode", "image", "shimImage", "install"):
        assert library[key] == chart[key], key
    for key in ("resources", "readinessProbe", "livenessProbe", "startupProbe"):
        assert library["sidecar"][key] == chart["sidecar"][key], key
    security = library["sidecar"]["securityContext"]
    assert {**chart["sidecar"]["securityContext"], **security} == security
    charts = [yaml.safe_load((ROOT / f"charts/{name}/Chart.yaml").read_text())
              for name in ("lastcall", "lastcall-lib", "lastcall-injector")]  # fmt: skip
    versions = {chart[key] for chart in charts for key in ("version", "appVersion")}
    names = (ROOT / "charts/lastcall-lib/templates/_names.tpl").read_text()
    assert len(versions) == 1 and f"\n{versions.pop()}\n" in names
