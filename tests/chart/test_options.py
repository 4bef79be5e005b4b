"""Single values of the chart: what null means, and what a user's own word replaces."""

import re

import pytest
import yaml
from conftest import CHART, DEMO, ROOT, VLLM, container, sets


def deployment(helm, *settings, **options):
    return helm.objects("-f", DEMO, *sets(*settings), **options)["Deployment"]


def test_an_autoscaler_is_left_the_number_of_pods(helm):
    assert "replicas" not in deployment(helm, "replicaCount=null")["spec"]
    assert deployment(helm, "replicaCount=0")["spec"]["replicas"] == 0
    assert deployment(helm)["spec"]["replicas"] == 1


@pytest.mark.parametrize(
    "key", ["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"]
)
def test_a_number_that_is_null_is_left_to_kubernetes(helm, key):
    assert key in deployment(helm)["spec"]
    assert key not in deployment(helm, f"{key}=null")["spec"]


@pytest.mark.parametrize(
    ("key", "word"),
    [
        ("engine.port", "port"), ("service.port", "port"), ("service.type", "type"),
        ("mode", "mode"), ("image.repository", "repository"), ("engine", "engine"),
        ("sidecar", "sidecar"), ("service", "service"), ("rbac", "rbac"),
    ],
)  # fmt: skip
def test_values_that_the_chart_needs_may_not_be_null(helm, key, word):
    refusal = helm.refusal("-f", DEMO, *sets(f"{key}=null"))
    assert re.search(f"(missing propert|required).*{word}|{word}.*(missing|required)", refusal)
    assert "nil pointer" not in refusal


@pytest.mark.parametrize(
    ("part", "key"),
    [
        ("persistence", "mountPath"),
        ("persistence", "size"),
        ("persistence", "accessModes"),
        ("router", "image"),
        ("router", "service"),
    ],
)
def test_what_a_part_needs_may_be_null_only_while_the_part_is_off(helm, part, key):
    assert helm.template("-f", DEMO, *sets(f"{part}.{key}=null"))
    assert key in helm.refusal("-f", DEMO, *sets(f"{part}.enabled=true", f"{part}.{key}=null"))


def test_a_claim_of_ones_own_needs_no_size(helm):
    words = ("persistence.enabled=true", "persistence.existingClaim=c")
    words += ("persistence.size=null", "persistence.accessModes=null")
    assert helm.template("-f", DEMO, *sets(*words))


@pytest.mark.parametrize(
    "key", ["securityContext", "resources", "env", "envFrom", "volumeMounts", "shimOptions", "args"]
)
def test_anything_of_the_engine_can_be_null(helm, accepted, key):
    words = ("-f", DEMO, *sets(f"engine.{key}=null"))
    engine = container(helm.pod(*words), "engine")
    assert key in ("env", "volumeMounts", "args") or key not in engine
    assert accepted(helm.config(*words))


@pytest.mark.parametrize(
    "key", ["securityContext", "resources", "readinessProbe", "livenessProbe", "startupProbe"]
)
def test_null_takes_a_part_of_the_sidecar_away(helm, key):
    assert key in container(deployment(helm)["spec"]["template"]["spec"], "lastcall")
    pod = deployment(helm, f"sidecar.{key}=null")["spec"]["template"]["spec"]
    assert key not in container(pod, "lastcall")


def test_null_never_turns_something_on(helm):
    """Kubernetes mounts a token unless it is asked not to."""
    keys = ("automountServiceAccountToken", "shareProcessNamespace", "dnsPolicy",
            "podSecurityContext", "updateStrategy", "config", "serviceAccount")  # fmt: skip
    spec = deployment(helm, *[f"{key}=null" for key in keys])["spec"]
    pod = spec["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False and pod["shareProcessNamespace"] is False
    assert not {"dnsPolicy", "securityContext"} & pod.keys() and "strategy" not in spec


def test_a_rollout_of_the_other_type_has_no_settings_of_the_first(helm):
    recreate = deployment(helm, "updateStrategy.type=Recreate")["spec"]["strategy"]
    assert recreate == {"type": "Recreate"}
    rolling = deployment(helm, "updateStrategy.rollingUpdate.maxSurge=2")["spec"]["strategy"]
    assert rolling == {
        "type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}
    }  # fmt: skip


@pytest.mark.parametrize("who", ["engine", "sidecar"])
def test_a_variable_that_is_no_text_is_refused(helm, who):
    refusal = helm.refusal("-f", DEMO, *sets(f"{who}.env[0].name=A", f"{who}.env[0].value=1"))
    assert re.search(rf"{who}.*env.*value", refusal) and "string" in refusal


@pytest.mark.parametrize("who", ["engine", "sidecar"])
def test_a_mount_at_tmp_takes_the_place_of_the_charts_own(helm, who):
    settings = (f"{who}.volumeMounts[0].name=mine", f"{who}.volumeMounts[0].mountPath=/tmp/")
    pod = deployment(helm, *settings)["spec"]["template"]["spec"]
    for name in ("engine", "lastcall"):
        mounts = [m["name"] for m in container(pod, name)["volumeMounts"]
                  if m["mountPath"].rstrip("/") == "/tmp"]  # fmt: skip
        assert mounts == (["mine"] if name == {"sidecar": "lastcall"}.get(who, who) else ["tmp"])


def test_a_volume_named_tmp_takes_the_place_of_the_charts_own(helm):
    settings = ("volumes[0].name=tmp", "volumes[0].emptyDir.sizeLimit=1Gi")
    pod = deployment(helm, *settings)["spec"]["template"]["spec"]
    found = [volume for volume in pod["volumes"] if volume["name"] == "tmp"]
    assert found == [{"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}}]


@pytest.mark.parametrize(
    ("mode", "kube", "first", "others"),
    [
        ("native", "1.32.0", ["lastcall-install", "fetch", "lastcall"], ["engine", "beside"]),
        ("plain", "1.28.0", ["lastcall-install", "fetch"], ["lastcall", "engine", "beside"]),
        ("prestop", "1.32.0", ["lastcall-install", "fetch"], ["lastcall", "engine", "beside"]),
    ],
)
def test_containers_of_the_users_run_before_the_supervisor_or_beside_the_engine(
    helm, mode, kube, first, others
):
    settings = ("initContainers[0].name=fetch", "initContainers[0].image=a",
                "extraContainers[0].name=beside", "extraContainers[0].image=b")  # fmt: skip
    pod = helm.pod("-f", DEMO, *sets(f"mode={mode}", *settings), kube=kube)
    assert [each["name"] for each in pod["initContainers"]] == first
    assert [each["name"] for each in pod["containers"]] == others
    assert container(pod, "beside") == {"name": "beside", "image": "b"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (("initContainers[0].name=lastcall",), 'initContainers has a container "lastcall"'),
        (("initContainers[0].name=a", "extraContainers[0].name=a"),
         'extraContainers has a container "a"'),
        (("extraContainers[0].image=a",), "name"),
    ],
)  # fmt: skip
def test_a_container_without_a_name_of_its_own_is_refused(helm, settings, said):
    assert said in helm.refusal("-f", DEMO, *sets(*settings))


def test_prestop_mode_gives_arguments_to_the_images_own_entry_point(helm):
    settings = ("mode=prestop", "engine.command=null", "engine.args={--model,m}")
    engine = container(deployment(helm, *settings)["spec"]["template"]["spec"], "engine")
    assert "command" not in engine and engine["args"] == ["--model", "m"]


def test_arguments_stand_behind_a_command(helm):
    words = ("engine.command={serve,-v}", "engine.args={--model,m}")
    engine = container(deployment(helm, *words)["spec"]["template"]["spec"], "engine")
    assert engine["args"] == ["serve", "-v", "--model", "m"]
    prestop = deployment(helm, "mode=prestop", *words)["spec"]["template"]["spec"]
    engine = container(prestop, "engine")
    assert (engine["command"], engine["args"]) == (["serve", "-v"], ["--model", "m"])


def test_the_shim_is_not_given_arguments_without_a_command(helm):
    refusal = helm.refusal("-f", DEMO, *sets("engine.command=null", "engine.args={a}"))
    assert "engine.command is empty" in refusal


@pytest.mark.parametrize(
    ("settings", "limits"),
    [
        ((), {"memory": "128Mi"}),
        (("config.ingress.listen=[::]:8080",), {"memory": "1Gi"}),
        (("config.ingress.enabled=false",), {"memory": "128Mi"}),
        (("config.ingress.listen=[::]:8080", "sidecar.resources.limits.cpu=1"),
         {"memory": "1Gi", "cpu": 1}),
        (("config.ingress.listen=[::]:8080", "sidecar.resources.limits.memory=200Mi"),
         {"memory": "200Mi"}),
        (("sidecar.resources.limits.memory=null",), None),
        (("sidecar.resources.limits=null",), None),
    ],
)  # fmt: skip
def test_the_sidecars_memory_is_enough_for_what_it_relays(helm, settings, limits):
    pod = deployment(helm, *settings)["spec"]["template"]["spec"]
    resources = container(pod, "lastcall")["resources"]
    assert (resources.get("limits") or None) == limits
    assert resources["requests"] == {"cpu": "50m", "memory": "32Mi"}


def test_numbers_of_the_configuration_stay_whole(helm, accepted, tmp_path):
    values = tmp_path / "values.yaml"
    values.write_text("config: {ingress: {max_body_size: 1000000000000}}\n")
    config = helm.config("-f", DEMO, "-f", values)
    assert config["ingress"]["max_body_size"] == 1000000000000
    assert accepted(config)


def test_torch_finds_the_name_of_vllms_user(helm):
    """The uid is in no image's /etc/passwd; getpass asks USER before it looks there."""
    env = {e["name"]: e.get("value") for e in container(helm.pod("-f", VLLM), "engine")["env"]}
    assert env["USER"]


def test_the_readme_builds_the_images_that_the_chart_takes():
    version = yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"]
    section = (ROOT / "README.md").read_text().split("### On Kubernetes", 1)[1].split("\n##", 1)[0]
    [built] = re.findall(r"^\./dev image --tag (\S+)", section, re.MULTILINE)
    assert built == version
    assert set(re.findall(r"\$image:(\S+)", section)) == {version}
