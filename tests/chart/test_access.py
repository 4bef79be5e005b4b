"""Users of both containers and the socket between them; the API's rights; the hooks' token."""

import pytest
from conftest import DEMO, container, sets

KUBERNETES = (
    "rbac.create=true", "config.discovery[0].kubernetes.readiness_gate=lastcall.dev/serving",
    "config.discovery[0].kubernetes.event=true",
)  # fmt: skip
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"
REGISTRY = "config.discovery[0].kubernetes.event=true"
ENGINE, SIDECAR = "engine.securityContext", "sidecar.securityContext"
POD = "podSecurityContext"


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        ((f"{ENGINE}.runAsUser=1000", "config.ipc.allow_uids={7}"), [7, 1000]),
        ((f"{SIDECAR}.runAsUser=1000",), [65532]),
        ((f"{SIDECAR}.runAsUser=1000", f"{POD}.runAsUser=2000"), [2000]),
        ((f"{ENGINE}.runAsUser=0", f"{ENGINE}.runAsNonRoot=false"), [0]),
        ((f"{ENGINE}.runAsUser=2147483647",), [2147483647]),
        ((f"{ENGINE}.runAsUser=1000", f"{SIDECAR}.runAsUser=1000"), None),
        ((f"{POD}.runAsUser=1000",), None),
        ((f"{POD}.runAsUser=null",), None),
        ((f"{ENGINE}.runAsUser=1000", f"{POD}.fsGroup=null"), [1000]),
        ((f"{ENGINE}.runAsUser=1000", f"{ENGINE}.runAsGroup=1000", f"{POD}.fsGroup=null",
          f"{POD}.supplementalGroups={{65532}}"), [1000]),
        ((f"{ENGINE}.runAsUser=1000", f"{ENGINE}.runAsGroup=1000", f"{POD}.fsGroup=null",
          "config.ipc.mode=0666"), [1000]),
    ],
)  # fmt: skip
def test_an_engine_of_another_user_may_connect(helm, accepted, settings, allowed):
    strings = [("--set-string" if "ipc.mode" in each else "--set", each) for each in settings]
    config = helm.config("-f", DEMO, *[word for pair in strings for word in pair])
    assert config.get("ipc", {}).get("allow_uids") == allowed
    assert accepted(config)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ((f"{ENGINE}.runAsUser=1000", f"{POD}.runAsUser=null"), f"expected {SIDECAR}.runAsUser"),
        ((f"{SIDECAR}.runAsUser=1000", f"{POD}.runAsUser=null"), f"expected {ENGINE}.runAsUser"),
        ((f"{ENGINE}.runAsUser=1000", f"{ENGINE}.runAsGroup=1000", f"{POD}.fsGroup=null"),
         "expected podSecurityContext.fsGroup"),
        ((f"{ENGINE}.runAsUser=1000", f"{POD}.runAsGroup=null", f"{POD}.fsGroup=null"),
         "expected podSecurityContext.fsGroup"),
    ],
)  # fmt: skip
def test_an_engine_that_could_not_reach_the_socket_is_refused(helm, settings, expected):
    assert expected in helm.refusal("-f", DEMO, *sets(*settings))


def test_a_socket_that_the_engines_user_may_not_write_is_refused(helm):
    settings = ("--set-string", "config.ipc.mode=0600", *sets(f"{ENGINE}.runAsUser=1000"))
    assert "config.ipc.mode is 0600" in helm.refusal("-f", DEMO, *settings)


def test_without_a_shim_nobody_has_to_know_the_engines_user(helm):
    settings = sets("mode=prestop", f"{POD}.runAsUser=null", f"{SIDECAR}.runAsUser=65532")
    assert helm.pod("-f", DEMO, *settings, *sets("prestop.hook=http"))
    assert f"expected {ENGINE}.runAsUser" in helm.refusal("-f", DEMO, *settings)  # a hook is one


@pytest.mark.parametrize("who", ["engine", "sidecar"])
def test_a_root_user_that_the_kubelet_would_not_start_is_refused(helm, who):
    root = f"{who}.securityContext.runAsUser=0"
    assert f"{who}.securityContext.runAsNonRoot: false" in helm.refusal("-f", DEMO, *sets(root))
    setting = f"{who}.securityContext.runAsNonRoot=false"
    assert helm.pod("-f", DEMO, *sets(root, setting))
    everyone = sets("podSecurityContext.runAsUser=0")
    assert f"{who}.securityContext.runAsNonRoot: false" in helm.refusal("-f", DEMO, *everyone)


def test_nothing_of_the_api_is_allowed_unless_it_is_asked_for(helm):
    assert not {"ServiceAccount", "Role", "RoleBinding"} & set(helm.objects("-f", DEMO))


def test_the_kubernetes_registry_gets_the_rights_it_needs_and_no_others(helm):
    objects = helm.objects("-f", DEMO, *sets(*KUBERNETES))
    rights = {(r["resources"][0], *r["verbs"]) for r in objects["Role"]["rules"]}
    assert rights == {
        ("endpointslices", "get", "list", "watch"), ("pods", "get"), ("pods/status", "patch"),
        ("events", "create"),
    }  # fmt: skip
    assert objects["RoleBinding"]["roleRef"]["name"] == objects["Role"]["metadata"]["name"]
    [subject] = objects["RoleBinding"]["subjects"]
    assert subject["name"] == objects["ServiceAccount"]["metadata"]["name"]
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == subject["name"]
    assert pod["readinessGates"] == [{"conditionType": "lastcall.dev/serving"}]


@pytest.mark.parametrize("key", ["serving_label=lastcall.dev/live", "deletion_cost=30s"])
def test_a_pod_that_writes_to_itself_may_patch_pods(helm, accepted, key):
    words = ("-f", DEMO, *sets("rbac.create=true", f"config.discovery[0].kubernetes.{key}"))
    rules = helm.objects(*words)["Role"]["rules"]
    assert {"apiGroups": [""], "resources": ["pods"], "verbs": ["patch"]} in rules
    assert accepted(helm.config(*words))


def test_only_the_supervisor_has_the_token(helm):
    pod = helm.pod("-f", DEMO, *sets(*KUBERNETES))
    assert pod["automountServiceAccountToken"] is False
    holders = [
        each["name"]
        for each in pod["initContainers"] + pod["containers"]
        if "lastcall-token" in [mount["name"] for mount in each["volumeMounts"]]
    ]
    assert holders == ["lastcall"]


def token_holders(pod):
    return [
        each["name"]
        for each in pod["initContainers"] + pod["containers"]
        if any(mount["mountPath"] == TOKEN for mount in each["volumeMounts"])
    ]


def test_a_registry_without_rights_is_refused(helm):
    refusal = helm.refusal("-f", DEMO, *sets(REGISTRY))
    assert "rbac.create: true" in refusal and "serviceAccount.name" in refusal


@pytest.mark.parametrize("key", ["serviceAccountName", "serviceAccount.name"])
def test_an_account_with_rights_of_its_own_needs_nothing_but_its_token(helm, key):
    objects = helm.objects("-f", DEMO, *sets(REGISTRY, f"{key}=mine"))
    assert not {"ServiceAccount", "Role", "RoleBinding"} & set(objects)
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "mine"
    assert token_holders(pod) == ["lastcall"]
    assert pod["automountServiceAccountToken"] is False


def test_the_rights_can_be_given_to_an_account_that_exists(helm):
    settings = (REGISTRY, "rbac.create=true", "serviceAccount.create=false",
                "serviceAccount.name=mine")  # fmt: skip
    objects = helm.objects("-f", DEMO, *sets(*settings))
    assert "ServiceAccount" not in objects
    assert [subject["name"] for subject in objects["RoleBinding"]["subjects"]] == ["mine"]
    assert token_holders(objects["Deployment"]["spec"]["template"]["spec"]) == ["lastcall"]


def test_an_account_can_be_made_without_rights_and_with_annotations(helm):
    settings = ("serviceAccount.create=true", "serviceAccount.annotations.a=b")
    objects = helm.objects("-f", DEMO, *sets(*settings))
    assert not {"Role", "RoleBinding"} & set(objects)
    account = objects["ServiceAccount"]
    assert account["metadata"]["annotations"] == {"a": "b"}
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == account["metadata"]["name"]
    assert token_holders(pod) == []


@pytest.mark.parametrize("key", ["serviceAccountName", "serviceAccount.name"])
def test_an_account_of_a_chosen_name_is_made_with_its_rights(helm, key):
    objects = helm.objects("-f", DEMO, *sets(REGISTRY, "rbac.create=true", f"{key}=mine"))
    assert objects["ServiceAccount"]["metadata"]["name"] == "mine"
    assert objects["Deployment"]["spec"]["template"]["spec"]["serviceAccountName"] == "mine"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (("rbac.create=true", "serviceAccount.create=false"), "serviceAccount.create: true"),
        (("serviceAccountName=a", "serviceAccount.name=b"), "serviceAccountName is a"),
    ],
)
def test_an_account_that_nobody_chose_is_refused(helm, settings, words):
    assert words in helm.refusal("-f", DEMO, *sets(*settings))


def test_a_token_that_the_user_mounts_is_not_mounted_twice(helm):
    mount = ("sidecar.volumeMounts[0].name=own", f"sidecar.volumeMounts[0].mountPath={TOKEN}/")
    pod = helm.pod("-f", DEMO, *sets(REGISTRY, "serviceAccount.name=mine", *mount))
    assert [m["name"] for m in container(pod, "lastcall")["volumeMounts"]][-1] == "own"
    assert "lastcall-token" not in [volume["name"] for volume in pod["volumes"]]


def test_an_account_that_every_pod_of_the_namespace_has_may_have_the_rights(helm):
    assert helm.pod("-f", DEMO, *sets(REGISTRY, "automountServiceAccountToken=true"))


BY_HTTP = ("mode=prestop", "prestop.hook=http")
TOKEN_OF_A_SECRET = (
    "sidecar.env[0].name=LASTCALL_LIFECYCLE_TOKEN",
    "sidecar.env[0].valueFrom.secretKeyRef.name=s", "sidecar.env[0].valueFrom.secretKeyRef.key=k",
)  # fmt: skip


def test_a_token_that_the_kubelet_cannot_send_is_refused(helm):
    refusal = helm.refusal("-f", DEMO, *sets(*BY_HTTP, *TOKEN_OF_A_SECRET))
    assert "LASTCALL_LIFECYCLE_TOKEN" in refusal and "prestop.tokenSecret" in refusal
    # Nothing but the kubelet has to call these hooks where there is a shim.
    assert helm.pod("-f", DEMO, *sets(*TOKEN_OF_A_SECRET))


def test_a_secret_that_a_rendering_cannot_read_is_refused(helm):
    refusal = helm.refusal("-f", DEMO, *sets(*BY_HTTP, "prestop.tokenSecret.name=hooks"))
    assert "no key token in a Secret hooks" in refusal and "prestop.hook: exec" in refusal
    both = ("prestop.tokenSecret.name=hooks", "config.lifecycle.token=s3cret")
    assert "expected one of them" in helm.refusal("-f", DEMO, *sets(*BY_HTTP, *both))
    # Hooks by exec send no token, so the Secret that cannot be read is not needed.
    assert helm.pod("-f", DEMO, *sets("mode=prestop", "prestop.tokenSecret.name=hooks"))


def test_hooks_that_anybody_may_call_are_warned_of(helm):
    def notes(*settings):
        return helm.notes("-f", DEMO, *sets("mode=prestop", *settings))

    assert "WARNING: prestop.hook is http" in notes("prestop.hook=http")
    assert "WARNING" not in notes("prestop.hook=http", "config.lifecycle.token=s3cret")
    assert "WARNING" not in notes()


def test_thresholds_that_anybody_may_set_are_warned_of(helm):
    def notes(*settings):
        return helm.notes("-f", DEMO, *sets(*settings))

    from_secret = ("sidecar.env[0].name=LASTCALL_ADMISSION_TOKEN", "sidecar.env[0].value=s3cret")
    is_on = "config.admission.http_api=true"
    assert "WARNING: config.admission.http_api is on" in notes(is_on)
    assert "WARNING" not in notes(is_on, "config.admission.http_token=s3cret")
    assert "WARNING" not in notes(is_on, *from_secret)
    assert "WARNING" not in notes()


def test_a_listener_that_contradicts_the_hooks_is_refused(helm):
    refusal = helm.refusal("-f", DEMO, *sets("mode=prestop", "config.lifecycle.http=true"))
    assert "config.lifecycle.http is true, but prestop.hook is exec" in refusal


def test_one_user_in_one_pid_namespace_is_warned_of(helm):
    def notes(*settings):
        return helm.notes("-f", DEMO, *sets(*settings))

    shared, warning = "shareProcessNamespace=true", "WARNING: shareProcessNamespace is on"
    assert warning in notes(shared)
    assert "WARNING" not in notes(shared, "engine.securityContext.runAsUser=1000")
    assert "WARNING" not in notes(shared, "sidecar.securityContext.runAsUser=1001")
    assert "WARNING" not in notes()
