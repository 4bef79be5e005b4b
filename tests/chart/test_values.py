"""Values that cannot work are refused, and the refusal names what and how much."""

import pytest
from conftest import DEMO, sets


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ("replicas=2", "replicas"),
        ("engine.prot=1", "prot"),
        ("config.shutdown.graceperiod=5s", "graceperiod"),
        ("config.probes.port=1", "port"),
        ("engine.port=eight", "port"),
        ("mode=ambient", "mode"),
        ("sidecar.readinessProbe.period=1", "period"),
        ("image.digest=sha256:abc", "digest"),
        ("podSecurityContext.runAsUser=2147483648", "runAsUser"),
        ("sidecar.securityContext.runAsGroup=2147483648", "runAsGroup"),
    ],
)
def test_a_typo_is_refused_by_its_name(helm, setting, word):
    assert word in helm.refusal("-f", DEMO, *sets(setting))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (("terminationGracePeriodSeconds=30",), ("30", "30000ms", "2000ms", "32000ms")),
        (("config.shutdown.late_accept=20s",), ("0ms", "20000ms", "12500ms", "4000ms")),
        (("config.shutdown.grace_period=5s", "config.shutdown.cleanup_reserve=16s"),
         ("cleanup_reserve", "4000ms", "5000ms")),
        (("config.shutdown.cancel_settle=10s",), ("cancel_settle", "10000ms", "30000ms")),
        (("config.shutdown.grace_period=25h",),
         ("config.shutdown.grace_period is 25h, expected 1s to 24h",)),
        (("config.shutdown.grace_period=0s",),
         ("config.shutdown.grace_period is 0s, expected 1s to 24h",)),
        (("config.probes.listen=[::]:8000",), ("engine.port", "config.probes.listen", "8000")),
        (("engine.command=null",), ("engine.command", "entry point")),
        (("engine.image.repository=",), ("engine.image.repository",)),
        (("config.ipc.socket=/tmp/l.sock",), ("config.ipc.socket", "/run/lastcall")),
        (("engine.image.repository=r:5000/vllm:v1",),
         ("engine.image.repository is r:5000/vllm:v1, expected no tag",)),
        (("image.repository=r/lastcall@sha256:1",), ("image.repository", "set image.tag")),
        (("podLabels.team=a b",), ("podLabels", "value of team")),
        (("commonLabels.a b=c",), ("commonLabels", '"a b"', "not a name for a label")),
        (("podDisruptionBudget.enabled=true", "podDisruptionBudget.maxUnavailable=101%"),
         ("podDisruptionBudget.maxUnavailable is 101%, expected at most 100%",)),
        (("updateStrategy.rollingUpdate.maxSurge=0",), ("maxSurge 0 and maxUnavailable 0",)),
        (("extraContainers[0].name=metrics", "extraContainers[0].image=m",
          "extraContainers[0].ports[0].containerPort=7090"),
         ("extraContainers: metrics has the port 7090",)),
        (("initContainers[0].name=metrics", "initContainers[0].image=m",
          "initContainers[0].restartPolicy=Always",
          "initContainers[0].ports[0].containerPort=7090"),
         ("initContainers: metrics has the port 7090",)),
        (("router.enabled=true", "router.config.tls.cert_file=/tls/tls.crt"),
         ("router.config.tls has cert_file but no key_file",)),
        (("router.enabled=true", "router.config.tls.key_file=/tls/tls.key"),
         ("router.config.tls has key_file but no cert_file",)),
    ],
)  # fmt: skip
def test_values_that_do_not_fit_together_are_refused_with_the_numbers(helm, settings, words):
    refusal = helm.refusal("-f", DEMO, *sets(*settings))
    assert all(word in refusal for word in words), refusal


def test_values_like_those_that_are_refused_are_accepted(helm):
    helm.template("-f", DEMO, *sets(
        "image.repository=r:5000/lastcall",
        "podLabels.example\\.com/team=a_b.c", "podLabels.empty=",
        "podDisruptionBudget.enabled=true", "podDisruptionBudget.maxUnavailable=100%",
        "updateStrategy.rollingUpdate.maxSurge=0", "updateStrategy.rollingUpdate.maxUnavailable=1",
        "extraContainers[0].name=metrics", "extraContainers[0].image=m",
        "extraContainers[0].ports[0].containerPort=7092", "router.enabled=true",
        "initContainers[0].name=fetch", "initContainers[0].image=f",
        "initContainers[0].ports[0].containerPort=7090",
        "router.config.tls.cert_file=/tls/tls.crt", "router.config.tls.key_file=/tls/tls.key",
    ))  # fmt: skip


def test_a_token_that_an_old_kubelet_would_not_send_is_refused(helm):
    by_http = sets("mode=prestop", "prestop.hook=http", "config.lifecycle.token=s3cret")
    refusal = helm.refusal("-f", DEMO, *by_http, kube="1.25.3")
    assert "config.lifecycle.token and prestop.tokenSecret need Kubernetes 1.26" in refusal


def test_native_mode_on_an_old_cluster_is_refused(helm):
    assert "1.28.3" in helm.refusal("-f", DEMO, *sets("mode=native"), kube="1.28.3")


def test_all_problems_are_reported_at_once(helm):
    refusal = helm.refusal(
        "-f", DEMO, *sets("terminationGracePeriodSeconds=30", "config.probes.listen=[::]:8000")
    )
    assert "terminationGracePeriodSeconds" in refusal and "engine.port" in refusal
