"""lastcall-router in front of the engines: what is rendered, what it may, and how it ends."""

import json
import os
import subprocess

import pytest
import yaml
from conftest import BUILD, CHART, DEMO, ROOT, VLLM, container, sets
from known_fields import unknown_in_object
from test_hardening import breaches

ON = sets("router.enabled=true")
GOLDEN = ROOT / "tests/chart/golden/router.yaml"
ALL = (
    "router.terminationGracePeriodSeconds=4000", "router.env[0].name=A", "router.env[0].value=b",
    "router.volumes[0].name=tls", "router.volumes[0].secret.secretName=s",
    "router.volumeMounts[0].name=tls", "router.volumeMounts[0].mountPath=/tls",
    "router.config.tls.cert_file=/tls/tls.crt", "router.config.tls.key_file=/tls/tls.key",
    "router.service.type=NodePort", "router.service.nodePort=30081",
    "router.service.annotations.a=b",
    "router.podDisruptionBudget.minAvailable=50%", "router.serviceAccount.annotations.a=b",
    "router.podAnnotations.a=b", "router.podLabels.a=b", "router.nodeSelector.a=b",
    "router.tolerations[0].key=k", "router.priorityClassName=high",
    "router.topologySpreadConstraints[0].maxSkew=1",
    "router.topologySpreadConstraints[0].topologyKey=zone",
    "router.topologySpreadConstraints[0].whenUnsatisfiable=DoNotSchedule",
    "networkPolicy.enabled=true", "networkPolicy.clients[0].podSelector.matchLabels.app=gateway",
    "networkPolicy.metrics[0].namespaceSelector.matchLabels.a=b",
    "metrics.annotations=true", "metrics.podMonitor.enabled=true",
)  # fmt: skip


def rendered(helm, *settings):
    """{(kind, name): object} of the router's, without the engine's."""
    done = helm.template("-f", DEMO, *ON, *sets(*settings), "-s", "templates/router.yaml")
    return {(each["kind"], each["metadata"]["name"]): each
            for each in yaml.safe_load_all(done.stdout) if each}  # fmt: skip


def only(objects, kind):
    [found] = [each for (of, _), each in objects.items() if of == kind]
    return found


def config(objects, name="router.yaml"):
    return yaml.safe_load(only(objects, "ConfigMap")["data"][name])


def spec(objects):
    return only(objects, "Deployment")["spec"]["template"]["spec"]


def checked(program, text, folder, *words):
    path = folder / "config.yaml"
    path.write_text(text)
    return subprocess.run([BUILD / program, "check", *words, "--config", path],
                          capture_output=True, text=True, timeout=60)  # fmt: skip


def test_nothing_of_it_is_there_unless_it_is_asked_for(helm):
    assert not [each for each in helm.all_objects("-f", DEMO) if "router" in json.dumps(each)]


def test_it_is_the_golden_one(helm):
    found = list(rendered(helm).values())
    found.sort(key=lambda each: each["kind"])
    if os.environ.get("LASTCALL_UPDATE_GOLDEN"):
        GOLDEN.write_text(yaml.safe_dump_all(found, sort_keys=False, width=110))
    assert found == list(yaml.safe_load_all(GOLDEN.read_text()))


@pytest.mark.parametrize("more", [(), ALL], ids=["defaults", "all"])
def test_every_field_of_every_object_is_one_that_kubernetes_knows(helm, more):
    objects = helm.all_objects("-f", DEMO, *ON, *sets(*more))
    for each in objects:
        assert unknown_in_object(each) == []
    names = [(each["kind"], each["metadata"]["name"]) for each in objects]
    assert len(names) == len(set(names)), names
    helm("lint", "--strict", CHART, "-f", VLLM, *ON, *sets(*more))


def test_the_engines_service_and_the_routers_find_their_own_pods(helm):
    """A router that was among the workers would send requests to itself."""
    objects = helm.all_objects("-f", DEMO, *ON)
    pods = {each["metadata"]["name"]: each["spec"]["template"]["metadata"]["labels"]
            for each in objects if each["kind"] == "Deployment"}  # fmt: skip
    assert set(pods) == {"x-lastcall", "x-lastcall-router"}
    for each in objects:
        if each["kind"] in ("Service", "PodDisruptionBudget") and each["metadata"]["name"] in pods:
            selector = each["spec"]["selector"]
            selector = selector.get("matchLabels", selector)
            found = [name for name, labels in pods.items() if selector.items() <= labels.items()]
            assert found == [each["metadata"]["name"]]


@pytest.mark.parametrize("more", [(), ALL], ids=["defaults", "all"])
def test_both_programs_accept_what_they_are_given(helm, tmp_path, more):
    data = only(rendered(helm, *more), "ConfigMap")["data"]
    both = (("router/lastcall-router", "router.yaml", ()),
            ("supervisor/cli/lastcall", "lastcall.yaml", ("--strict",)))  # fmt: skip
    for program, name, words in both:
        done = checked(program, data[name], tmp_path, *words)
        assert done.returncode == 0, done.stdout + done.stderr


def test_its_workers_are_the_engines_of_the_release(helm):
    service = "x-lastcall"
    [source] = config(rendered(helm, "config.identity.model=q"))["workers"]
    assert source == {"kubernetes": {"services": [service], "namespace": "default", "model": "q"}}
    given = "router.config.workers[0].static.urls[0]=http://10.0.0.7:8000"
    objects = rendered(helm, given, "service.enabled=false")
    assert config(objects)["workers"] == [{"static": {"urls": ["http://10.0.0.7:8000"]}}]
    assert not {"Role", "RoleBinding"} & {kind for kind, _ in objects}
    assert "token" not in [each["name"] for each in spec(objects)["volumes"]]


def test_it_may_read_endpoint_slices_and_nothing_else(helm):
    other = ("router.config.workers[0].kubernetes.services[0]=a",
             "router.config.workers[0].kubernetes.namespace=elsewhere")  # fmt: skip
    for more, namespace in (((), "default"), (other, "elsewhere")):
        objects = rendered(helm, *more)
        role, binding = only(objects, "Role"), only(objects, "RoleBinding")
        rule = {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"]}
        assert role["rules"] == [{**rule, "verbs": ["get", "list", "watch"]}]
        assert role["metadata"]["namespace"] == binding["metadata"]["namespace"] == namespace
        [subject] = binding["subjects"]
        assert subject["name"] == spec(objects)["serviceAccountName"]
        assert subject["namespace"] == "default"


def test_a_pod_passes_the_restricted_profile(helm):
    pod = spec(rendered(helm))
    assert breaches(pod) == []
    assert pod["automountServiceAccountToken"] is False
    mounts = {each["mountPath"]: each for each in container(pod, "router")["volumeMounts"]}
    assert mounts["/var/run/secrets/kubernetes.io/serviceaccount"]["readOnly"] is True


def seconds(text):
    return int(text.removesuffix("s"))


def test_the_longest_grace_is_one_that_both_programs_accept(helm, tmp_path):
    data = only(rendered(helm, "router.config.shutdown.grace_period=86395s"), "ConfigMap")["data"]
    for program, name in (("router/lastcall-router", "router.yaml"),
                          ("supervisor/cli/lastcall", "lastcall.yaml")):  # fmt: skip
        done = checked(program, data[name], tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("grace", "whole"), [("30m", 1800), ("500ms", 1), ("90s", 90)])
def test_each_has_time_for_what_is_inside_of_it(helm, grace, whole):
    """The router's grace, that of `lastcall run` around it, the pod's around both."""
    objects = rendered(helm, f"router.config.shutdown.grace_period={grace}")
    run = config(objects, "lastcall.yaml")["shutdown"]
    assert seconds(run["grace_period"]) == whole + 5
    pod = spec(objects)
    assert pod["terminationGracePeriodSeconds"] == whole + 7
    env = {each["name"]: each.get("value") for each in container(pod, "router")["env"]}
    assert env["LASTCALL_POD_GRACE_SECONDS"] == str(whole + 7)


def test_the_router_gets_its_signal_at_once(helm, tmp_path):
    """What `lastcall run` waits for before: nothing, the router drains by itself."""
    text = only(rendered(helm), "ConfigMap")["data"]["lastcall.yaml"]
    path = tmp_path / "lastcall.yaml"
    path.write_text(text)
    done = subprocess.run(
        [BUILD / "supervisor/cli/lastcall", "plan", "--pod-grace", "1807s", "-o", "json",
         "--config", path], capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    plan = json.loads(done.stdout)
    assert plan["budgets"]["late_accept_ms"] == 0
    assert plan["budgets"]["total_ms"] - plan["budgets"]["kill_margin_ms"] >= 1_804_000


def test_its_command_is_that_of_its_image(helm):
    router = container(spec(rendered(helm)), "router")
    assert router["command"] == [
        "/usr/bin/lastcall", "run", "--config", "/etc/lastcall/lastcall.yaml",
        "--", "/usr/bin/lastcall-router",
    ]  # fmt: skip
    assert router["args"] == ["--config", "/etc/lastcall/router.yaml"]
    assert router["image"] == "lastcall-router:0.1.0"


def test_its_probes_are_where_it_listens(helm):
    objects = rendered(helm, "router.config.operators=0.0.0.0:9000")
    router = container(spec(objects), "router")
    ports = {each["name"]: each["containerPort"] for each in router["ports"]}
    assert ports == {"http": 8080, "operators": 9000, "lastcall": 7090}
    assert router["readinessProbe"]["httpGet"]["port"] == "operators"
    health = config(objects, "lastcall.yaml")["health"]
    assert health["checks"][0]["http"]["url"] == "http://127.0.0.1:9000/livez"


def test_its_pods_are_spread_over_nodes_or_as_the_values_set_it(helm):
    def spread(*settings):
        objects = rendered(helm, *settings)
        selector = only(objects, "Deployment")["spec"]["selector"]
        [one] = spec(objects)["topologySpreadConstraints"]
        return one["topologyKey"], one["labelSelector"] == selector

    assert spread() == ("kubernetes.io/hostname", True)
    mine = ("router.topologySpreadConstraints[0].topologyKey=zone",
            "router.topologySpreadConstraints[0].maxSkew=2")  # fmt: skip
    assert spread(*mine) == ("zone", True)
    other = "router.topologySpreadConstraints[0].labelSelector.matchLabels.a=b"
    assert spread(*mine, other) == ("zone", False)


def test_a_new_configuration_replaces_its_pods(helm):
    def checksum(*settings):
        template = only(rendered(helm, *settings), "Deployment")["spec"]["template"]
        return template["metadata"]["annotations"]["checksum/config"]

    assert checksum() == checksum("router.replicaCount=3")
    assert checksum() != checksum("router.config.choosing.attempts=5")


def test_the_engines_let_the_router_in(helm):
    words = ("networkPolicy.enabled=true", "networkPolicy.clients[0].podSelector.matchLabels.a=b")
    engine = helm.objects("-f", DEMO, *ON, *sets(*words), "-s", "templates/networkpolicy.yaml")
    peers = engine["NetworkPolicy"]["spec"]["ingress"][0]["from"]
    labels = only(rendered(helm), "Deployment")["spec"]["selector"]["matchLabels"]
    assert peers == [{"podSelector": {"matchLabels": {"a": "b"}}},
                     {"podSelector": {"matchLabels": labels}}]  # fmt: skip
    policy = only(rendered(helm, *words), "NetworkPolicy")["spec"]
    assert policy["podSelector"]["matchLabels"] == labels
    assert [rule["ports"][0]["port"] for rule in policy["ingress"]] == [8080]


def test_the_engines_let_the_router_read_their_load(helm):
    def rules(*settings):
        words = sets("networkPolicy.enabled=true", *settings)
        found = helm.objects("-f", DEMO, *words, "-s", "templates/networkpolicy.yaml")
        return found["NetworkPolicy"]["spec"]["ingress"][1:]

    port = "router.config.load.port=7090"
    assert rules("router.enabled=true") == rules(port) == []
    [rule] = rules("router.enabled=true", port)
    labels = only(rendered(helm), "Deployment")["spec"]["selector"]["matchLabels"]
    assert [each["port"] for each in rule["ports"]] == [7090]
    assert rule["from"] == [{"podSelector": {"matchLabels": labels}}]


def test_a_service_monitor_finds_the_routers_and_not_the_engines(helm):
    words = ("metrics.serviceMonitor.enabled=true", "router.config.operators=0.0.0.0:9000")
    objects = rendered(helm, *words)
    monitor = only(objects, "ServiceMonitor")["spec"]
    selector = monitor["selector"]["matchLabels"]
    everything = helm.all_objects("-f", DEMO, *ON, *sets(*words))
    [service] = [each for each in everything if each["kind"] == "Service"
                 and selector.items() <= each["metadata"].get("labels", {}).items()]  # fmt: skip
    assert unknown_in_object(service) == []
    labels = only(objects, "Deployment")["spec"]["selector"]["matchLabels"]
    assert service["spec"]["selector"] == labels and service["spec"]["clusterIP"] == "None"
    [port] = service["spec"]["ports"]
    [endpoint] = monitor["endpoints"]
    assert (port["name"], port["targetPort"]) == (endpoint["port"], 9000)
    assert not [each for each in rendered(helm) if each[1].endswith("-metrics")]


def test_the_notes_show_where_clients_connect(helm):
    notes = helm.notes("-f", DEMO, *ON)
    assert "Service x-lastcall-router" in notes and "up to 1800 s" in notes
    assert "router" not in helm.notes("-f", DEMO)
    mine = sets("router.serviceAccount.create=false", "router.serviceAccount.name=mine")
    assert "account mine needs get, list and watch" in helm.notes("-f", DEMO, *ON, *mine)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (("service.enabled=false",), "service.enabled is false"),
        (("config.ingress.tls.cert_file=/a", "config.ingress.tls.key_file=/b"), "plain HTTP"),
        (("router.serviceAccount.create=false",), "router.serviceAccount.name"),
        (("router.podDisruptionBudget.maxUnavailable=null",), "both null"),
        (("router.podLabels.app\\.kubernetes\\.io/name=a",), "router.podLabels has"),
        (("router.config.listen=0.0.0.0:7090",), "both port 7090"),
        (("router.config.operators=0.0.0.0:8080",), "both port 8080"),
        (("router.config.listen=127.0.0.1:8080",), "cannot be reached from outside of the pod"),
        (("router.terminationGracePeriodSeconds=1806",), "1806 is too small"),
        (("router.config.shutdown.grace_period=24h",), "is 24h, expected at most 86395s"),
        (("router.config.choosing.atempts=3",), "atempts"),
        (("router.replicas=3",), "replicas"),
    ],
)  # fmt: skip
def test_settings_that_cannot_work_are_refused(helm, settings, words):
    assert words in helm.refusal("-f", DEMO, *ON, *sets(*settings))
    if "router.replicas=3" not in settings and "atempts" not in words:
        off = sets("router.enabled=false")
        assert helm.template("-f", DEMO, *off, *sets(*(s for s in settings if "router" in s)))


def test_a_release_of_an_older_chart_is_upgraded_without_one(helm, tmp_path):
    """`helm upgrade --reuse-values` brings values in which `router` is unknown."""
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    del values["router"]
    chart = tmp_path / "lastcall"
    subprocess.run(["cp", "-rL", CHART, chart], check=True)
    (chart / "values.yaml").write_text(yaml.safe_dump(values))
    assert "Deployment" in helm.objects("-f", DEMO, chart=chart)
