"""The certificate that `lastcall webhook` makes and keeps itself, beside a real API server and with
the rights that the chart gives it."""

import base64
import contextlib
import http.client
import json
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE / "serve"), str(HERE / "registries")]
from certificates import Authority  # noqa: E402
from kube_api import RealApi  # noqa: E402
from serve_peer import wait_until  # noqa: E402
from tcp_proxy import TcpProxy  # noqa: E402
from webhook_release import (  # noqa: E402
    ASKS,
    CHART,
    GROUP,
    PATIENCE,
    SPACE,
    TOOLS,
    Injector,
    data_of,
    has_lastcall,
    why_not,
)

OURS = {"app.kubernetes.io/managed-by": "lastcall-webhook"}
FAILED = 'lastcall_webhook_certificate_looks_total{outcome="failed"}'

pytestmark = [
    pytest.mark.plain_build,
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
    pytest.mark.skipif(not (TOOLS / "helm-4").exists(), reason="no Helm 4"),
]


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    one = RealApi(tmp_path_factory.mktemp("api"), services="127.97.0.0/16")
    yield one
    one.close()


@pytest.fixture
def injector(api, tmp_path):
    one = Injector(tmp_path, TOOLS / "helm-4", api)
    yield one
    one.kill()
    one.call_helm("uninstall", one.name, "--ignore-not-found")
    api.ask("DELETE", one.secret_path())  # there is nobody here who collects garbage


def openssl(*words, text=None):
    return subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True, input=text,
                          timeout=60)  # fmt: skip


def verify(folder, certificate, authorities, host):
    (folder / "c.pem").write_text(certificate)
    (folder / "a.pem").write_text(authorities)
    done = openssl("verify", "-x509_strict", "-CAfile", folder / "a.pem", "-purpose", "sslserver",
                   "-verify_hostname", host, folder / "c.pem")  # fmt: skip
    return done.returncode == 0, done.stdout + done.stderr


def is_injected(injector):
    spec, refusal = injector.create(ASKS, dry=True)
    assert spec or "x509" in refusal, refusal
    return spec and has_lastcall(spec)


def given(injector, certificate, key, authorities, labels):
    """A Secret that is there before any webhook."""
    data = {"tls.crt": certificate, "tls.key": key, "ca.crt": authorities}
    secret = {
        "metadata": {"name": f"{injector.name}-injector-tls", "labels": labels},
        "type": "kubernetes.io/tls",
        "data": {name: base64.b64encode(Path(file).read_bytes()).decode()
                 for name, file in data.items()},
    }  # fmt: skip
    path = f"/api/v1/namespaces/{SPACE}/secrets"
    status, text = injector.api.ask("POST", path, secret)
    assert status == 201, text
    return data_of(json.loads(text))


def signed(injector, days, host=None):
    authority = Authority(injector.folder)
    pair = authority.sign("given", f"DNS:{host or injector.host}", days=days)
    return (*pair, authority.certificate)


# --- making and trusting -------------------------------------------------------------------------


def test_two_that_start_at_once_agree_and_a_pod_is_injected(injector):
    assert "caBundle" not in injector.configuration()["clientConfig"]
    one, other = injector.begin(), injector.run()
    for each in (one, other):
        each.wait_until_ready()
    secret = injector.secret()
    assert is_injected(injector)
    assert one.certificate() == other.certificate() == secret["tls.crt"]
    assert len(one.lines("certificate created") + other.lines("certificate created")) == 1
    for name in (injector.host, injector.host.removesuffix(".svc"), f"{injector.name}-injector"):
        assert verify(injector.folder, secret["tls.crt"], secret["ca.crt"], name)[0], name
    assert not verify(injector.folder, secret["tls.crt"], secret["ca.crt"], "other")[0]
    text = openssl("x509", "-noout", "-text", text=secret["tls.crt"]).stdout
    assert "TLS Web Server Authentication" in text and "ASN1 OID: prime256v1" in text


def test_the_secret_goes_with_the_registration_and_has_a_type_that_others_know(injector):
    injector.start()
    secret, registration = injector.get(injector.secret_path()), injector.registration()
    assert secret["type"] == "kubernetes.io/tls" and secret["metadata"]["labels"] == OURS
    [owner] = secret["metadata"]["ownerReferences"]
    assert owner["uid"] == registration["metadata"]["uid"]
    assert (owner["kind"], owner["name"]) == (
        "MutatingWebhookConfiguration", registration["metadata"]["name"]
    )  # fmt: skip


def test_its_key_is_in_the_secret_alone(injector):
    injector.start()
    key = injector.secret()["tls.key"].splitlines()[1]
    files = [path for path in injector.folder.rglob("*") if path.is_file()]
    assert injector.one.log in files
    assert not [path for path in files if key.encode() in path.read_bytes()]


def test_the_next_one_takes_what_is_there(injector):
    injector.start()
    before = injector.secret()
    injector.stop()
    injector.start()
    assert injector.secret() == before and injector.one.certificate() == before["tls.crt"]
    assert not injector.one.lines("certificate created")


# --- beside those who apply the chart ------------------------------------------------------------


def kubectl(injector, *words, text=None):
    done = subprocess.run(
        [TOOLS / "kubectl", "--kubeconfig", injector.api.config, "-n", SPACE, *words], input=text,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("words", [(), ("--server-side", "--force-conflicts")],
                         ids=["client-side", "server-side"])  # fmt: skip
def test_what_is_rendered_and_applied_again_changes_nothing(injector, words):
    injector.call_helm("uninstall", injector.name)

    def apply():
        rendered = injector.call_helm("template", injector.name, CHART, "--set", "by=webhook",
                                      "--kube-version", "1.34.0")  # fmt: skip
        kubectl(injector, "apply", "-f", "-", *words, text=rendered)
        return rendered

    def versions(rendered):
        found = json.loads(kubectl(injector, "get", "-o", "json", "-f", "-", text=rendered))
        return {(each["kind"], each["metadata"]["name"]): each["metadata"]["resourceVersion"]
                for each in found["items"]}  # fmt: skip

    rendered = apply()
    try:
        injector.start()
        secret, before = injector.secret(), versions(rendered)
        assert apply() == rendered
        assert versions(rendered) == before and len(before) > 8
        assert injector.secret() == secret and is_injected(injector)
    finally:
        kubectl(injector, "delete", "-f", "-", text=rendered)


# --- healing -------------------------------------------------------------------------------------


def test_a_deleted_secret_is_made_anew_and_no_pod_is_refused_meanwhile(injector):
    injector.start()
    other = injector.run()
    other.wait_until_ready()
    before = injector.secret()
    assert injector.api.ask("DELETE", injector.secret_path())[0] == 200

    def is_served():
        spec, refusal = injector.create(ASKS, dry=True)
        assert spec and has_lastcall(spec), refusal
        injector.one.distrust()
        other.distrust()
        return injector.one.certificate() == other.certificate() != before["tls.crt"]

    wait_until(is_served, "another certificate", pause=0.1, patience=PATIENCE)
    after = injector.secret()
    assert after["tls.crt"] == injector.one.certificate()
    # A replica that has not looked yet is trusted.
    assert after["ca.crt"].endswith(before["ca.crt"]) and after["ca.crt"] != before["ca.crt"]
    assert verify(injector.folder, before["tls.crt"], after["ca.crt"], injector.host)[0]


def replaced(injector):
    """As `kubectl replace --force` does: another object, as the chart renders it."""
    old = injector.registration()
    new = {key: old[key] for key in ("apiVersion", "kind", "webhooks")}
    new["metadata"] = {key: old["metadata"][key] for key in ("name", "labels", "annotations")}
    for webhook in new["webhooks"]:
        webhook["clientConfig"].pop("caBundle")
    path = f"{GROUP}/{injector.name}.lastcall.dev"
    assert injector.api.ask("DELETE", path)[0] == 200
    status, text = injector.api.ask("POST", GROUP, new)
    assert status == 201, text


def test_a_registration_that_was_replaced_is_trusted_again_by_its_first_refusal(injector):
    injector.start()
    before = injector.secret()
    replaced(injector)
    wait_until(lambda: injector.bundle() or is_injected(injector) and injector.bundle(), "trust",
               pause=0.1, patience=PATIENCE)  # fmt: skip
    wait_until(lambda: is_injected(injector), "a pod", pause=0.1, patience=PATIENCE)
    assert injector.secret() == before


def test_data_that_cannot_be_used_is_replaced(injector):
    injector.start()
    before = injector.secret()
    patch = {"data": {"tls.key": base64.b64encode(b"no key").decode()}}
    status, _ = injector.api.ask("PATCH", injector.secret_path(), patch,
                                 "application/merge-patch+json")  # fmt: skip
    assert status == 200

    def is_served():
        assert is_injected(injector)
        injector.one.distrust()
        return injector.one.certificate() != before["tls.crt"]

    wait_until(is_served, "another certificate", pause=0.1, patience=PATIENCE)
    assert injector.secret()["tls.crt"] == injector.one.certificate()
    assert injector.one.lines("certificate replaced")


@pytest.mark.parametrize("days", [20, -1], ids=["soon", "over"])
def test_a_certificate_that_ends_is_replaced_while_both_authorities_are_trusted(injector, days):
    before = given(injector, *signed(injector, days), OURS)
    injector.start()
    after = injector.secret()
    assert after["tls.crt"] == injector.one.certificate() != before["tls.crt"]
    # The authority of tests lasts for two days; the certificate that it signed does so no longer.
    assert before["ca.crt"] in after["ca.crt"] and after["ca.crt"] != before["ca.crt"]
    assert is_injected(injector)
    assert injector.one.lines("certificate replaced")


# --- what keeps it from that ---------------------------------------------------------------------


def test_a_secret_of_somebody_else_is_used_and_never_written_to(injector):
    before = given(injector, *signed(injector, 20), {})
    injector.start()
    assert injector.secret() == before and injector.one.certificate() == before["tls.crt"]
    assert is_injected(injector)


def test_a_secret_of_somebody_else_that_cannot_be_used_is_named(injector):
    before = given(injector, *signed(injector, 20, "other.host"), {})
    one = injector.begin()
    reason = wait_until(lambda: one.lines("the certificate cannot be maintained"), "it",
                        patience=PATIENCE)[0]["reason"]  # fmt: skip
    assert reason == (
        "the Secret inj-injector-tls was not made by a webhook, and API servers would refuse its "
        "certificate: hostname mismatch"
    )
    assert one.answers("/readyz", 503) == reason + "\n"
    assert data_of(injector.get(injector.secret_path())) == before


def test_a_missing_right_is_named_once_and_it_starts_when_it_has_the_right(injector):
    path = injector.objects("rolebindings", group="/apis/rbac.authorization.k8s.io/v1")
    binding = injector.get(path)
    assert injector.api.ask("DELETE", path)[0] == 200
    one = injector.begin()
    wait_until(lambda: one.answers("/metrics") and one.metric(FAILED) >= 2, "two looks",
               patience=PATIENCE)  # fmt: skip
    [line] = one.lines("the certificate cannot be maintained")
    assert f'GET {injector.secret_path()}: HTTP status 403: secrets "inj-injector-tls" is ' in (
        line["reason"]
    )
    assert one.answers("/readyz", 503) == one.answers("/startupz", 503) == line["reason"] + "\n"
    assert one.answers("/livez") and one.process.poll() is None
    del binding["metadata"]["resourceVersion"], binding["metadata"]["uid"]
    assert injector.api.ask("POST", path.rsplit("/", 1)[0], binding)[0] == 201
    one.wait_until_ready()
    assert one.lines("the certificate can be maintained again") and is_injected(injector)


def test_it_may_do_no_more_than_it_needs(injector):
    injector.start()
    config = injector.kubeconfig()
    rights = subprocess.run(
        [TOOLS / "kubectl", "--kubeconfig", config, "auth", "can-i", "--list", "--no-headers"],
        capture_output=True, text=True, timeout=60,
    ).stdout  # fmt: skip
    mine = [" ".join(line.split()) for line in rights.splitlines()
            if "secrets" in line or "webhook" in line]  # fmt: skip
    assert sorted(mine) == [
        "mutatingwebhookconfigurations.admissionregistration.k8s.io [] [inj.lastcall.dev] "
        "[get patch]",
        "secrets [] [] [create]",
        "secrets [] [inj-injector-tls] [get patch]",
    ]


def test_without_its_registration_it_waits(injector):
    path = f"{GROUP}/{injector.name}.lastcall.dev"
    old = injector.registration()
    assert injector.api.ask("DELETE", path)[0] == 200
    one = injector.begin()
    wait_until(lambda: "HTTP status 404" in (one.answers("/readyz", 503) or ""), "the reason",
               patience=PATIENCE)  # fmt: skip
    del old["metadata"]["resourceVersion"], old["metadata"]["uid"]
    assert injector.api.ask("POST", GROUP, old)[0] == 201
    one.wait_until_ready()
    assert injector.secret()["tls.crt"] == one.certificate()


# --- without an API server -----------------------------------------------------------------------


def reviewed(running, authorities):
    context = ssl.create_default_context(cadata=authorities)
    connection = http.client.HTTPSConnection(*running.address(), timeout=20, context=context)
    connection._context.check_hostname = False  # the address is no name of it
    with contextlib.closing(connection):
        body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                "request": {"uid": "1", "operation": "CREATE", "kind": {"kind": "Pod"},
                            "object": ASKS}}  # fmt: skip
        connection.request("POST", "/inject", json.dumps(body))
        return json.loads(connection.getresponse().read())["response"]


def test_it_goes_on_serving_while_the_api_server_is_away(injector):
    way = TcpProxy(injector.api.port)
    one = injector.run(injector.kubeconfig(way.port))
    one.wait_until_ready()
    authorities = injector.secret()["ca.crt"]
    way.close()
    one.distrust()
    wait_until(lambda: one.metric(FAILED) >= 1, "a look that fails", patience=PATIENCE)
    assert reviewed(one, authorities)["patch"] and one.answers("/readyz")
    [line] = one.lines("the certificate cannot be maintained")
    assert "no connection" in line["reason"]
    one.stop()


def test_an_api_server_that_says_nothing_delays_no_end(injector):
    way = TcpProxy(injector.api.port)
    way.delay = 4 * PATIENCE
    one = injector.run(injector.kubeconfig(way.port))
    wait_until(lambda: way.connections, "a call", patience=PATIENCE)
    assert one.answers("/livez") and one.answers("/readyz", 503) == "no certificate yet\n"
    one.process.terminate()
    assert one.process.wait(3) == 0  # a call has five seconds


def test_another_api_server_is_not_believed(injector):
    config = injector.kubeconfig()
    stranger = injector.folder / "stranger"
    stranger.mkdir()
    document = json.loads(config.read_text())
    document["clusters"][0]["cluster"]["certificate-authority"] = Authority(stranger).certificate
    (injector.folder / "other").write_text(json.dumps(document))
    one = injector.run(config=injector.folder / "other")
    reason = wait_until(lambda: one.lines("the certificate cannot be maintained"), "it",
                        patience=PATIENCE)[0]["reason"]  # fmt: skip
    assert "the server's certificate is not trusted" in reason
    assert injector.api.ask("GET", injector.secret_path())[0] == 404
