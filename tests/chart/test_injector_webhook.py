"""The injector where no policy can be: a Deployment of the webhook, and what registers it with API
servers."""

import subprocess

import pytest
import yaml
from conftest import BUILD, ROOT, sets

INJECTOR = ROOT / "charts/lastcall-injector"
KUBE = BUILD / "supervisor/cli/lastcall-kube"
GIVEN = ("webhook.certificate.from=secret", "webhook.certificate.secretName=t",
         "webhook.certificate.caBundle=PEM")  # fmt: skip


def objects(helm, *settings, kube="1.28.0", given=GIVEN):
    return helm.objects(*sets(*given, *settings), chart=INJECTOR, kube=kube)


def configured(rendered):
    [webhook] = rendered["MutatingWebhookConfiguration"]["webhooks"]
    return webhook


def container_of(rendered):
    [container] = rendered["Deployment"]["spec"]["template"]["spec"]["containers"]
    return container


def test_an_older_cluster_gets_the_webhook_and_no_policy(helm):
    rendered = objects(helm)
    assert not [kind for kind in rendered if "AdmissionPolicy" in kind]
    webhook = configured(rendered)
    assert webhook["failurePolicy"] == "Fail" and webhook["sideEffects"] == "None"
    assert webhook["admissionReviewVersions"] == ["v1"]
    assert webhook["reinvocationPolicy"] == "IfNeeded" and webhook["timeoutSeconds"] == 10
    assert webhook["objectSelector"] == {"matchLabels": {"lastcall.dev/inject": "true"}}
    excluded = [each["values"] for each in webhook["namespaceSelector"]["matchExpressions"]]
    assert excluded == [["kube-system", "cert-manager"], ["false"]]
    service = rendered["Service"]
    told = webhook["clientConfig"]["service"]
    assert told["name"] == service["metadata"]["name"] and told["path"] == "/inject"
    pod = rendered["Deployment"]["spec"]["template"]
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    budget = rendered["PodDisruptionBudget"]["spec"]
    assert budget["selector"]["matchLabels"] == service["spec"]["selector"]
    assert budget["maxUnavailable"] == 1
    assert pod["spec"]["automountServiceAccountToken"] is False


@pytest.mark.parametrize("given", [GIVEN, ("webhook.certificate.from=certManager",),
                                   ("webhook.certificate.from=chart",)],
                         ids=["secret", "cert_manager", "chart"])  # fmt: skip
def test_every_object_is_in_the_namespace_that_api_servers_call(helm, given):
    """`helm template -n NAMESPACE | kubectl apply` would put it into the current one otherwise."""
    more = ("metrics.podMonitor.enabled=true", "metrics.prometheusRule.enabled=true")
    found = helm.all_objects("-n", "own", *sets(*given, *more), chart=INJECTOR, kube="1.28.0")
    of_cluster = {"MutatingWebhookConfiguration", "ClusterRole", "ClusterRoleBinding"}
    assert len(found) >= 7
    for each in found:
        expected = None if each["kind"] in of_cluster else "own"
        assert each["metadata"].get("namespace") == expected, each["kind"]


@pytest.mark.parametrize("words", [(), ("--api-versions",
                         "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy")])  # fmt: skip
def test_the_choice_can_be_overridden(helm, words):
    given = sets(*GIVEN, "by=webhook")
    rendered = helm.objects(*given, *words, chart=INJECTOR, kube="1.36.0")
    assert "MutatingAdmissionPolicy" not in rendered and "Deployment" in rendered
    rendered = helm.objects(*sets("by=policy", "apiVersion=v1"), chart=INJECTOR, kube="1.36.0")
    assert "MutatingAdmissionPolicy" in rendered and "Deployment" not in rendered


def test_with_annotations_only_pods_that_ask_may_depend_on_it(helm):
    for kube, policy in (("1.30.0", "Fail"), ("1.29.0", "Ignore")):
        webhook = configured(objects(helm, "selectBy=annotation", kube=kube))
        assert webhook["failurePolicy"] == policy
        assert ("matchConditions" in webhook) == (policy == "Fail")
        [own] = webhook["objectSelector"]["matchExpressions"]
        pods = objects(helm)["Deployment"]["spec"]["template"]["metadata"]["labels"]
        assert own["operator"] == "NotIn" and pods[own["key"]] in own["values"]
    webhook = configured(objects(helm, "webhook.failurePolicy=Ignore"))
    assert webhook["failurePolicy"] == "Ignore"


def test_on_the_network_of_the_node_its_ports_can_be_chosen(helm):
    before = objects(helm)["Deployment"]["spec"]
    assert not {"hostNetwork", "dnsPolicy"} & before["template"]["spec"].keys()
    rendered = objects(
        helm, "webhook.hostNetwork=true", "webhook.ports.webhook=18443",
        "webhook.ports.metrics=18081", "webhook.ports.lastcall=17090",
    )  # fmt: skip
    deployment = rendered["Deployment"]["spec"]
    pod = deployment["template"]["spec"]
    assert pod["hostNetwork"] and pod["dnsPolicy"] == "ClusterFirstWithHostNet"
    # The webhook takes ports of the node, so an update has to end one before it starts another.
    assert deployment["strategy"]["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 0}
    container = container_of(rendered)
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert ports == {"webhook": 18443, "metrics": 18081, "lastcall": 17090}
    assert {"--listen=[::]:18443", "--probes=[::]:18081"} <= set(container["args"])
    [service] = rendered["Service"]["spec"]["ports"]
    assert service["targetPort"] == "webhook"
    config = yaml.safe_load(rendered["ConfigMap"]["data"]["lastcall.yaml"])
    assert config["engine"]["url"] == "http://127.0.0.1:18081"
    assert config["probes"]["listen"] == "[::]:17090"


def test_a_given_certificate_is_mounted_and_trusted_and_needs_its_authority(helm):
    rendered = objects(helm)
    assert configured(rendered)["clientConfig"]["caBundle"] == "UEVN"
    volumes = rendered["Deployment"]["spec"]["template"]["spec"]["volumes"]
    [tls] = [each["secret"] for each in volumes if each["name"] == "tls"]
    assert tls == {"secretName": "t"} and "Secret" not in rendered
    refusal = helm.refusal(*sets(*GIVEN[:2]), chart=INJECTOR, kube="1.28.0")
    assert "webhook.certificate.caBundle, the PEM of the authority" in refusal


def test_cert_manager_issues_the_certificate_and_injects_its_authority(helm):
    rendered = objects(helm, given=("webhook.certificate.from=certManager",))
    certificate = rendered["Certificate"]["spec"]
    assert certificate["issuerRef"]["name"] == rendered["Issuer"]["metadata"]["name"]
    service = rendered["Service"]["metadata"]["name"]
    assert certificate["dnsNames"][0] == f"{service}.default.svc"
    told = rendered["MutatingWebhookConfiguration"]["metadata"]["annotations"]
    name = rendered["Certificate"]["metadata"]["name"]
    assert told == {"cert-manager.io/inject-ca-from": f"default/{name}"}
    assert "caBundle" not in configured(rendered)["clientConfig"]
    mine = ("webhook.certificate.from=certManager", "webhook.certificate.issuerRef.name=i",
            "webhook.certificate.issuerRef.kind=ClusterIssuer")  # fmt: skip
    rendered = objects(helm, given=mine)
    assert rendered["Certificate"]["spec"]["issuerRef"] == {"kind": "ClusterIssuer", "name": "i"}
    assert "Issuer" not in rendered


def kept(helm, *settings):
    """The webhook makes and keeps its certificate: the default."""
    return objects(helm, *settings, given=("by=webhook",), kube="1.34.0")


def test_a_webhook_that_keeps_its_certificate_is_rendered_the_same_each_time(helm):
    words = (*sets("by=webhook"), "--namespace", "s")
    first = helm.template(*words, chart=INJECTOR, kube="1.34.0").stdout
    assert helm.template(*words, chart=INJECTOR, kube="1.34.0").stdout == first
    assert "caBundle" not in first and "kind: Secret" not in first
    webhook = configured(kept(helm))
    assert "caBundle" not in webhook["clientConfig"]


def test_it_gets_the_names_of_what_it_keeps(helm):
    rendered = kept(helm)
    args = container_of(rendered)["args"]
    service = configured(rendered)["clientConfig"]["service"]["name"]
    assert f"--service={service}" in args and f"--secret={service}-tls" in args
    name = rendered["MutatingWebhookConfiguration"]["metadata"]["name"]
    assert f"--registration={name}" in args
    assert not [arg for arg in args if arg.startswith("--tls-")]
    pod = rendered["Deployment"]["spec"]["template"]["spec"]
    assert "tls" not in [volume["name"] for volume in pod["volumes"]]
    other = kept(helm, "webhook.certificate.secretName=other")
    assert "--secret=other" in container_of(other)["args"]


def test_it_may_read_and_change_its_own_two_objects_and_create_secrets(helm):
    rendered = kept(helm)
    name = rendered["ServiceAccount"]["metadata"]["name"]
    pod = rendered["Deployment"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == name and pod["automountServiceAccountToken"] is True
    assert rendered["ServiceAccount"]["automountServiceAccountToken"] is False
    assert rendered["Role"]["rules"] == [
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["x-injector-tls"],
         "verbs": ["get", "patch"]},
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
    ]  # fmt: skip
    registration = rendered["MutatingWebhookConfiguration"]["metadata"]["name"]
    assert rendered["ClusterRole"]["rules"] == [
        {"apiGroups": ["admissionregistration.k8s.io"],
         "resources": ["mutatingwebhookconfigurations"], "resourceNames": [registration],
         "verbs": ["get", "patch"]}
    ]  # fmt: skip
    for binding, role in (("RoleBinding", "Role"), ("ClusterRoleBinding", "ClusterRole")):
        assert rendered[binding]["roleRef"]["name"] == rendered[role]["metadata"]["name"]
        assert rendered[binding]["roleRef"]["kind"] == role
        [subject] = rendered[binding]["subjects"]
        assert subject == {"kind": "ServiceAccount", "name": name, "namespace": "default"}


@pytest.mark.parametrize("given", [GIVEN, ("webhook.certificate.from=certManager",)],
                         ids=["secret", "certManager"])  # fmt: skip
def test_with_a_certificate_of_others_it_has_no_right_and_no_token(helm, given):
    rendered = objects(helm, given=(*given, "by=webhook"))
    assert not [kind for kind in rendered if "Role" in kind or kind == "ServiceAccount"]
    pod = rendered["Deployment"]["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False and "serviceAccountName" not in pod
    args = container_of(rendered)["args"]
    assert "--tls-cert=/etc/lastcall-tls/tls.crt" in args
    assert not [arg for arg in args if arg.startswith("--secret")]


def test_the_policies_need_no_right(helm):
    rendered = helm.objects(*sets("by=policy", "apiVersion=v1"), chart=INJECTOR, kube="1.36.0")
    assert not [kind for kind in rendered if "Role" in kind or kind == "ServiceAccount"]


def test_it_is_ready_once_the_webhook_has_started(helm):
    for given in (GIVEN, ("by=webhook",)):
        files = objects(helm, given=given)["ConfigMap"]["data"]
        [check] = yaml.safe_load(files["lastcall.yaml"])["health"]["checks"]
        assert check["http"]["url"] == "http://127.0.0.1:8081/startupz"


def test_the_program_takes_the_words_of_one_that_keeps_its_certificate(helm, tmp_path):
    args = container_of(kept(helm))["args"]
    words = args[args.index("webhook") :]
    words[1:2] = ["--listen=127.0.0.1:0", "--probes=127.0.0.1:0"]
    done = subprocess.run([KUBE, *words], capture_output=True, text=True, timeout=60,
                          env={"HOME": str(tmp_path)})  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("lastcall webhook: cannot find an API server: no kubeconfig, and")


@pytest.mark.parametrize(("kube", "form"), [("1.28.0", "plain"), ("1.29.0", "native")])
def test_the_sidecar_has_the_form_that_the_cluster_knows(helm, kube, form):
    args = container_of(objects(helm, kube=kube))["args"]
    assert f"--mode={form}" in args and "--on-failure=deny" in args
    args = container_of(objects(helm, "onFailure=Warn", kube=kube))["args"]
    assert "--on-failure=warn" in args


def test_the_programs_take_what_the_chart_gives_them(helm, tmp_path, accepted_words):
    """The webhook complains of its certificate, which it reads after its file of pods."""
    rendered = objects(helm, "pods.sidecar.env[0].name=A", "pods.sidecar.env[0].value=b",
                       "pods.install.resources.limits.cpu=1")  # fmt: skip
    files = rendered["ConfigMap"]["data"]
    assert accepted_words([], files["lastcall.yaml"])
    (tmp_path / "pods.yaml").write_text(files["pods.yaml"])
    args = container_of(rendered)["args"]
    words = args[args.index("webhook") :]
    words[1] = f"--pods={tmp_path}/pods.yaml"
    done = subprocess.run([KUBE, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr == (
        "lastcall webhook: cannot use the certificate in /etc/lastcall-tls/tls.crt:"
        " No such file or directory\n"
    )
    pods = yaml.safe_load(files["pods.yaml"])
    assert set(pods) == {
        "image", "shimImage", "imagePullSecrets", "uid", "gracePeriod", "install", "sidecar"
    }  # fmt: skip
    grace = yaml.safe_load(files["lastcall.yaml"])["shutdown"]["grace_period"]
    pod = rendered["Deployment"]["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] >= int(grace.removesuffix("s")) + 2


def test_its_metrics_are_found_and_watched_where_that_is_asked_for(helm):
    rendered = objects(helm, "metrics.podMonitor.enabled=true",
                       "metrics.prometheusRule.enabled=true",
                       "metrics.prometheusRule.labels.release=p",
                       "metrics.prometheusRule.disabled[0]=LastcallWebhookRefusals")  # fmt: skip
    file = yaml.safe_load((INJECTOR / "files/alerts.yaml").read_text())
    [group] = rendered["PrometheusRule"]["spec"]["groups"]
    expected = [each for each in file["groups"][0]["rules"]
                if each["alert"] != "LastcallWebhookRefusals"]  # fmt: skip
    assert group["rules"] == expected
    assert rendered["PrometheusRule"]["metadata"]["labels"]["release"] == "p"
    [endpoint] = rendered["PodMonitor"]["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] in [port["name"] for port in container_of(rendered)["ports"]]
    pods = rendered["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert rendered["PodMonitor"]["spec"]["selector"]["matchLabels"].items() <= pods.items()
    assert not {"PodMonitor", "PrometheusRule"} & set(objects(helm))


def test_one_replica_has_no_budget(helm):
    assert "PodDisruptionBudget" not in objects(helm, "webhook.replicas=1")
