"""Names and labels: any that Kubernetes takes, and after an upgrade the same; charts above."""

import re
import shutil

import pytest
import yaml
from conftest import CHART, DEMO, container, sets

RESERVED = ["app.kubernetes.io/name", "app.kubernetes.io/instance"]


def every_text_is_a_text(value, path=""):
    """A label, a name or an argument that YAML reads as a number or a boolean is none."""
    if isinstance(value, dict):
        for key, element in value.items():
            assert isinstance(key, str), f"{path}: {key!r}"
            every_text_is_a_text(element, f"{path}.{key}")
    elif isinstance(value, list):
        for element in value:
            every_text_is_a_text(element, path)
    elif path.rsplit(".", 1)[-1] in TEXTS or ".labels." in path or ".matchLabels." in path:
        assert isinstance(value, str), f"{path}: {value!r}"


TEXTS = {"name", "namespace", "command", "args", "image", "priorityClassName", "runtimeClassName",
         "serviceAccountName", "value", "conditionType", "type", "dnsPolicy"}  # fmt: skip


@pytest.mark.parametrize("name", ["123", "true", "null", "1e3", "a.b"])
def test_a_name_that_looks_like_something_else_stays_a_name(helm, name):
    words = ["-f", DEMO, "-n", name, *sets("service.enabled=false", "rbac.create=true")]
    for key in ("nameOverride", "priorityClassName", "runtimeClassName", "serviceAccountName",
                "podLabels.a", "commonLabels.b", "podAnnotations.c", "engine.args[0]"):  # fmt: skip
        words += ["--set-string", f"{key}={name}"]
    objects = helm.objects(*words, release=name)
    for each in objects.values():
        every_text_is_a_text(each)
    labels = objects["Deployment"]["spec"]["selector"]["matchLabels"]
    assert labels == {"app.kubernetes.io/name": name, "app.kubernetes.io/instance": name}


@pytest.mark.parametrize("mode", ["native", "prestop"])
def test_a_socket_of_any_name_reaches_the_engine(helm, accepted, mode):
    path = "/run/lastcall/a: b #c.sock"
    words = ("-f", DEMO, *sets(f"mode={mode}", f"config.ipc.socket={path}"))
    assert accepted(helm.config(*words))
    engine = container(helm.pod(*words), "engine")
    given = [each.get("value") for each in engine["env"]] + engine["command"]
    assert path in given


def test_a_name_that_no_service_can_have_is_refused(helm):
    refusal = helm.refusal("-f", DEMO, release="1a")
    assert '"1a-lastcall" is not a name for a Service' in refusal and "fullnameOverride" in refusal
    assert "fullnameOverride" in helm.refusal("-f", DEMO, release="a.b")
    assert helm.objects("-f", DEMO, *sets("fullnameOverride=a1"), release="1a")
    assert helm.objects("-f", DEMO, *sets("service.enabled=false"), release="1a")
    refusal = helm.refusal("-f", DEMO, *sets("nameOverride=Big", "service.enabled=false"))
    assert '"x-Big" is not a name for an object' in refusal


@pytest.mark.parametrize(
    "setting",
    ["workload=StatefulSet", "metrics.service.enabled=true", "metrics.serviceMonitor.enabled=true",
     "router.enabled=true"],
)  # fmt: skip
def test_a_name_that_no_service_can_have_is_refused_if_any_setting_makes_one(helm, setting):
    own = ("router.config.workers[0].static.urls[0]=http://10.0.0.7:8000",)
    words = sets("service.enabled=false", *own, setting)
    refusal = helm.refusal("-f", DEMO, *words, release="1a")
    assert '"1a-lastcall" is not a name for a Service' in refusal
    assert f"set fullnameOverride ({setting.split('=')[0]} makes one)" in refusal


@pytest.mark.parametrize("name", ["1a", "a.b", "1" * 53])
def test_the_service_of_the_test_has_a_name_that_services_can_have(helm, name):
    objects = helm.all_objects("-f", DEMO, *sets("service.enabled=false"), release=name)
    [service] = [each["metadata"]["name"] for each in objects if each["kind"] == "Service"]
    assert re.fullmatch("[a-z]([-a-z0-9]{0,61}[a-z0-9])?", service)
    [pod] = [each for each in objects if each["kind"] == "Pod"]
    assert f"{service}:7090" in pod["spec"]["containers"][0]["args"]


@pytest.mark.parametrize(
    ("workload", "longest"), [("StatefulSet", 52), ("LeaderWorkerSet", 48), ("Deployment", 63)]
)
def test_a_name_is_as_long_as_the_labels_that_are_made_from_it_allow(helm, workload, longest):
    """controller-revision-hash is the name, a dash and up to ten characters: 63 at most."""
    words = ("-f", DEMO, *sets(f"workload={workload}", "leaderWorkerSet.worker.args[0]=w"))
    assert helm.template(*words, *sets(f"fullnameOverride={'a' * longest}"))
    refusal = helm.refusal(*words, *sets(f"fullnameOverride={'a' * (longest + 1)}"))
    if longest < 63:
        assert f"has {longest + 1} characters, expected at most {longest} for a" in refusal


@pytest.mark.parametrize("key", ["nameOverride", "fullnameOverride", "serviceAccountName"])
@pytest.mark.parametrize("name", ["a/b", "a b", "-a"])
def test_a_name_that_nothing_can_have_is_refused_by_its_key(helm, key, name):
    assert key in helm.refusal("-f", DEMO, *sets(f"{key}={name}"))


@pytest.mark.parametrize("key", ["podLabels", "commonLabels"])
@pytest.mark.parametrize("label", RESERVED)
def test_a_label_by_which_pods_are_found_is_refused(helm, key, label):
    setting = f"{key}.{label.replace('.', chr(92) + '.')}=mine"
    refusal = helm.refusal("-f", DEMO, *sets(setting))
    assert f"{key} has {label}" in refusal


def test_any_other_label_and_annotation_of_the_users_is_there_once(helm):
    settings = sets(
        r"podLabels.app\.kubernetes\.io/version=v9", "commonLabels.team=a", "podLabels.team=b",
        r"podAnnotations.kubectl\.kubernetes\.io/default-container=lastcall",
    )  # fmt: skip
    rendered = helm.template("-f", DEMO, *settings, "-s", "templates/deployment.yaml").stdout
    metadata = yaml.safe_load(rendered)["spec"]["template"]["metadata"]
    assert metadata["labels"]["app.kubernetes.io/version"] == "v9"
    assert metadata["labels"]["team"] == "b"
    assert metadata["annotations"]["kubectl.kubernetes.io/default-container"] == "lastcall"
    assert rendered.count("default-container") == 1 and rendered.count("team: b") == 1


def test_the_labels_by_which_pods_are_found_never_change(helm):
    objects = helm.objects("-f", DEMO, *sets("commonLabels.a=b", "podLabels.c=d"))
    expected = {"app.kubernetes.io/name": "lastcall", "app.kubernetes.io/instance": "x"}
    assert objects["Deployment"]["spec"]["selector"] == {"matchLabels": expected}
    assert objects["Service"]["spec"]["selector"] == expected
    labels = objects["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert expected.items() <= labels.items()


@pytest.mark.parametrize("first", [{}, {"sidecar": {"resources": {"limits": {"memory": "128Mi"}}}}])
def test_a_release_with_the_values_of_an_older_chart_is_upgraded(helm, tmp_path, first):
    """`helm upgrade --reuse-values` takes the defaults of the chart that it was installed with."""
    chart = shutil.copytree(CHART, tmp_path / "lastcall")
    values = yaml.safe_load((chart / "values.yaml").read_text())
    del values["engine"]["args"], values["service"]["targetPort"], values["serviceAccount"]
    values.update({**first, "sidecar": {**values["sidecar"], **first.get("sidecar", {})}})
    (chart / "values.yaml").write_text(yaml.safe_dump(values))
    settings = sets("config.ingress.max_connections=9", "rbac.create=true")
    pod = helm.pod("-f", DEMO, *settings, chart=chart)
    limit = container(pod, "lastcall")["resources"]["limits"]["memory"]
    assert limit == ("128Mi" if first else "1Gi")
    assert helm.pod("-f", DEMO, *sets("mode=prestop"), chart=chart)


def test_the_chart_can_be_a_dependency_that_is_switched_on_and_off(helm, tmp_path):
    above = tmp_path / "above"
    shutil.copytree(CHART, above / "charts/lastcall")
    dependency = {"name": "lastcall", "version": "0.1.0", "condition": "lastcall.enabled"}
    chart = {"apiVersion": "v2", "name": "above", "version": "1.0.0", "dependencies": [dependency]}
    (above / "Chart.yaml").write_text(yaml.safe_dump(chart))
    values = {**yaml.safe_load(DEMO.read_text()), "enabled": True, "replicaCount": None,
              "progressDeadlineSeconds": None}  # fmt: skip
    (above / "values.yaml").write_text(yaml.safe_dump({"lastcall": values}))
    assert "Deployment" in helm.objects(chart=above)
    assert "Deployment" not in helm.objects(*sets("lastcall.enabled=false"), chart=above)
