"""How others find the metrics of the pods, what raises an alert, and what Grafana draws."""

import json

import pytest
import yaml
from conftest import CHART, DEMO, container, sets
from test_conventions import WORKER, WORKLOADS

MONITOR = ("interval=5s", "labels.release=p")


def objects_of(helm, *settings):
    """By kind and name."""
    rendered = helm.all_objects("-f", DEMO, *sets(*settings))
    return {(each["kind"], each["metadata"]["name"]): each for each in rendered}


def monitor(name):
    return (f"metrics.{name}.enabled=true", *(f"metrics.{name}.{each}" for each in MONITOR))


def templates_of(objects, workload):
    """The pods with lastcall, and those that have none: the workers of a group."""
    spec = objects[workload, "x-lastcall"]["spec"]
    if workload == "LeaderWorkerSet":
        group = spec["leaderWorkerTemplate"]
        return group["leaderTemplate"], [group["workerTemplate"]]
    return spec["template"], []


def selects(selector, labelled):
    return selector.items() <= labelled["metadata"].get("labels", {}).items()


@pytest.mark.parametrize("mode", ["native", "plain", "prestop"])
@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_pod_monitor_finds_the_port_of_every_pod_with_lastcall(helm, workload, mode):
    words = (f"workload={workload}", f"mode={mode}", WORKER, *monitor("podMonitor"))
    objects = objects_of(helm, *words)
    pods, others = templates_of(objects, workload)
    found = objects["PodMonitor", "x-lastcall-metrics"]
    selector = found["spec"]["selector"]["matchLabels"]
    assert selects(selector, pods) and not any(selects(selector, each) for each in others)
    [endpoint] = found["spec"]["podMetricsEndpoints"]
    ports = {port["name"]: port["containerPort"]
             for port in container(pods["spec"], "lastcall")["ports"]}  # fmt: skip
    assert ports[endpoint["port"]] == 7090 and endpoint["path"] == "/metrics"
    assert endpoint["interval"] == "5s" and found["metadata"]["labels"]["release"] == "p"


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_service_monitor_finds_the_service_of_the_metrics_and_no_other(helm, workload):
    words = (f"workload={workload}", WORKER, "router.enabled=true",
             "config.probes.listen=[::]:7999", *monitor("serviceMonitor"))  # fmt: skip
    objects = objects_of(helm, *words)
    pods, others = templates_of(objects, workload)
    found = objects["ServiceMonitor", "x-lastcall-metrics"]
    assert found["metadata"]["labels"]["release"] == "p"
    selector = found["spec"]["selector"]["matchLabels"]
    [service] = [each for (kind, _), each in objects.items()
                 if kind == "Service" and selects(selector, each)]  # fmt: skip
    [endpoint] = found["spec"]["endpoints"]
    [port] = service["spec"]["ports"]
    assert endpoint["port"] == port["name"] and endpoint["interval"] == "5s"
    assert port["targetPort"] == 7999
    assert selects(service["spec"]["selector"], pods)
    assert not any(selects(service["spec"]["selector"], each) for each in others)
    # The last scrapes are those that show a stop, and a pod in its stop is not ready.
    assert service["spec"]["clusterIP"] == "None" and service["spec"]["publishNotReadyAddresses"]


def test_plain_annotations_name_the_port(helm):
    objects = objects_of(helm, "metrics.annotations=true", "config.probes.listen=[::]:7999")
    pods, _ = templates_of(objects, "Deployment")
    scrape = {key: value for key, value in pods["metadata"]["annotations"].items()
              if key.startswith("prometheus.io/")}  # fmt: skip
    assert scrape == {"prometheus.io/scrape": "true", "prometheus.io/port": "7999",
                      "prometheus.io/path": "/metrics"}  # fmt: skip


def test_the_rules_are_those_of_the_file_less_what_is_disabled(helm):
    rule = "metrics.prometheusRule"
    objects = objects_of(helm, f"{rule}.enabled=true", f"{rule}.disabled[0]=LastcallRefusals",
                         f"{rule}.ruleLabels.team=serving", f"{rule}.additionalGroups[0].name=own",
                         f"{rule}.labels.release=p")  # fmt: skip
    found = objects["PrometheusRule", "x-lastcall-metrics"]
    assert found["metadata"]["labels"]["release"] == "p"
    *groups, own = found["spec"]["groups"]
    expected = yaml.safe_load((CHART / "files/alerts.yaml").read_text())["groups"]
    for group in expected:
        group["rules"] = [each for each in group["rules"] if each["alert"] != "LastcallRefusals"]
        for each in group["rules"]:
            each["labels"]["team"] = "serving"
    assert groups == expected and own == {"name": "own"}


def test_the_dashboard_is_the_file(helm):
    objects = objects_of(helm, "metrics.dashboard.enabled=true")
    found = objects["ConfigMap", "x-lastcall-dashboard"]
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    text = (CHART / "files/dashboard.json").read_text()
    assert json.loads(found["data"]["lastcall.json"]) == json.loads(text)
