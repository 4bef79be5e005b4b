"""The injector: two policies, whose containers are the library's."""

import hashlib
import json
import re

import pytest
import yaml
from conftest import ROOT, sets

INJECTOR = ROOT / "charts/lastcall-injector"
TRIED = ROOT / "tests/chart/golden/policy.json"


def policies(helm, *settings, kube="1.34.0"):
    words = sets("apiVersion=v1beta1", *settings)
    return helm.objects(*words, chart=INJECTOR, kube=kube)


def fingerprint(objects):
    """What a server evaluates, whatever the release is called and whichever namespaces."""
    specs = [objects[kind]["spec"] for kind in sorted(objects) if kind.endswith("Policy")]
    for spec in specs:
        spec["matchConstraints"].pop("namespaceSelector")
    return hashlib.sha256(json.dumps(specs, sort_keys=True).encode()).hexdigest()


def test_the_linter_finds_nothing(helm):
    helm("lint", "--strict", INJECTOR, "--set", "apiVersion=v1", "--kube-version", "1.36.0")


def test_the_policy_is_the_one_that_made_the_golden_pods_on_a_real_server(helm):
    """No CEL can be evaluated here. `./dev e2e kubernetes` (test_kubernetes_injection.py) compares
    what a real API server makes of each golden pod, and writes golden/policy.json with
    LASTCALL_UPDATE_GOLDEN=1."""
    assert fingerprint(policies(helm)) == json.loads(TRIED.read_text())["sha256"]


def test_both_policies_look_at_the_same_pods(helm):
    objects = policies(helm)
    [mutating, refusing] = [objects[f"{kind}AdmissionPolicy"]["spec"]
                            for kind in ("Mutating", "Validating")]  # fmt: skip
    for key in ("matchConstraints", "failurePolicy"):
        assert mutating[key] == refusing[key]
    assert mutating["variables"][: len(refusing["variables"])] == refusing["variables"]
    selector = mutating["matchConstraints"]["objectSelector"]
    assert selector == {"matchLabels": {"lastcall.dev/inject": "true"}}
    for kind in ("Mutating", "Validating"):
        binding = objects[f"{kind}AdmissionPolicyBinding"]["spec"]
        assert binding["policyName"] == objects[f"{kind}AdmissionPolicy"]["metadata"]["name"]


def test_an_annotation_can_ask_as_well(helm):
    for kind in ("Mutating", "Validating"):
        spec = policies(helm, "selectBy=annotation")[f"{kind}AdmissionPolicy"]["spec"]
        assert "objectSelector" not in spec["matchConstraints"]
        [condition] = spec["matchConditions"]
        asks = "object.metadata.annotations['lastcall.dev/inject'] == 'true'"
        assert asks in condition["expression"]


def test_values_reach_the_containers(helm):
    words = ("pods.image.repository=r/lastcall", "pods.shimImage.digest=sha256:" + "1" * 64,
             "pods.install.resources.limits.cpu=1", "pods.uid=7", "pods.gracePeriod=2m",
             "pods.sidecar.env[0].name=A", "pods.sidecar.env[0].value=\"b\\c")  # fmt: skip
    spec = policies(helm, *words)["MutatingAdmissionPolicy"]["spec"]
    [mutation] = spec["mutations"]
    text = mutation["jsonPatch"]["expression"]
    assert 'image: "r/lastcall:0.1.0"' in text and "lastcall-shim@sha256:111" in text
    assert 'limits: {"cpu": "1", "memory": "32Mi"}' in text
    assert r'name: "A", value: "\"b\\c"' in text or r'name: "A", value: "\"bc"' in text
    variables = {each["name"]: each["expression"] for each in spec["variables"]}
    assert "120000" in variables["grace"] and "'2m'" in variables["grace"]
    assert variables["uid"].endswith(": 7")


def words_as_keys(spec):
    """How the policy finds a word as a key of the file, as expressions for `re`: what comes before
    the word and after it. RE2 reads these expressions alike."""
    calls = [re.findall(r"matches\(r'(.*?)' \+ w \+ r'(.*?)'\)", each["expression"])
             for each in spec["variables"]]  # fmt: skip
    return [pair for found in calls for pair in found]


GIVEN = ["late_accept: 5s", "late_accept:", "late_accept:\r\n", "a: 1\n  late_accept : 5s",
         "{shutdown: {late_accept: 5s}}", "{a: 1,late_accept: 5s}", '{"late_accept":"5s"}',
         "{'late_accept' : 5s}", "a: b#c\nlate_accept: 5s", "{a: b#c, late_accept: 5s}",
         "# a\nlate_accept: 5s  # b"]  # fmt: skip
NOT_GIVEN = ["# late_accept: 5s", "  #late_accept: 5s", "## {late_accept: 5s}",
             "a: 1  # late_accept: 5s", "a:\t# b # late_accept: 5s", "a: b# # late_accept: 5s",
             "not_late_accept: 5s", "late_accept", "late_accept\n: 5s",
             "url: late_accept:80"]  # fmt: skip


@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
def test_a_policy_finds_keys_of_the_file_and_no_comments(helm, kind):
    pairs = words_as_keys(policies(helm)[f"{kind}AdmissionPolicy"]["spec"])
    assert pairs
    for before, after in pairs:
        key = re.compile(f"{before}late_accept{after}")
        assert [text for text in GIVEN + NOT_GIVEN if key.search(text)] == GIVEN


def test_secrets_for_the_images_reach_the_policy(helm):
    spec = policies(helm, "pods.imagePullSecrets[0].name=pull")["MutatingAdmissionPolicy"]["spec"]
    text = spec["mutations"][0]["jsonPatch"]["expression"]
    assert "['pull']" in text and 'path: "/spec/imagePullSecrets/-"' in text


@pytest.mark.parametrize(
    ("versions", "found"),
    [
        (("v1", "v1beta1"), "v1"), (("v1beta1",), "v1beta1"),
    ],
)  # fmt: skip
def test_the_newest_version_of_the_cluster_is_taken(helm, versions, found):
    group = "admissionregistration.k8s.io"
    words = []
    for version in versions:
        words += ["--api-versions", f"{group}/{version}/MutatingAdmissionPolicy"]
    objects = helm.objects(*words, chart=INJECTOR, kube="1.36.0")
    assert objects["MutatingAdmissionPolicy"]["apiVersion"] == f"{group}/{found}"


def test_a_cluster_without_such_policies_is_refused(helm):
    refusal = helm.refusal(*sets("by=policy"), chart=INJECTOR, kube="1.35.0")
    assert "serves no MutatingAdmissionPolicy" in refusal and "charts/lastcall-lib" in refusal
    assert "1.20" in helm.refusal(chart=INJECTOR, kube="1.19.0")


@pytest.mark.parametrize(
    "setting", ["pods.graceperiod=5s", "selectBy=all", "pods.uid=0", "onFailure=deny", "replicas=2"]
)
def test_a_typo_is_refused(helm, setting):
    words = sets("apiVersion=v1beta1", setting)
    key = setting.split("=")[0].split(".")[-1]
    assert key in helm.refusal(*words, chart=INJECTOR, kube="1.34.0")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ((r"commonLabels.app\.kubernetes\.io/name=a",), "commonLabels has app.kubernetes.io/name"),
        ((r"commonLabels.app\.kubernetes\.io/instance=a",), "app.kubernetes.io/instance"),
        ((r"commonLabels.lastcall\.dev/inject=yes",), "commonLabels has lastcall.dev/inject"),
        (("pods.image.repository=r:5000/lastcall:1",),
         "pods.image.repository is r:5000/lastcall:1, expected no tag and no digest there"),
        (("pods.shimImage.repository=shim@sha256:1",), "set pods.shimImage.tag"),
        (("pods.gracePeriod=0s",), "pods.gracePeriod is 0s, expected 1s to 24h"),
        (("pods.gracePeriod=25h",), "pods.gracePeriod is 25h, expected 1s to 24h"),
        (("pods.uid=2147483648",), "uid"),
        (("webhook.imagePullSecrets[0]=s",), "imagePullSecrets"),
        (("pods.imagePullSecrets[0].name=a'b",), "imagePullSecrets"),
        (("webhook.ports.metrics=8443",),
         "webhook.ports.webhook is 8443, which is another port of the webhook too"),
        (("webhook.ports.https=8443",), "https"),
        (("webhook.ports=null",), "ports"),
        (("webhook.ports.metrics=null",), "metrics"),
        (("namespaceSelector.matchLabel.a=b",), "matchLabel"),
        (("namespaceSelector.matchExpressions[0].operator=Notin",
          "namespaceSelector.matchExpressions[0].key=k"), "operator"),
        (("namespaceSelector.matchExpressions[0].operator=In",
          "namespaceSelector.matchExpressions[0].key=k",
          "namespaceSelector.matchExpressions[0].values[0]=true"), "values"),
        (("namespaceSelector.matchExpressions[0].operator=In",
          "namespaceSelector.matchExpressions[0].key=k",
          "namespaceSelector.matchExpressions[0].value=v"), "value"),
        (("webhook.nodeSelector.gpu=true",), "nodeSelector"),
        (("webhook.tolerations[0]=gpu",), "tolerations"),
        (("webhook.certificate.issuerRef.nam=x",), "nam"),
        (("pods.sidecar.env[0].name=A=B", "pods.sidecar.env[0].value=x"), "env"),
        (("pods.sidecar.resources.limits.memory=12x",), "memory"),
        (("pods.sidecar.resources.limits.cpu=auto",), "cpu"),
        (("pods.install.resources.requests.memory=auto",), "memory"),
        (("webhook.resources.limits.memory=256 Mi",), "memory"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("by", ["policy", "webhook"])
def test_values_that_no_api_server_or_no_sidecar_would_take_are_refused(helm, by, settings, reason):
    words = sets("apiVersion=v1beta1", f"by={by}", *settings)
    assert reason in helm.refusal(*words, chart=INJECTOR)


@pytest.mark.parametrize(
    "quantity", ["auto", "134217728", "0.5", "+1", "1e3", "1.5Gi", "200m", "2k"]
)
def test_quantities_of_every_form_are_taken(helm, quantity):
    words = sets("by=webhook", f"pods.sidecar.resources.limits.memory={quantity}")
    assert helm.template(*words, chart=INJECTOR)


def test_an_annotation_of_the_pods_is_there_once(helm):
    key = "webhook.podAnnotations"
    words = sets("by=webhook", f"{key}.checksum/config=x", f"{key}.a=b")
    text = helm.template(*words, chart=INJECTOR).stdout
    assert text.count("checksum/config:") == 1 and "\n        a: b\n" in text


def test_the_defaults_are_those_of_the_library():
    values = yaml.safe_load((INJECTOR / "values.yaml").read_text())["pods"]
    text = (ROOT / "charts/lastcall-lib/templates/_inject.tpl").read_text()
    text = text.split('"lastcall-lib.defaults" -}}\n')[1].split("{{- end -}}")[0]
    library = yaml.safe_load(text)
    for key in ("image", "shimImage", "uid", "gracePeriod", "install"):
        assert values[key] == library[key]
    assert values["sidecar"]["resources"]["requests"] == library["sidecar"]["resources"]["requests"]
