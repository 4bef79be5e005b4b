"""What the chart renders: over a matrix of values, and the promises of each mode."""

import itertools

import pytest
from conftest import CHART, DEMO, ROOT, VLLM, container, sets
from known_fields import unknown_in_object

MATRIX = list(
    itertools.product(
        (DEMO, VLLM),
        (("native", "1.32.0"), ("plain", "1.20.0"), ("auto", "1.28.3"), ("prestop", "1.32.0")),
        ((), ("engine.securityContext.runAsUser=1000", "shareProcessNamespace=true",
              "service.enabled=false", "podAnnotations.a=b", "nodeSelector.gpu=yes",
              "priorityClassName=high", "sidecar.env[0].name=A", "sidecar.env[0].value=b",
              "engine.envFrom[0].secretRef.name=s", "imagePullSecrets[0].name=p",
              "engine.shimOptions[0]=--required", "image.digest=sha256:" + "0" * 64)),
    )
)  # fmt: skip


def case_id(case):
    return f"{case[0].stem}-{case[1][0]}-{'more' if case[2] else 'plain'}"


@pytest.mark.parametrize("values", [DEMO, VLLM], ids=lambda path: path.stem)
def test_the_linter_finds_nothing(helm, values):
    helm("lint", "--strict", CHART, "-f", values)


@pytest.mark.parametrize("case", MATRIX, ids=case_id)
def test_every_rendered_field_is_one_that_kubernetes_knows(helm, case):
    values, (mode, kube), settings = case
    objects = helm.objects(
        "-f", values, *sets(f"mode={mode}", *settings), kube=kube
    )
    assert {"Deployment", "ConfigMap"} <= objects.keys()
    for rendered in objects.values():
        assert unknown_in_object(rendered) == []


def test_an_unknown_field_would_be_found(helm):
    deployment = helm.objects("-f", DEMO)["Deployment"]
    spec = deployment["spec"]["template"]["spec"]
    spec["containers"][0]["ports"][0]["containerPrt"] = 1
    spec["shareProcesNamespace"] = True
    found = "\n".join(unknown_in_object(deployment))
    assert "containers[0].ports[0].containerPrt" in found and "shareProcesNamespace" in found


@pytest.mark.parametrize("case", MATRIX, ids=case_id)
def test_every_port_names_its_protocol(helm, case):
    """Server-side apply of older clusters refuses a port without."""
    values, (mode, kube), settings = case
    objects = helm.objects(
        "-f", values, *sets(f"mode={mode}", *settings), kube=kube
    )
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    ports = [p for c in pod.get("initContainers", []) + pod["containers"]
             for p in c.get("ports", [])]  # fmt: skip
    ports += objects.get("Service", {}).get("spec", {}).get("ports", [])
    assert ports and all(port["protocol"] == "TCP" for port in ports)


def test_a_native_sidecar_starts_before_the_engine_and_after_the_shim_is_there(helm):
    pod = helm.pod("-f", DEMO)
    names = [c["name"] for c in pod["initContainers"]]
    assert names == ["lastcall-install", "lastcall"]
    assert pod["initContainers"][1]["restartPolicy"] == "Always"
    assert "restartPolicy" not in pod["initContainers"][0]
    assert [c["name"] for c in pod["containers"]] == ["engine"]


def test_a_cluster_without_native_sidecars_gets_a_plain_one_that_starts_first(helm):
    pod = helm.pod("-f", DEMO, kube="1.28.9")
    assert [c["name"] for c in pod["initContainers"]] == ["lastcall-install"]
    assert [c["name"] for c in pod["containers"]] == ["lastcall", "engine"]
    assert "restartPolicy" not in pod["containers"][0]


def test_prestop_mode_leaves_the_engines_own_command_alone(helm):
    pod = helm.pod("-f", DEMO, *sets("mode=prestop"))
    engine = container(pod, "engine")
    assert engine["command"][0] == "python3"
    probe = engine["livenessProbe"]
    assert probe["httpGet"]["path"] == "/engine/livez"
    # The sidecar answers this probe, so a moment in which it does not must not restart the engine.
    assert probe["timeoutSeconds"] >= 2 and probe["failureThreshold"] >= 3


def test_prestop_mode_calls_both_hooks_over_the_socket_and_opens_no_port(helm):
    arguments = ("-f", DEMO, *sets("mode=prestop"))
    pod = helm.pod(*arguments)
    assert helm.config(*arguments)["lifecycle"] == {"enabled": True, "http": False}
    sidecar, engine = container(pod, "lastcall"), container(pod, "engine")
    assert [port["name"] for port in sidecar["ports"]] == ["lastcall"]
    call = ["--socket", "/run/lastcall/lastcall.sock"]
    assert engine["lifecycle"]["preStop"]["exec"]["command"] == [
        "/opt/lastcall/lastcall-shim", "--prestop", "engine", *call]  # fmt: skip
    assert sidecar["lifecycle"]["preStop"]["exec"]["command"] == [
        "/usr/bin/lastcall-shim", "--prestop", "supervisor", *call]  # fmt: skip
    [install] = pod["initContainers"]
    assert install["args"] == ["--install", "/opt/lastcall"]
    mounts = [mount["mountPath"] for mount in engine["volumeMounts"]]
    assert {"/opt/lastcall", "/run/lastcall"} <= set(mounts)


def test_hooks_by_http_call_the_listener_that_they_turn_on(helm):
    by_http = ("mode=prestop", "prestop.hook=http", "config.lifecycle.listen=[::]:7777")
    arguments = ("-f", DEMO, *sets(*by_http))
    pod = helm.pod(*arguments)
    config = helm.config(*arguments)
    assert config["lifecycle"] == {"enabled": True, "http": True, "listen": "[::]:7777"}
    assert "initContainers" not in pod
    assert "lastcall-bin" not in [volume["name"] for volume in pod["volumes"]]
    sidecar, engine = container(pod, "lastcall"), container(pod, "engine")
    assert {"name": "lastcall-hooks", "containerPort": 7777, "protocol": "TCP"} in sidecar["ports"]
    own = sidecar["lifecycle"]["preStop"]["httpGet"]
    assert (own["path"], own["port"]) == ("/lifecycle/prestop/supervisor", "lastcall-hooks")
    assert engine["lifecycle"]["preStop"]["httpGet"]["port"] == 7777
    assert engine["livenessProbe"]["httpGet"]["port"] == 7090
    assert "httpHeaders" not in own


def test_a_token_is_sent_with_every_hook(helm):
    by_http = sets("mode=prestop", "prestop.hook=http", "config.lifecycle.token=s3cret")
    pod = helm.pod("-f", DEMO, *by_http)
    for name in ("lastcall", "engine"):
        call = container(pod, name)["lifecycle"]["preStop"]["httpGet"]
        assert call["httpHeaders"] == [{"name": "X-Lastcall-Token", "value": "s3cret"}]


def test_liveness_waits_for_an_engine_that_loads(helm):
    engine = container(helm.pod("-f", DEMO, *sets("mode=prestop")), "engine")
    startup = engine["startupProbe"]
    assert startup["httpGet"]["path"] == "/engine/startupz"
    assert startup["periodSeconds"] * startup["failureThreshold"] >= 86_400


def test_readiness_is_asked_every_two_seconds_and_lost_at_the_first_no(helm):
    probe = container(helm.pod("-f", DEMO), "lastcall")["readinessProbe"]
    assert (probe["periodSeconds"], probe["failureThreshold"]) == (2, 1)


@pytest.mark.parametrize(
    ("grace", "seconds"), [("60s", 62), ("90500ms", 93), ("2m", 122), ("1h", 3602)]
)
def test_the_pods_grace_is_computed_and_passed_to_both_containers(helm, grace, seconds):
    pod = helm.pod("-f", DEMO, *sets(f"config.shutdown.grace_period={grace}"))
    assert pod["terminationGracePeriodSeconds"] == seconds
    for name in ("lastcall", "engine"):
        env = {e["name"]: e.get("value") for e in container(pod, name)["env"]}
        assert env["LASTCALL_POD_GRACE_SECONDS"] == str(seconds)


def test_the_shim_knows_the_grace_even_without_a_supervisor(helm):
    command = container(
        helm.pod("-f", DEMO, *sets("config.shutdown.grace_period=5m")), "engine"
    )["command"]  # fmt: skip
    assert command[command.index("--grace") + 1] == "5m"


@pytest.mark.parametrize("mode", ["native", "plain"])
def test_no_container_has_a_right_that_it_does_not_need(helm, mode):
    pod = helm.pod("-f", DEMO, *sets(f"mode={mode}"))
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for each in pod["initContainers"] + pod["containers"]:
        context = each["securityContext"]
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert context["allowPrivilegeEscalation"] is False
        assert context["readOnlyRootFilesystem"] is True


def test_the_engine_cannot_reach_the_operators_socket(helm):
    engine = container(helm.pod("-f", DEMO), "engine")
    assert "lastcall-admin" not in [mount["name"] for mount in engine["volumeMounts"]]


def test_pods_are_replaced_when_the_configuration_changes(helm):
    def checksum(*settings):
        template = helm.objects("-f", DEMO, *sets(*settings))["Deployment"]["spec"]["template"]
        return template["metadata"]["annotations"]["checksum/config"]

    assert checksum() == checksum()
    assert checksum() != checksum("config.log.level=debug")


def test_the_schema_of_the_configuration_is_the_products_own(run_script):
    assert run_script(ROOT / "charts/embed_schema.py", "--check").returncode == 0
