"""What docs/operations.md promises under 'Hardening': the restricted profile, and its policy."""

import re

import pytest
import yaml
from conftest import DEMO, ROOT, VLLM, container, sets

PAGE = ROOT / "docs/operations.md"
# Pod Security Standards, 'Restricted': the kinds of volumes that may be there.
VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim",
           "projected", "secret"}  # fmt: skip
KUBERNETES = (
    "rbac.create=true", "config.discovery[0].kubernetes.readiness_gate=lastcall.dev/serving",
)  # fmt: skip


def breaches(pod):
    """What breaks the profile 'restricted', v1.32, in words; it includes 'baseline'."""
    found = [f"{key} is set" for key in ("hostNetwork", "hostPID", "hostIPC") if pod.get(key)]
    for volume in pod.get("volumes", []):
        kinds = set(volume) - {"name"}
        found += [f"volume {volume['name']} is {kind}" for kind in kinds - VOLUMES]
    whole = pod.get("securityContext") or {}
    for each in pod.get("initContainers", []) + pod["containers"]:
        own, name = each.get("securityContext") or {}, each["name"]
        def of(key, own=own):
            return own.get(key, whole.get(key))
        if own.get("allowPrivilegeEscalation") is not False:
            found.append(f"{name} may gain privileges")
        if of("runAsNonRoot") is not True or of("runAsUser") == 0:
            found.append(f"{name} may be root")
        if (of("seccompProfile") or {}).get("type") not in ("RuntimeDefault", "Localhost"):
            found.append(f"{name} has no seccomp profile")
        capabilities = own.get("capabilities") or {}
        if "ALL" not in capabilities.get("drop", []):
            found.append(f"{name} keeps capabilities")
        if set(capabilities.get("add", [])) - {"NET_BIND_SERVICE"} or own.get("privileged"):
            found.append(f"{name} adds capabilities")
        found += [f"{name} has host port {port['hostPort']}" for port in each.get("ports", [])
                  if port.get("hostPort")]  # fmt: skip
    return found


@pytest.mark.parametrize("mode", ["native", "plain", "prestop"])
@pytest.mark.parametrize("values", [DEMO, VLLM], ids=["demo", "vllm"])
def test_a_pod_passes_the_restricted_profile(helm, mode, values):
    assert breaches(helm.pod("-f", values, *sets(f"mode={mode}"))) == []
    assert breaches(helm.pod("-f", values, *sets(f"mode={mode}", *KUBERNETES))) == []


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (("engine.securityContext.allowPrivilegeEscalation=true",), "engine may gain privileges"),
        (("engine.securityContext.runAsUser=0", "engine.securityContext.runAsNonRoot=false"),
         "engine may be root"),
        (("sidecar.securityContext.capabilities.drop=null",), "lastcall keeps capabilities"),
        (("volumes[0].name=v", "volumes[0].hostPath.path=/var"), "volume v is hostPath"),
        (("podSecurityContext.seccompProfile=null",), "engine has no seccomp profile"),
    ],
)  # fmt: skip
def test_a_breach_of_the_profile_is_found(helm, settings, words):
    assert words in breaches(helm.pod("-f", DEMO, *sets(*settings)))


def documented(kind, name):
    [found] = [each for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
               for each in yaml.safe_load_all(text)
               if isinstance(each, dict) and each.get("kind") == kind
               and each["metadata"]["name"] == name]  # fmt: skip
    return found


def test_the_pages_policy_admits_clients_and_scrapes_at_the_charts_ports(helm):
    """By the labels and the ports that the chart has by default."""
    policy = documented("NetworkPolicy", "qwen-lastcall")["spec"]
    deployment = helm.objects("-f", DEMO, "--set", "config.ingress.enabled=true",
                              release="qwen")["Deployment"]  # fmt: skip
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    ports = container(deployment["spec"]["template"]["spec"], "lastcall")["ports"]
    admitted = {port["port"] for rule in policy["ingress"] for port in rule["ports"]}
    assert admitted == {port["containerPort"] for port in ports}


def test_the_pages_policies_let_the_router_reach_its_workers(helm):
    """Each selects its own pods alone, and one lets in what the other lets out."""
    workers, routers = (documented("NetworkPolicy", name)["spec"]
                        for name in ("qwen-lastcall", "qwen-lastcall-router"))  # fmt: skip
    objects = helm.all_objects("-f", DEMO, "--set", "config.ingress.enabled=true",
                              "--set", "router.enabled=true", release="qwen")  # fmt: skip
    pods = {each["metadata"]["name"]: each["spec"]["template"] for each in objects
            if each["kind"] == "Deployment"}  # fmt: skip
    assert len(pods) == 2
    for policy, is_router in ((workers, False), (routers, True)):
        selects = policy["podSelector"]["matchLabels"].items()
        chosen = [name for name, pod in pods.items()
                  if selects <= pod["metadata"]["labels"].items()]  # fmt: skip
        assert chosen == [name for name in pods if name.endswith("-router") is is_router]
    [router] = [pod for name, pod in pods.items() if name.endswith("-router")]
    ports = {port["containerPort"] for each in router["spec"]["containers"]
             for port in each.get("ports", [])}  # fmt: skip
    admitted = {port["port"] for rule in routers["ingress"] for port in rule["ports"]}
    assert admitted <= ports and 8080 in admitted
    out = routers["egress"][0]
    assert out["to"][0]["podSelector"] == workers["podSelector"]
    assert {port["port"] for port in out["ports"]} == {8080, 7090}


def test_the_pages_namespace_enforces_the_profile():
    labels = documented("Namespace", "models")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
