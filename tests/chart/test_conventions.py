"""What users of other charts expect, each off unless asked for."""

import re
import socket
import subprocess
import time

import pytest
import yaml
from conftest import CHART, DEMO, ROOT, VLLM, container, sets
from known_fields import unknown_in_object

ALL = (
    "autoscaling.enabled=true", "podDisruptionBudget.enabled=true", "persistence.enabled=true",
    "networkPolicy.enabled=true", "networkPolicy.metrics[0].namespaceSelector.matchLabels.a=b",
    "networkPolicy.clients[0].podSelector.matchLabels.app=gateway", "hostNetwork=true",
    "dnsConfig.options[0].name=ndots", "schedulerName=volcano", "service.type=NodePort",
    "service.nodePort=30080", "sidecar.envFrom[0].secretRef.name=s", "rbac.create=true",
    "metrics.annotations=true", "metrics.service.enabled=true", "metrics.podMonitor.enabled=true",
    "metrics.prometheusRule.enabled=true", "metrics.dashboard.enabled=true",
    "orders.tokenSecret.name=s", "leaderWorkerSet.worker.args[0]=worker",
)  # fmt: skip
WORKLOADS = ("Deployment", "StatefulSet", "LeaderWorkerSet")
WORKER = "leaderWorkerSet.worker.args[0]=worker"
MATRIX = [
    (workload, mode, more)
    for workload in WORKLOADS
    for mode in ("native", "plain", "prestop")
    for more in ((WORKER,), ALL)
]


@pytest.mark.parametrize(
    "case", MATRIX, ids=lambda case: f"{case[0]}-{case[1]}-{'all' if case[2] is ALL else 'none'}"
)
def test_every_field_of_every_object_is_one_that_kubernetes_knows(helm, case):
    workload, mode, more = case
    objects = helm.all_objects("-f", DEMO, *sets(f"workload={workload}", f"mode={mode}", *more))
    for rendered in objects:
        assert unknown_in_object(rendered) == []
    names = [(each["kind"], each["metadata"]["name"]) for each in objects]
    assert len(names) == len(set(names)), names


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_linter_finds_nothing_with_everything_on(helm, workload):
    helm("lint", "--strict", CHART, "-f", VLLM, *sets(f"workload={workload}", *ALL))


def test_nothing_of_it_is_there_unless_it_is_asked_for(helm):
    objects = helm.all_objects("-f", DEMO)
    kinds = [each["kind"] for each in objects
             if "helm.sh/hook" not in each["metadata"].get("annotations", {})]  # fmt: skip
    assert sorted(kinds) == ["ConfigMap", "Deployment", "Service"]


def test_a_stateful_set_has_names_and_a_claim_for_each_pod(helm):
    words = ("-f", DEMO, *sets("workload=StatefulSet", "persistence.enabled=true"))
    objects = {(o["kind"], o["metadata"]["name"]): o for o in helm.all_objects(*words)}
    spec = objects["StatefulSet", "x-lastcall"]["spec"]
    assert ("Service", spec["serviceName"]) in objects
    assert objects["Service", spec["serviceName"]]["spec"]["clusterIP"] == "None"
    [claim] = spec["volumeClaimTemplates"]
    assert claim["metadata"]["name"] == "models"
    pod = spec["template"]["spec"]
    assert "models" not in [volume["name"] for volume in pod["volumes"]]
    assert {"name": "models", "mountPath": "/cache"} in container(pod, "engine")["volumeMounts"]
    assert ("PersistentVolumeClaim", "x-lastcall-models") not in objects
    assert [c["name"] for c in pod["initContainers"]] == ["lastcall-install", "lastcall"]


def groups(helm, *settings):
    words = sets("workload=LeaderWorkerSet", WORKER, *settings)
    objects = helm.objects("-f", DEMO, *words)
    template = objects["LeaderWorkerSet"]["spec"]["leaderWorkerTemplate"]
    return objects, template["leaderTemplate"], template["workerTemplate"]


def test_the_leader_of_a_group_is_the_pod_of_a_deployment(helm):
    objects, leader, worker = groups(helm, "leaderWorkerSet.size=4", "replicaCount=3")
    spec = objects["LeaderWorkerSet"]["spec"]
    assert (spec["replicas"], spec["leaderWorkerTemplate"]["size"]) == (3, 4)
    assert leader["spec"] == helm.pod("-f", DEMO)
    selector = objects["Service"]["spec"]["selector"].items()
    assert selector <= leader["metadata"]["labels"].items()
    assert not selector <= worker["metadata"]["labels"].items()


def test_a_worker_has_the_engines_pod_without_lastcall(helm):
    _, leader, worker = groups(helm, "persistence.enabled=true", "rbac.create=true",
                               "config.discovery[0].kubernetes.event=true",
                               "leaderWorkerSet.worker.resources.limits.gpu=8")  # fmt: skip
    assert not {"initContainers", "readinessGates", "serviceAccountName"} & set(worker["spec"])
    [only] = worker["spec"]["containers"]
    engine = container(leader["spec"], "engine")
    assert (only["image"], only["args"]) == (engine["image"], ["worker"])
    assert "command" not in only and only["resources"] == {"limits": {"gpu": 8}}
    mounted = {mount["name"] for mount in only["volumeMounts"]}
    assert mounted == {volume["name"] for volume in worker["spec"]["volumes"]} == {"tmp", "models"}
    grace = worker["spec"]["terminationGracePeriodSeconds"]
    assert grace == leader["spec"]["terminationGracePeriodSeconds"]


def test_a_tmp_of_the_users_is_the_workers_too(helm):
    _, _, worker = groups(helm, "volumes[0].name=tmp", "volumes[0].emptyDir.medium=Memory")
    assert worker["spec"]["volumes"] == [{"name": "tmp", "emptyDir": {"medium": "Memory"}}]


def held(helm, port, **environment):
    """Runs the hook of a worker against a leader at a port of this machine."""
    _, _, worker = groups(helm, f"config.probes.listen=[::]:{port}",
                          "config.shutdown.grace_period=8s",
                          "config.shutdown.late_accept=1s")  # fmt: skip
    command = worker["spec"]["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
    assert command[:2] == ["python3", "-c"]
    return subprocess.Popen(["/usr/bin/python3", *command[1:]], env=environment)


def test_a_worker_is_held_back_until_its_leader_is_gone(helm):
    with socket.create_server(("127.0.0.1", 0)) as leader:
        port = leader.getsockname()[1]
        hook = held(helm, port, LWS_LEADER_ADDRESS="127.0.0.1")
        for _ in range(3):
            leader.accept()[0].close()
        assert hook.poll() is None
    assert hook.wait(timeout=60) == 0


def test_a_worker_that_cannot_find_its_leader_waits_out_the_grace(helm):
    begin = time.monotonic()
    assert held(helm, 7090).wait(timeout=60) == 0
    assert time.monotonic() - begin >= 8


def test_workers_reach_their_leader_through_a_network_policy(helm):
    objects, _, _ = groups(helm, "networkPolicy.enabled=true")
    rules = objects["NetworkPolicy"]["spec"]["ingress"]
    name = objects["LeaderWorkerSet"]["metadata"]["name"]
    assert {"from": [{"podSelector": {"matchLabels": {
        "leaderworkerset.sigs.k8s.io/name": name}}}]} in rules  # fmt: skip
    assert groups(helm, "autoscaling.enabled=true")[0]["HorizontalPodAutoscaler"]["spec"][
        "scaleTargetRef"]["apiVersion"] == "leaderworkerset.x-k8s.io/v1"  # fmt: skip


def test_the_models_of_the_vllm_example_outlive_their_pods(helm):
    """A model is not downloaded at each start."""
    objects = helm.objects("-f", VLLM)
    claim = objects["PersistentVolumeClaim"]["metadata"]
    assert claim["annotations"]["helm.sh/resource-policy"] == "keep"
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    [volume] = [each for each in pod["volumes"] if each["name"] == "models"]
    assert volume["persistentVolumeClaim"] == {"claimName": claim["name"]}
    engine = container(pod, "engine")
    home = {e["name"]: e.get("value") for e in engine["env"]}["HF_HOME"]
    [mount] = [each for each in engine["volumeMounts"] if each["name"] == "models"]
    assert home.startswith(mount["mountPath"])


def test_a_claim_that_is_there_already_is_taken(helm):
    words = sets("persistence.enabled=true", "persistence.existingClaim=mine")
    for workload in ("Deployment", "StatefulSet"):
        objects = helm.objects("-f", DEMO, *words, *sets(f"workload={workload}"))
        assert "PersistentVolumeClaim" not in objects
        spec = objects[workload]["spec"]
        assert "volumeClaimTemplates" not in spec
        claims = [v.get("persistentVolumeClaim") for v in spec["template"]["spec"]["volumes"]]
        assert {"claimName": "mine"} in claims


def test_an_autoscaler_takes_the_place_of_the_number(helm):
    objects = helm.objects("-f", DEMO, *sets("autoscaling.enabled=true", "replicaCount=3"))
    assert "replicas" not in objects["Deployment"]["spec"]
    spec = objects["HorizontalPodAutoscaler"]["spec"]
    assert spec["scaleTargetRef"]["name"] == objects["Deployment"]["metadata"]["name"]
    metrics = [each["pods"]["metric"]["name"] for each in spec["metrics"]]
    table = (ROOT / "probes/metrics/metric_names.hpp").read_text()
    assert metrics and all(f'"{name}"' in table for name in metrics)


def test_keda_scales_the_deployment_by_metrics_that_are_there(helm):
    objects = helm.objects("-f", DEMO, "-f", CHART / "examples/autoscaling-keda.yaml")
    assert "replicas" not in objects["Deployment"]["spec"]
    spec = objects["ScaledObject"]["spec"]
    name = objects["Deployment"]["metadata"]["name"]
    assert spec["scaleTargetRef"] == {"name": name}  # a Deployment, where no kind is given
    assert spec["minReplicaCount"] <= spec["maxReplicaCount"]
    table = (ROOT / "probes/metrics/metric_names.hpp").read_text()
    for trigger in spec["triggers"]:
        query = trigger["metadata"]["query"]
        metric, labels = re.fullmatch(r"sum\((\w+)\{(.*)\}\)", query).groups()
        assert f'"{metric}"' in table and f'pod=~"{name}-.*"' in labels
        assert trigger["type"] == "prometheus" and float(trigger["metadata"]["threshold"]) > 0


def test_the_port_of_each_node_is_the_one_that_was_asked_for(helm):
    words = sets("service.type=NodePort", "service.nodePort=30080")
    spec = helm.objects("-f", DEMO, *words)["Service"]["spec"]
    assert (spec["type"], [port["nodePort"] for port in spec["ports"]]) == ("NodePort", [30080])
    [port] = helm.objects("-f", DEMO)["Service"]["spec"]["ports"]
    assert "nodePort" not in port


def test_only_the_named_reach_the_ports(helm):
    policy = helm.objects("-f", DEMO, *sets(*ALL))["NetworkPolicy"]["spec"]
    requests, metrics = policy["ingress"]
    assert [port["port"] for port in requests["ports"]] == [8000]
    assert requests["from"] == [{"podSelector": {"matchLabels": {"app": "gateway"}}}]
    assert [port["port"] for port in metrics["ports"]] == [7090]
    by_default = helm.objects("-f", DEMO, *sets("networkPolicy.enabled=true"))["NetworkPolicy"]
    [rule] = by_default["spec"]["ingress"]
    assert "from" not in rule


def test_a_budget_has_one_of_the_two_numbers(helm):
    def budget(*settings):
        words = sets("podDisruptionBudget.enabled=true", *settings)
        return helm.objects("-f", DEMO, *words)["PodDisruptionBudget"]["spec"]

    assert budget()["maxUnavailable"] == 1 and "minAvailable" not in budget()
    share = budget("podDisruptionBudget.minAvailable=50%")
    assert share["minAvailable"] == "50%" and "maxUnavailable" not in share


def test_the_pod_has_what_was_asked_for_it(helm):
    pod = helm.pod("-f", DEMO, *sets(*ALL))
    assert (pod["hostNetwork"], pod["schedulerName"]) == (True, "volcano")
    assert pod["dnsConfig"] == {"options": [{"name": "ndots"}]}
    assert container(pod, "lastcall")["envFrom"] == [{"secretRef": {"name": "s"}}]


def test_the_token_of_orders_is_the_sidecars_alone(helm, accepted):
    words = ("-f", DEMO, *sets("orders.tokenSecret.name=scaler", "orders.tokenSecret.key=k"))
    for mode in ("native", "plain", "prestop"):
        pod = helm.pod(*words, *sets(f"mode={mode}"))
        holders = {each["name"]: mount for each in pod["initContainers"] + pod["containers"]
                   for mount in each["volumeMounts"]
                   if mount["name"] == "lastcall-orders"}  # fmt: skip
        assert list(holders) == ["lastcall"]
        [volume] = [each for each in pod["volumes"] if each["name"] == "lastcall-orders"]
        [item] = volume["secret"]["items"]
        assert (volume["secret"]["secretName"], item["key"]) == ("scaler", "k")
        config = helm.config(*words, *sets(f"mode={mode}"))
        file = f"{holders['lastcall']['mountPath']}/{item['path']}"
        assert config["probes"]["orders_token_file"] == file
        assert accepted(config)
    assert "lastcall-orders" not in helm.template("-f", DEMO).stdout


def test_extra_objects_are_templates(helm, tmp_path):
    values = tmp_path / "values.yaml"
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-text\n"
    extra = {"apiVersion": "v1", "kind": "ConfigMap",
             "metadata": {"name": "{{ .Release.Name }}-map"}}  # fmt: skip
    values.write_text(yaml.safe_dump({"extraObjects": [text, extra]}))
    names = [each["metadata"]["name"] for each in helm.all_objects("-f", DEMO, "-f", values)]
    assert {"x-text", "x-map"} <= set(names)


def test_the_test_of_a_release_asks_a_probe_and_is_no_pod_of_it(helm):
    objects = helm.all_objects("-f", DEMO)
    [pod] = [each for each in objects if each["kind"] == "Pod"]
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    # A pod's own name is its own address, in its hosts file.
    [service] = [each for each in objects if each["kind"] == "Service"
                 and "helm.sh/hook" in each["metadata"].get("annotations", {})]  # fmt: skip
    assert service["metadata"]["name"] != pod["metadata"]["name"]
    assert service["metadata"]["name"] in pod["spec"]["containers"][0]["args"][-1]
    assert "app.kubernetes.io/instance" not in pod["metadata"]["labels"]
    [probe] = pod["spec"]["containers"]
    assert (probe["command"] + probe["args"])[:3] == ["/usr/bin/lastcall", "probe", "readyz"]


def test_a_policy_admits_the_test_of_a_release_as_long_as_it_runs(helm):
    def rendered(*settings):
        objects = helm.all_objects("-f", DEMO, *sets(*settings))
        return {each["kind"]: each for each in objects
                if each["metadata"].get("annotations", {}).get("helm.sh/hook")}  # fmt: skip

    assert "NetworkPolicy" not in rendered()
    objects = rendered("networkPolicy.enabled=true", "config.probes.listen=[::]:7999")
    policy = objects["NetworkPolicy"]
    assert unknown_in_object(policy) == []
    service = objects["Service"]
    for key in ("helm.sh/hook-weight", "helm.sh/hook-delete-policy"):  # there before the pod is
        told = [each["metadata"]["annotations"][key] for each in (policy, service)]
        assert told[0] == told[1]
    assert policy["spec"]["podSelector"]["matchLabels"] == service["spec"]["selector"]
    [rule] = policy["spec"]["ingress"]
    assert [port["port"] for port in rule["ports"]] == [7999]
    [peer] = rule["from"]
    labels = objects["Pod"]["metadata"]["labels"]
    assert peer["podSelector"]["matchLabels"].items() <= labels.items()


@pytest.mark.parametrize("key", ["initContainers", "extraContainers", "volumes"])
def test_a_list_without_a_value_is_an_empty_one(helm, key):
    assert helm.pod("-f", DEMO, *sets(f"{key}=null")) == helm.pod("-f", DEMO)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (("metrics.podMonitor.enabled=true", "metrics.serviceMonitor.enabled=true"),
         "scraped twice"),
        (("podDisruptionBudget.enabled=true", "podDisruptionBudget.maxUnavailable=null"),
         "both null"),
        (("autoscaling.enabled=true", "autoscaling.minReplicas=9"), "less than minReplicas 9"),
        (("autoscaling.enabled=true", "autoscaling.targetQueue=null",
          "autoscaling.targetInFlight=null"), "expected one of them"),
        (("persistence.enabled=true", "volumes[0].name=models"), "volumes has one named models"),
        (("service.nodePort=30000",), "service.type is ClusterIP"),
        (("hostNetwork=true", "mode=prestop", "prestop.hook=http"), "hostNetwork with prestop"),
        (("orders.tokenSecret.name=a", "config.probes.orders_token_file=/b"),
         "orders.tokenSecret.name and config.probes.orders_token_file"),
        (("workload=LeaderWorkerSet",), "neither command nor args"),
        (("workload=LeaderWorkerSet", WORKER, "updateStrategy.type=Recreate"), "does not have"),
        (("workload=DaemonSet",), "workload"),
        (("persistence.size=big",), "size"),
        (("networkPolicy.from=1",), "from"),
    ],
)  # fmt: skip
def test_settings_that_contradict_each_other_are_refused(helm, settings, words):
    assert words in helm.refusal("-f", DEMO, *sets(*settings))


@pytest.mark.parametrize("name", ["lastcall", "lastcall-lib", "lastcall-injector"])
def test_a_chart_describes_itself(name):
    chart = yaml.safe_load((ROOT / f"charts/{name}/Chart.yaml").read_text())
    assert chart["annotations"]["artifacthub.io/license"] == "Apache-2.0"
    assert chart["icon"].startswith("data:image/svg+xml") and chart["keywords"]
    assert chart["home"] == "https://lastcall.dev"  # the domain of the labels and annotations


def test_the_readmes_match_the_values(run_script):
    done = run_script(ROOT / "charts/readme.py", "--check")
    assert done.returncode == 0, done.stderr
