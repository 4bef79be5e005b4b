"""`lastcall webhook` from outside: reviews over TLS, the golden pods, certificates, its own end."""

import base64
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
import yaml

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE / "serve"), str(HERE / "registries")]
from certificates import Authority  # noqa: E402
from hostile_heads import each_is_answered  # noqa: E402
from serve_peer import wait_until  # noqa: E402
from webhook_process import (  # noqa: E402
    GOLDEN,
    KUBE,
    LASTCALL,
    NAME,
    PATIENCE,
    PODS,
    Webhook,
    pod_of,
)

@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def start(tmp_path, authority):
    started = []

    def start(*words, **options):
        folder = tmp_path / str(len(started))
        folder.mkdir()
        started.append(Webhook(folder, authority, *words, **options))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait()


@pytest.fixture(scope="module")
def webhook(tmp_path_factory, authority):
    one = Webhook(tmp_path_factory.mktemp("webhook"), authority)
    yield one
    assert one.end() == 0


# --- what it puts in ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PODS, ids=lambda path: path.stem)
def test_it_makes_the_golden_pod(webhook, path):
    """The library chart, the policy and `lastcall inject` make the same (tests/chart, e2e)."""
    _, made = webhook.review(pod_of(path))
    golden = pod_of(GOLDEN / "native" / path.name)
    assert made == golden


@pytest.mark.parametrize("path", PODS, ids=lambda path: path.stem)
def test_it_makes_the_plain_form(start, path):
    _, made = start("--mode", "plain").review(pod_of(path))
    assert made == pod_of(GOLDEN / "plain" / path.name)


def test_nothing_that_was_there_is_in_the_patch(webhook):
    path = GOLDEN / "pods/annotated.yaml"
    response, _ = webhook.review(pod_of(path))
    operations = json.loads(base64.b64decode(response["patch"]))
    replaced = [each["path"] for each in operations if each["op"] != "add"]
    assert replaced in ([], ["/spec/terminationGracePeriodSeconds"])


def test_a_second_call_changes_nothing(webhook):
    _, made = webhook.review(pod_of(GOLDEN / "pods/command.yaml"))
    response, again = webhook.review(made)
    assert response["allowed"] and "patch" not in response and again == made


def test_a_pod_whose_label_is_not_true_stays_as_it_is(webhook):
    for value in (None, "false", "yes", True):
        pod = pod_of(GOLDEN / "pods/command.yaml")
        pod["metadata"]["labels"]["lastcall.dev/inject"] = value
        response, made = webhook.review(pod)
        assert response == {"uid": "7c0f", "allowed": True} and made == pod


def test_an_annotation_asks_as_a_label_does(webhook):
    pod = pod_of(GOLDEN / "pods/command.yaml")
    del pod["metadata"]["labels"]["lastcall.dev/inject"]
    pod["metadata"].setdefault("annotations", {})["lastcall.dev/inject"] = "true"
    made = webhook.review(pod)[1]
    assert made["spec"] == pod_of(GOLDEN / "native/command.yaml")["spec"]
    assert made["metadata"] == pod["metadata"]


def test_a_pod_that_claims_to_be_injected_gets_it_all_the_same(webhook):
    """The policy asks for the container alone, too: else an annotation would leave a pod bare."""
    record = {"lastcall.dev/injected": "container=vllm made=initContainers"}
    pod = pod_of(GOLDEN / "pods/command.yaml", annotations=record)
    made = webhook.review(pod)[1]
    assert made["metadata"] == pod["metadata"]
    assert made["spec"] == pod_of(GOLDEN / "native/command.yaml")["spec"]


def test_names_of_any_script_and_keys_with_slashes_survive(webhook):
    notes = {"null": "~", "yes": "0x1f",
             "a/b~c": "é 😀 \u2028 \u007f \u0085 \ufeff \u0001 \u0000",
             "c": "\"quoted\" \\ \n: - {}"}  # fmt: skip
    pod = pod_of(GOLDEN / "pods/command.yaml", annotations=notes, generateName="vllm-6b-")
    pod["spec"]["containers"][0]["args"] = ["--name", "日本", "", "1e3", "!!binary x"]
    response, made = webhook.review(pod)
    assert "patch" in response, response
    assert made["metadata"] == pod["metadata"]
    assert made["spec"]["containers"][0]["args"] == pod["spec"]["containers"][0]["args"]
    del pod["metadata"]["name"]  # as a ReplicaSet makes it
    webhook.review(pod)
    assert webhook.lines("injected")[-1]["pod"] == "models/vllm-6b-*"


def test_the_injected_parts_can_be_changed(start, tmp_path):
    values = {"image": {"repository": "r/lastcall", "tag": "9", "pullPolicy": "Always"},
              "shimImage": {"repository": "r/shim", "digest": "sha256:" + "1" * 64},
              "imagePullSecrets": [{"name": "ours"}, {"name": "both"}],
              "uid": 7, "gracePeriod": "2m",
              "install": {"resources": {"limits": {"cpu": 1, "memory": "32Mi"}}},
              "sidecar": {"env": [{"name": "A", "value": "b"}],
                          "resources": {"requests": None, "limits": {"memory": "1Gi"}}},
              }  # fmt: skip
    file = tmp_path / "pods.yaml"
    file.write_text(yaml.safe_dump(values))
    pod = pod_of(GOLDEN / "pods/bare.yaml")
    pod["spec"]["imagePullSecrets"] = [{"name": "own"}, {"name": "both"}]
    spec = start("--pods", file).review(pod)[1]["spec"]
    assert [each["name"] for each in spec["imagePullSecrets"]] == ["own", "both", "ours"]
    [install, sidecar] = spec["initContainers"]
    assert (sidecar["image"], sidecar["imagePullPolicy"]) == ("r/lastcall:9", "Always")
    assert install["image"] == "r/shim@sha256:" + "1" * 64
    assert install["resources"] == {"requests": {"cpu": "10m", "memory": "8Mi"},
                                    "limits": {"cpu": "1", "memory": "32Mi"}}  # fmt: skip
    assert sidecar["resources"] == {"limits": {"memory": "1Gi"}}
    assert sidecar["env"][-1] == {"name": "A", "value": "b"}
    assert sidecar["securityContext"]["runAsUser"] == 7
    assert "--set=shutdown.grace_period=2m" in sidecar["args"]
    assert spec["terminationGracePeriodSeconds"] == 122


# --- what it refuses ------------------------------------------------------------------------------


def hooked():
    pod = pod_of(GOLDEN / "pods/entry-point.yaml")
    pod["spec"]["containers"][0]["lifecycle"] = {"preStop": {"exec": {"command": ["sleep", "5"]}}}
    return pod


def noted(**annotations):
    pod = pod_of(GOLDEN / "pods/annotated.yaml")
    pod["metadata"]["annotations"].update(annotations)
    return pod


def changed(spec=None, **engine):
    pod = pod_of(GOLDEN / "pods/port-udp.yaml")
    pod["spec"] |= spec or {}
    pod["spec"]["containers"][0] |= engine
    return pod


REFUSED = [
    (changed({"terminationGracePeriodSeconds": 86403}),
     "terminationGracePeriodSeconds is 86403, expected at most 86402"),
    (changed(volumeMounts=[{"name": "opt", "mountPath": "/run", "readOnly": True}]),
     "the volume opt is mounted at /run and is read-only, expected it to be writable"),
    (changed({"volumes": [{"name": "opt", "configMap": {"name": "x"}}]}),
     "the volume opt is mounted at /opt and is read-only"),
    (noted(**{"lastcall.dev/container": "other"}),
     "lastcall.dev/container is other, expected the name of a container of the pod"),
    (noted(**{"lastcall.dev/config.ipc.socket": "/x"}), "lastcall.dev/config.ipc.socket is given"),
    (noted(**{"lastcall.dev/config.engine.kid": "vllm"}),
     "lastcall.dev/config.engine.kid: engine.kid: unknown key"),
    (noted(**{"lastcall.dev/config.shutdown.grace_period": "90"}),
     "lastcall.dev/config.shutdown.grace_period: shutdown.grace_period: '90'"),
    (changed({"initContainers": [{"name": "cache", "image": "c", "restartPolicy": "Always",
                                  "ports": [{"containerPort": 7090}]}]}),
     "port 7090 is the sidecar's, expected another one"),
    (hooked(), "it has a preStop hook, expected none"),
]  # fmt: skip


@pytest.mark.parametrize(("pod", "reason"), REFUSED, ids=range(len(REFUSED)))
def test_a_pod_that_cannot_have_it_is_refused_with_the_reason(webhook, pod, reason):
    response, _ = webhook.review(pod)
    assert not response["allowed"] and response["status"]["code"] == 422
    message = response["status"]["message"]
    assert message.startswith("lastcall cannot be put into this pod: ") and reason in message


def test_a_pod_may_come_without_a_sidecar_and_be_reported(start):
    response, made = start("--on-failure", "warn").review(hooked())
    assert response["allowed"] and made == hooked()
    [warning] = response["warnings"]
    assert "it has a preStop hook" in warning and len(warning) <= 256
    response, made = start("--on-failure", "audit").review(hooked())
    assert response["allowed"] and made == hooked()
    assert "it has a preStop hook" in response["auditAnnotations"]["refused"]


@pytest.mark.parametrize(
    "request_",
    [{"operation": "UPDATE"}, {"kind": {"group": "apps", "version": "v1", "kind": "Deployment"}},
     {"object": None}, {"object": {"metadata": {}, "spec": {}}}, {"object": [1]}, {"kind": 7}],
    ids=range(6),
)  # fmt: skip
def test_a_review_of_something_else_admits_nothing(webhook, request_):
    response, _ = webhook.review({}, **request_)
    assert not response["allowed"] and response["status"]["code"] == 400
    assert response["status"]["message"].startswith("expected ")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "expected JSON"), (b"{", "expected JSON"), (b"\xff\xfe", "expected JSON"),
        (b"[" * 200_000, "no deeper than 64"), (b'{"a":' * 99 + b"1" + b"}" * 99, "no deeper"),
        (b"null", "AdmissionReview"), (b'{"kind":"AdmissionReview"}', "admission.k8s.io/v1"),
        (json.dumps({"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview",
                     "request": {"uid": "1"}}).encode(), "of admission.k8s.io/v1"),
        (json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                     "request": {"uid": 4}}).encode(), "request.uid"),
        (b"[{}" + b",{}" * 1_390_000 + b"]", "at most 50000 values"),
        (b'{"a":0' + b"".join(b',"%x":0' % i for i in range(400_000)) + b"}", "1024 in an object"),
    ],
    ids=range(11),
)  # fmt: skip
def test_a_body_that_is_no_review_is_one_error(webhook, body, reason):
    status, answer = webhook.post(body)
    assert status == 400 and list(answer) == ["error"] and reason in answer["error"]


def test_other_paths_and_methods(webhook):
    assert webhook.post("{}", path="/")[0] == 404
    assert webhook.post(None, method="GET")[0] == 405


def test_a_body_that_is_too_long_is_refused_before_it_is_read(webhook):
    with webhook.connect() as connection:
        connection.sendall(b"POST /inject HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 413 ")


def test_hostile_bytes_hurt_nobody(webhook):
    """Bytes of a review that is right are changed, cut and repeated; then the next one is fine."""
    chance = random.Random(21)
    good = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                       "request": {"uid": "1", "operation": "CREATE", "kind": {"kind": "Pod"},
                                   "object": pod_of(GOLDEN / "pods/annotated.yaml")}}).encode()
    for _ in range(int(os.environ.get("LASTCALL_HOSTILE", 60))):
        body = bytearray(good)
        for _ in range(chance.randint(1, 8)):
            at = chance.randrange(len(body))
            match chance.randrange(3):
                case 0:
                    body[at] = chance.randrange(256)
                case 1:
                    del body[at : at + chance.randrange(40)]
                case 2:
                    body[at:at] = body[at : at + 60] or b"0"
        status, answer = webhook.post(bytes(body))
        assert (status, list(answer)) == (400, ["error"]) or answer["response"]["uid"]
    for raw in (b"\x16\x03\x01\x00\x05hello", b"GET / HTTP/1.1\r\n\r\n", os.urandom(500), b""):
        with socket.create_connection(("127.0.0.1", webhook.port), timeout=PATIENCE) as plain:
            plain.sendall(raw)
    with webhook.connect() as connection:
        head = b"POST /inject HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: x\r\n\r\n"
        connection.sendall(head)
        assert connection.recv(4096).startswith(b"HTTP/1.1 411 ")
    assert webhook.review(pod_of(GOLDEN / "pods/bare.yaml"))[0]["allowed"]
    assert webhook.process.poll() is None


def test_no_head_ends_what_is_behind_the_probe_port(webhook):
    assert each_is_answered(webhook.probes)
    assert webhook.process.poll() is None and webhook.probe("/livez")[0] == 200


def test_silent_clients_keep_nobody_out(webhook):
    silent = [socket.create_connection(("127.0.0.1", webhook.port)) for _ in range(100)]
    assert webhook.review(pod_of(GOLDEN / "pods/bare.yaml"))[0]["allowed"]
    for each in silent:
        each.close()


# --- certificates, probes, its own end ------------------------------------------------------------

REFUSED_READS = 'lastcall_webhook_certificate_reads_total{outcome="refused"}'


def test_an_older_version_of_tls_is_refused(webhook):
    import ssl

    context = webhook.authority.client_context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError), socket.create_connection(("127.0.0.1", webhook.port)) as raw:
        context.wrap_socket(raw, server_hostname=NAME)
    wait_until(
        lambda: webhook.metric('lastcall_webhook_tls_failures_total{kind="protocol"}') >= 1,
        "the count",
    )


def test_another_certificate_is_taken_when_its_files_change(start, tmp_path):
    webhook = start()
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    other = Authority(fresh)
    for name, made in zip(("tls.crt", "tls.key"), other.sign("second", f"DNS:{NAME}"), strict=True):
        shutil.copy(made, fresh / name)
        os.replace(fresh / name, webhook.folder / name)

    def is_taken():
        with contextlib.suppress(OSError):
            webhook.connect(other).close()
            return True

    wait_until(is_taken, "the second certificate", patience=PATIENCE)
    webhook.authority = other
    assert webhook.review(pod_of(GOLDEN / "pods/bare.yaml"))[0]["allowed"]
    refused = webhook.metric(REFUSED_READS)  # between the two files, if a look came there
    (webhook.folder / "tls.key").write_text("no key")
    wait_until(lambda: webhook.metric(REFUSED_READS) > refused, "the refusal", patience=PATIENCE)
    assert webhook.review(pod_of(GOLDEN / "pods/bare.yaml"))[0]["allowed"]
    assert webhook.probe("/readyz")[0] == 200


def test_an_expired_certificate_is_not_ready(start, authority):
    webhook = start()
    assert webhook.probe("/readyz") == (200, "ok\n") and webhook.probe("/livez")[0] == 200
    assert webhook.metric("lastcall_webhook_certificate_expiry_timestamp_seconds") > 1.7e9
    old, key = authority.sign("old", f"DNS:{NAME}", days=-1)
    shutil.copy(key, webhook.folder / "tls.key")
    shutil.copy(old, webhook.folder / "tls.crt")
    wait_until(lambda: webhook.probe("/readyz") == (503, "the certificate has expired\n"), "it",
               patience=PATIENCE)  # fmt: skip


def test_a_certificate_that_is_refused_changes_nothing(start, authority):
    webhook = start()
    expiry = webhook.metric("lastcall_webhook_certificate_expiry_timestamp_seconds")
    old, _ = authority.sign("old", f"DNS:{NAME}", days=-1)
    shutil.copy(old, webhook.folder / "tls.crt")  # its key is not the one that is there
    wait_until(lambda: webhook.metric(REFUSED_READS) == 1, "the refusal", patience=PATIENCE)
    assert webhook.probe("/readyz")[0] == 200
    assert webhook.metric("lastcall_webhook_certificate_expiry_timestamp_seconds") == expiry


def test_reviews_are_counted_by_outcome(start):
    webhook = start()
    webhook.review(pod_of(GOLDEN / "pods/bare.yaml"))
    webhook.review({}, operation="UPDATE")
    webhook.review(hooked())
    for outcome, count in (("injected", 1), ("unchanged", 0), ("refused", 1), ("invalid", 1)):
        series = f'lastcall_webhook_reviews_total{{outcome="{outcome}"}}'
        assert webhook.metric(series) == count
    assert webhook.metric("lastcall_webhook_review_duration_seconds_count") == 3
    assert webhook.probe("/other")[0] == 404


def test_its_key_is_hidden_from_a_process_of_the_same_user(authority, tmp_path_factory):
    as_nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        before = as_nobody if os.geteuid() == 0 else ()
        one = Webhook(Path(name), authority, before=before, readable=True)
        try:
            assert os.stat(f"/proc/{one.process.pid}/environ").st_uid == 0  # so of none that dumps
        finally:
            one.end()


def test_a_client_that_has_connected_is_answered_when_the_webhook_ends(start):
    webhook = start()
    body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                       "request": {"uid": "1", "operation": "CREATE", "kind": {"kind": "Pod"},
                                   "object": pod_of(GOLDEN / "pods/bare.yaml")}})  # fmt: skip
    head = f"POST /inject HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    with webhook.connect() as connection:
        connection.sendall((head + body[:100]).encode())
        webhook.process.send_signal(signal.SIGTERM)
        wait_until(lambda: webhook.lines("ending"), "its end", patience=PATIENCE)
        assert webhook.probe("/readyz") == (503, "ending\n")
        with pytest.raises(OSError):
            webhook.connect()
        connection.sendall(body[100:].encode())
        answer = connection.recv(1 << 20)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n") and b'"allowed":true' in answer
    assert webhook.process.wait(timeout=PATIENCE) == 0


def test_as_an_engine_of_run_it_loses_no_review_in_a_stop(start, tmp_path):
    """What the chart starts: our own supervisor takes it out of service before it gets its TERM."""
    sockets = tmp_path / "run"
    sockets.mkdir(mode=0o700)
    words = [LASTCALL, "run", f"--set=ipc.socket={sockets}/l.sock",
             f"--set=ipc.admin_socket={sockets}/a.sock", "--set=probes.listen=127.0.0.1:0",
             "--set=shutdown.grace_period=20s", "--set=shutdown.late_accept=1s",
             "--set=shutdown.drain_unknown=0s", "--"]  # fmt: skip
    webhook = start(before=words)
    refused, answered, is_over = [], [], threading.Event()

    def create_pods():
        while not is_over.is_set():
            try:
                answered.append(webhook.review(pod_of(GOLDEN / "pods/bare.yaml"))[0]["allowed"])
            except ConnectionRefusedError:
                return  # a client that comes later goes to another one
            except OSError as error:
                refused.append(error)

    clients = [threading.Thread(target=create_pods) for _ in range(3)]
    for client in clients:
        client.start()
    wait_until(lambda: len(answered) > 5, "reviews", patience=PATIENCE)
    webhook.process.send_signal(signal.SIGTERM)
    before = len(answered)
    assert webhook.process.wait(timeout=2 * PATIENCE) == 0
    is_over.set()
    for client in clients:
        client.join()
    assert refused == [] and all(answered) and len(answered) > before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--listen", "nowhere"), "--listen 'nowhere', expected an address and a port"),
        (("--tls-cert", "/none"), "cannot use the certificate in /none: No such file"),
        (("--tls-key", "/dev/null"), "cannot use the key in /dev/null: not a regular file"),
        (("--pods", "/none"), "cannot read /none: No such file or directory"),
        (("--pods", "/etc"), "cannot read /etc: Is a directory"),
        (("--secret", "a"), "--secret"),
        (("--service", "a"), "--service requires --secret"),
        (("--mode", "prestop"), "--mode"),
        (("--on-failure", "ignore"), "--on-failure"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_bad_usage_is_reported_and_ends_with_2(tmp_path, authority, words, said):
    certificate, key = authority.sign("usage", f"DNS:{NAME}")
    usual = {"--listen": "127.0.0.1:0", "--probes": "127.0.0.1:0", "--tls-cert": certificate,
             "--tls-key": key, **dict([words])}  # fmt: skip
    done = subprocess.run([KUBE, "webhook", *sum(usual.items(), ())], capture_output=True,
                          text=True, timeout=PATIENCE)  # fmt: skip
    assert done.returncode == 2 and said in done.stderr


def test_every_problem_of_a_file_of_pods_is_reported_at_its_place(tmp_path, authority):
    file = tmp_path / "pods.yaml"
    file.write_text("image: {tag: x}\nuid: '7'\ngracePeriod: 5\nsidecar: {args: []}\nother: 1\n")
    certificate, key = authority.sign("pods", f"DNS:{NAME}")
    done = subprocess.run(
        [KUBE, "webhook", "--pods", file, "--tls-cert", certificate, "--tls-key", key],
        capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 2
    for said in (f"{file}:1:8: image.repository: is missing", f"{file}:2:6: uid: '7' is not a user",
                 f"{file}:3:14: gracePeriod: '5' is not a duration",
                 f"{file}:4:11: sidecar.args: unknown key, expected resources, env",
                 f"{file}:5:1: other: unknown key"):  # fmt: skip
        assert said in done.stderr
