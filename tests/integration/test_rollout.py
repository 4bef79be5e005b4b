"""`lastcall rollout`: pods that end before an API server, what is reported about them, and the
verdict."""

import base64
import json
import os
import ssl
import subprocess
import sys
import time
from pathlib import Path

import kube_api
import pytest

BUILD = Path(os.environ.get("LASTCALL_BUILD_DIR", "build/dev")).resolve()
LASTCALL = BUILD / "supervisor/cli/lastcall"
PATIENCE = 60
LABELS = {"app": "vllm"}
OUTCOMES = ["completed", "cancelled", "migrated", "error", "rejected", "lost", "engine_dead"]


@pytest.fixture
def api(tmp_path):
    api = kube_api.OurApi(tmp_path)
    yield api
    api.close()


@pytest.fixture(scope="module", params=["ours", "real"])
def any_api(request, tmp_path_factory):
    """The same for both: ours answers what a kube-apiserver answers."""
    if request.param == "real" and (reason := kube_api.why_not_real()):
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("api")
    api = kube_api.OurApi(folder) if request.param == "ours" else kube_api.RealApi(folder)
    yield api
    api.close()


def report(cause="signal", mode="graceful", in_flight="sdk", **requests):
    counts = {outcome: requests.pop(outcome, 0) for outcome in OUTCOMES}
    return json.dumps(
        {"cause": cause, "mode": mode, "exit_code": 0, "stopped_in_starting": False,
         "requests": counts, "in_flight": in_flight, "time_left_ms": time.monotonic_ns(),
         **requests},
        separators=(",", ":"),
    )  # fmt: skip


def pod(name, **labels):
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or LABELS},
        "spec": {"nodeName": "n1", "containers": [{"name": "vllm", "image": "vllm"}]},
        "status": state({"running": {"startedAt": "2026-01-05T09:00:00Z"}}),
    }  # fmt: skip


def container(state, name, last=None):
    return {"name": name, "image": "vllm", "imageID": "", "ready": False, "restartCount": 0,
            "state": state, "lastState": last or {}}  # fmt: skip


def state(engine, last=None):
    return {"containerStatuses": [container(engine, "vllm", last)]}


def ended(message):
    return {"terminated": {"exitCode": 0, "message": message, "reason": "Completed",
                           "finishedAt": "2026-01-05T09:30:00Z"}}  # fmt: skip


def deployment(name, updated, total=2):
    labels = {"matchLabels": LABELS}
    status = {"observedGeneration": 1, "replicas": total, "updatedReplicas": updated,
              "readyReplicas": total, "availableReplicas": total}  # fmt: skip
    return {"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "generation": 1},
            "spec": {"replicas": 2, "selector": labels, "template": {
                "metadata": {"labels": LABELS},
                "spec": {"containers": [{"name": "vllm", "image": "vllm"}]}}},
            "status": status}  # fmt: skip


class Watch:
    """A `rollout watch` that has begun: it has listed the pods before its command runs."""

    def __init__(self, api, folder, *words):
        self.begun = folder / "begun"
        self.process = subprocess.Popen(
            [LASTCALL, "rollout", "watch", *words, "--kubeconfig", str(api.config),
             "--timeout", "50s", "--", "touch", str(self.begun)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        kube_api.wait_until(lambda: self.begun.exists() or self.process.poll() is not None)
        assert self.begun.exists(), self.process.communicate()

    def end(self):
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out.splitlines(), err


def end_pod(api, name, message, **more):
    api.mark_ending(name)
    api.change("pods", name, state(ended(message), **more))
    api.remove("pods", name)


def rollout(*words, code=0, **options):
    done = subprocess.run([LASTCALL, "rollout", *map(str, words)], capture_output=True, text=True,
                          timeout=PATIENCE, **options)  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout, done.stderr


def test_every_pod_that_ended_is_in_one_line_of_truth(any_api, tmp_path):
    for name in ("truth-a", "truth-b"):
        any_api.put("pods", pod(name))
    any_api.put("deployments", deployment("truth", updated=0))
    watch = Watch(any_api, tmp_path, "deploy/truth")
    end_pod(any_api, "truth-a", report(completed=4116, migrated=1) + "\nlast words of the engine")
    any_api.put("pods", pod("truth-c"))
    end_pod(any_api, "truth-b", report(completed=2, migrated=1))
    any_api.change("deployments", "truth", {"observedGeneration": 1, "updatedReplicas": 2})
    code, lines, err = watch.end()
    assert lines[-1] == "2 pods, 4120 requests: 4118 completed, 2 migrated, 0 lost", (lines, err)
    assert sorted(lines[:-1])[0].startswith("truth-a: signal: 4117 requests")
    assert code == 0
    any_api.remove("pods", "truth-c")


def test_a_pod_that_reported_nothing_is_unknown_and_that_is_no_success(any_api, tmp_path):
    for name in ("mute-a", "mute-b"):
        any_api.put("pods", pod(name, app="mute"))
    watch = Watch(any_api, tmp_path, "-l", "app=mute")
    end_pod(any_api, "mute-a", report(completed=1))
    end_pod(any_api, "mute-b", "some other text")
    code, lines, _ = watch.end()
    assert lines[-1] == "2 pods, 1 request: 1 completed, 0 migrated, 0 lost; unknown: mute-b"
    assert "mute-b: ended, and no report is left" in lines and code == 1


def test_an_event_stands_for_a_report_that_went_with_its_pod(any_api, tmp_path):
    uid = any_api.put("pods", pod("quick", app="quick"))["metadata"]["uid"]
    watch = Watch(any_api, tmp_path, "-l", "app=quick")
    text = ("graceful stop: signal; deregistering completed in 5 ms; draining completed in 33 ms; "
            "requests: 4 completed, 0 cancelled, 1 migrated, 0 error, 0 rejected, 0 lost, "
            "0 engine_dead")  # fmt: skip
    for number, (reason, message) in enumerate((("OperatorOrder", "drain"), ("Drained", text))):
        any_api.put("events", {
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": f"quick.{number}"},
            "involvedObject": {"kind": "Pod", "name": "quick", "namespace": "models", "uid": uid},
            "reason": reason, "message": message,
        })  # fmt: skip
    any_api.mark_ending("quick")
    any_api.remove("pods", "quick")
    code, lines, _ = watch.end()
    assert (code, lines[-1]) == (0, "1 pod, 5 requests: 4 completed, 1 migrated, 0 lost")


@pytest.mark.parametrize(
    ("own_report", "line"),
    [
        (report(completed=3, lost=1), "4 requests: 3 completed, 0 migrated, 1 lost"),
        (report(completed=3, engine_dead=2, mode="fatal"),
         "5 requests: 3 completed, 0 migrated, 2 lost; 1 engine failed"),
        (report(in_flight="gauges", in_flight_at_end=2),
         "2 requests: 0 completed, 0 migrated, 2 lost"),
        (report(in_flight="unknown"),
         "0 requests: 0 completed, 0 migrated, 0 lost; unknown: p"),
        (report(in_flight="sdk", in_flight_at_phase=2),
         "0 requests: 0 completed, 0 migrated, 0 lost; unknown: p"),
    ],
    ids=["lost", "engine_dead", "cut", "in_flight_unknown", "not_counted_to_the_end"],
)  # fmt: skip
def test_lost_or_unknown_requests_fail_the_gate(api, tmp_path, own_report, line):
    api.put("pods", pod("p"))
    watch = Watch(api, tmp_path, "-l", "app=vllm")
    end_pod(api, "p", own_report)
    code, lines, _ = watch.end()
    assert (code, lines[-1]) == (1, f"1 pod, {line}")


def test_both_containers_report_one_stop(api, tmp_path):
    api.put("pods", pod("p"))
    watch = Watch(api, tmp_path, "-l", "app=vllm")
    own_report = report(completed=7)
    api.mark_ending("p")
    api.change("pods", "p", {
        "containerStatuses": [container(ended(own_report), "vllm")],
        "initContainerStatuses": [container(ended(own_report), "lastcall"),
                                  container(ended("installed"), "lastcall-install")],
    })  # fmt: skip
    api.remove("pods", "p")
    counts = "7 requests: 7 completed, 0 migrated, 0 lost"
    assert watch.end()[:2] == (0, [f"p: signal: {counts}", f"1 pod, {counts}"])


def test_an_engine_that_failed_in_between_counts_and_one_before_the_watch_does_not(api, tmp_path):
    before, between = report(lost=5, mode="fatal"), report(engine_dead=1, mode="fatal")
    api.put("pods", {**pod("p"), "status": state({"running": {}}, ended(before))})
    watch = Watch(api, tmp_path, "-l", "app=vllm")
    api.change("pods", "p", state(ended(between)))
    api.change("pods", "p", state({"running": {}}, ended(between)))
    end_pod(api, "p", report(completed=1), last=ended(between))
    code, lines, _ = watch.end()
    assert lines[-1] == "1 pod, 2 requests: 1 completed, 0 migrated, 1 lost; 1 engine failed"
    assert code == 1


def test_pods_that_never_ran_had_no_request(api, tmp_path):
    api.put("pods", {**pod("stuck"), "status": state({"waiting": {"reason": "ImagePullBackOff"}})})
    watch = Watch(api, tmp_path, "-l", "app=vllm")
    api.mark_ending("stuck")
    api.remove("pods", "stuck")
    code, lines, _ = watch.end()
    assert lines[-1] == "0 pods, 0 requests: 0 completed, 0 migrated, 0 lost; 1 pod never ran"
    assert code == 0


def test_changes_that_the_server_no_longer_has_are_made_up_for_by_a_list(api, tmp_path):
    for name in ("a", "b"):
        api.put("pods", pod(name))
    watch = Watch(api, tmp_path, "-l", "app=vllm")
    api.mark_ending("a")
    api.change("pods", "a", state(ended(report(completed=2))))
    kube_api.wait_until(lambda: api.sent.count("a") == 2)
    lists = api.lists.count("pods")
    api.forget("a")  # its end is never reported
    kube_api.wait_until(lambda: api.lists.count("pods") > lists)
    end_pod(api, "b", report(completed=1))
    code, lines, _ = watch.end()
    assert (code, lines[-1]) == (0, "2 pods, 3 requests: 3 completed, 0 migrated, 0 lost")


def test_a_rollout_that_nobody_saw_is_no_success(api):
    api.put("pods", pod("p"))
    api.put("deployments", deployment("idle", updated=2))
    out, err = rollout("watch", "deployment/idle", "--kubeconfig", api.config, "--timeout", "1s",
                       code=1)  # fmt: skip
    assert out == "0 pods, 0 requests: 0 completed, 0 migrated, 0 lost\n"
    assert "no rollout was seen" in err


def test_a_watch_that_is_refused_is_reported_once_and_made_up_for_by_lists(api, tmp_path):
    """Without the right to watch, or while the server refuses it."""
    api.put("pods", pod("p"))
    api.watch_refusal = 'pods is forbidden: User "ci" cannot watch resource "pods"'
    began = time.monotonic()
    watch = Watch(api, tmp_path, "-l", "app=vllm")
    kube_api.wait_until(lambda: api.refused >= 3)
    assert api.refused <= 2 + (time.monotonic() - began), "not as often as it can"
    end_pod(api, "p", report(completed=1))
    _, lines, err = watch.end()
    assert err.count("GET /api/v1/namespaces/models/pods: HTTP status 403: pods is forbidden") == 1
    assert lines[-1].startswith("1 pod, ")


def test_the_command_that_fails_ends_the_watch(api):
    api.put("pods", pod("p"))
    words = ["-l", "app=vllm", "--kubeconfig", api.config]
    _, err = rollout("watch", *words, "--", "sh", "-c", "exit 3", code=1)
    assert "the command failed with 3" in err


def test_the_verdict_as_json(api, tmp_path):
    api.put("pods", pod("p"))
    watch = Watch(api, tmp_path, "-l", "app=vllm", "-o", "json")
    end_pod(api, "p", report(completed=2))
    code, [line], _ = watch.end()
    said = json.loads(line)
    assert code == 0
    assert (said["ok"], said["over"], said["pods"], said["lost"]) == (True, True, 1, 0)
    assert said["requests"]["completed"] == 2 and said["unknown"] == []


PAGE = {"phase": "draining", "ready": False, "in_flight": {"requests": 3, "cut_in_ms": 12400},
        "plan": {"left_ms": 18000}}  # fmt: skip
METRICS = """\
# TYPE lastcall_phase gauge
lastcall_phase{phase="serving"} 1
lastcall_phase{phase="draining"} 0
lastcall_requests_in_flight{endpoint="a"} 2
lastcall_requests_in_flight{endpoint="b"} 3
"""


def test_status_lists_phase_in_flight_and_time_to_the_cut(api):
    for name in ("page", "metrics", "silent"):
        api.put("pods", pod(name))
    api.pages["page:7090", "status"] = (200, json.dumps(PAGE))
    api.pages["metrics:7090", "metrics"] = (200, METRICS)
    out, err = rollout("status", "-l", "app=vllm", "--kubeconfig", api.config, code=1)
    rows = [line.split() for line in out.splitlines()]
    assert rows[1] == ["page", "no", "no", "draining", "3", "12.4", "s", "18.0", "s"]
    assert rows[2] == ["metrics", "no", "no", "serving", "5", "-", "-"]
    assert rows[3][3] == "?" and "silent: GET /api/v1/namespaces/models/pods/silent" in err
    out, _ = rollout("status", "-l", "app=vllm", "--kubeconfig", api.config, "-o", "json", code=1)
    assert [each["in_flight"] for each in json.loads(out)["pods"][:2]] == [3, 5]


def test_terminal_control_characters_are_not_sent_to_it(api, tmp_path):
    hostile = "\x1b]0;owned\x07\x1b[2J\u009b31m"
    for name in ("page", "metrics"):
        api.put("pods", pod(name))
    api.pages["page:7090", "status"] = (200, json.dumps({**PAGE, "phase": hostile}))
    api.pages["metrics:7090", "metrics"] = (200, f'lastcall_phase{{phase="{hostile}"}} 1\n')
    out, err = rollout("status", "-l", "app=vllm", "--kubeconfig", api.config)
    assert all(line.isprintable() for line in (out + err).splitlines()), (out, err)
    api.put("deployments", deployment("d", updated=0))
    watch = Watch(api, tmp_path, "deploy/d")
    end_pod(api, "page", report(cause=hostile))
    api.change("deployments", "d", {"observedGeneration": 1, "updatedReplicas": 2})
    _, lines, err = watch.end()
    assert any(line.startswith("page: ") for line in lines)
    assert all(line.isprintable() for line in [*lines, *err.splitlines()]), (lines, err)


def test_more_pods_than_a_page_holds_are_all_listed(api):
    for number in range(130):
        api.put("pods", pod(f"p{number}"))
        api.pages[f"p{number}:7090", "metrics"] = (200, METRICS)
    out, _ = rollout("status", "-l", "app=vllm", "--kubeconfig", api.config)
    assert len(out.splitlines()) == 131


# --- who is asked, and as whom -------------------------------------------------------------------


def test_several_files_are_read_as_one_and_the_namespace_can_be_another(api, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    full = kube_api.kubeconfig(api.url, space="other")
    one.write_text(json.dumps({"current-context": "x", "users": full["users"]}))
    two.write_text(json.dumps({**full, "current-context": "y", "users": []}))
    api.put("pods", pod("p"))
    api.pages["p:7090", "metrics"] = (200, METRICS)
    environment = {**os.environ, "KUBECONFIG": f"{tmp_path}/none:{one}:{two}"}
    rollout("status", "-l", "app=vllm", "-n", "models", env=environment)
    assert all("/namespaces/models/" in path for path in api.asked)


def test_a_variable_that_names_no_file_is_reported_with_its_value(tmp_path):
    environment = {"PATH": os.environ["PATH"], "KUBECONFIG": f"{tmp_path}/none"}
    _, err = rollout("status", "-l", "app=vllm", code=2, env=environment)
    assert f"($KUBECONFIG names none that exists: '{tmp_path}/none')" in err


def test_a_plugin_gives_the_token_and_gives_it_again_when_it_is_refused(api, tmp_path):
    plugin = tmp_path / "plugin"
    plugin.write_text(f"""#!{sys.executable}
import json, os
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
with open({str(tmp_path / "calls")!r}, "a") as file:
    file.write("x")
first = os.path.getsize({str(tmp_path / "calls")!r}) == 1
print(json.dumps({{"apiVersion": info["apiVersion"], "kind": "ExecCredential",
                   "status": {{"token": "stale" if first else os.environ["THE_TOKEN"]}}}}))
""")
    plugin.chmod(0o755)
    config = kube_api.kubeconfig(api.url)
    config["users"][0]["user"] = {"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin",
        "env": [{"name": "THE_TOKEN", "value": "tok"}],
    }}  # fmt: skip
    api.config.write_text(json.dumps(config))
    api.put("pods", pod("p"))
    api.pages["p:7090", "metrics"] = (200, METRICS)
    rollout("status", "-l", "app=vllm", "--kubeconfig", api.config)
    assert (tmp_path / "calls").read_text() == "xx"


def test_certificates_may_stand_in_the_file(tmp_path):
    sys.path.append(os.path.join(os.path.dirname(__file__), "registries"))
    from certificates import Authority

    authority = Authority(tmp_path)
    api = kube_api.OurApi(tmp_path, authority.server_context("api"))
    api.put("pods", pod("p"))
    api.pages["p:7090", "metrics"] = (200, METRICS)
    data = base64.b64encode(Path(authority.certificate).read_bytes()).decode()
    given = {"certificate-authority-data": data}
    api.config.write_text(json.dumps(kube_api.kubeconfig(api.url, **given)))
    rollout("status", "-l", "app=vllm", "--kubeconfig", api.config)
    api.config.write_text(json.dumps(kube_api.kubeconfig(api.url)))
    _, err = rollout("status", "-l", "app=vllm", "--kubeconfig", api.config, code=1)
    assert "the server's certificate is not trusted" in err
    api.config.write_text(json.dumps(kube_api.kubeconfig(
        api.url, **{"insecure-skip-tls-verify": True})))  # fmt: skip
    rollout("status", "-l", "app=vllm", "--kubeconfig", api.config)
    api.close()


@pytest.mark.parametrize("form", ["files", "data"])
def test_a_client_certificate_identifies_the_caller(tmp_path, form):
    """A server that takes no client without one of its own authority, as a cluster's own does."""
    sys.path.append(os.path.join(os.path.dirname(__file__), "registries"))
    from certificates import Authority

    authority = Authority(tmp_path)
    context = authority.server_context("api")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority.certificate)
    api = kube_api.OurApi(tmp_path, context)
    api.put("pods", pod("p"))
    api.pages["p:7090", "metrics"] = (200, METRICS)
    config = kube_api.kubeconfig(api.url, **{"certificate-authority": authority.certificate})
    api.config.write_text(json.dumps(config))
    rollout("status", "-l", "app=vllm", "--kubeconfig", api.config, code=1)
    user = dict(zip(("client-certificate", "client-key"),
                    authority.sign("admin", "", usage="clientAuth"), strict=True))  # fmt: skip
    if form == "data":
        user = {f"{key}-data": base64.b64encode(Path(path).read_bytes()).decode()
                for key, path in user.items()}  # fmt: skip
    config["users"][0]["user"] = user
    api.config.write_text(json.dumps(config))
    rollout("status", "-l", "app=vllm", "--kubeconfig", api.config)
    (tmp_path / "other").mkdir()
    stranger = Authority(tmp_path / "other")
    certificate, key = stranger.sign("admin", "", usage="clientAuth")
    config["users"][0]["user"] = {"client-certificate": certificate, "client-key": key}
    api.config.write_text(json.dumps(config))
    rollout("status", "-l", "app=vllm", "--kubeconfig", api.config, code=1)
    api.close()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.pop("current-context"), "no current-context"),
        (lambda c: c.update({"current-context": "z"}), "contexts: there is none named 'z'"),
        (lambda c: c["clusters"][0]["cluster"].update(server="ftp://x"), "server: 'ftp://x'"),
        (lambda c: c["clusters"][0]["cluster"].update({"proxy-url": "http://p"}),
         "proxy-url: not supported"),
        (lambda c: c["users"][0]["user"].update({"auth-provider": {}}),
         "auth-provider: not supported"),
        (lambda c: c["users"][0]["user"].update({"client-key-data": "%"}),
         "client-key-data: not base64"),
    ],
)  # fmt: skip
def test_a_kubeconfig_that_cannot_be_used_is_2_with_the_reason(api, change, said):
    config = kube_api.kubeconfig(api.url)
    change(config)
    api.config.write_text(json.dumps(config))
    assert said in rollout("status", "-l", "a=b", "--kubeconfig", api.config, code=2)[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("status",), "expected either a workload (KIND/NAME) or --selector"),
        (("watch", "pod/x"), "'pod/x', expected KIND/NAME with one of deployment, statefulset"),
        (("watch", "-l", "a=b", "--timeout", "5"), "--timeout '5', expected a duration"),
        (("status", "-l", "a=b", "--", "true"), "a command after `--` is only for watch"),
        (("status", "-l", "a=b", "--kubeconfig", "/no/file"), "cannot open /no/file"),
        (("show",), "show"),
    ],
)
def test_bad_usage_is_2(words, said):
    assert said in rollout(*words, code=2)[1]


def test_kubectl_takes_it_as_a_plugin(api):
    """By the link of that name beside it: kubectl runs what is called kubectl-lastcall on PATH."""
    link = BUILD / "supervisor/cli/kubectl-lastcall"
    api.put("pods", pod("p"))
    api.pages["p:7090", "metrics"] = (200, METRICS)
    words = [link, "rollout", "status", "-l", "app=vllm", "--kubeconfig", str(api.config)]
    assert subprocess.run(words, capture_output=True, timeout=PATIENCE).returncode == 0
    done = subprocess.run([link, "rolout"], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stderr.startswith("kubectl lastcall: unknown command 'rolout'")
