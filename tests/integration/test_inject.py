"""`lastcall inject` as a command: files, standard input, what it prints, and how it ends."""

import os
import resource
import subprocess
from pathlib import Path

import pytest
import yaml

BUILD = Path(os.environ.get("LASTCALL_BUILD_DIR", "build/dev")).resolve()
LASTCALL = BUILD / "supervisor/cli/lastcall"
POD = """\
kind: Pod
metadata:
  name: p   # a comment
spec:
  containers:
    - name: engine
      image: vllm/vllm-openai:v0.10.0
      command: [vllm, serve]
"""


def inject(*words, stdin="", code=0):
    done = subprocess.run(
        [LASTCALL, "inject", *map(str, words)],
        input=stdin.encode(), capture_output=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done.stdout.decode(), done.stderr.decode()


def test_standard_input_goes_to_standard_output():
    text, said = inject(stdin=POD)
    assert text.startswith(POD[:30]) and "- name: lastcall\n" in text
    assert said == "lastcall inject: injected into Pod/p\n"
    assert inject("-", stdin=POD)[0] == text
    back, said = inject("--uninject", stdin=text)
    assert back == POD
    assert said == "lastcall inject: taken out of Pod/p\n"


WORKLOADS = {
    "v1 Pod": "",
    "v1 PodTemplate": "template",
    "apps/v1 Deployment": "spec.template",
    "apps/v1 StatefulSet": "spec.template",
    "apps/v1 DaemonSet": "spec.template",
    "apps/v1 ReplicaSet": "spec.template",
    "v1 ReplicationController": "spec.template",
    "batch/v1 Job": "spec.template",
    "batch/v1 CronJob": "spec.jobTemplate.spec.template",
    "leaderworkerset.x-k8s.io/v1 LeaderWorkerSet": "spec.leaderWorkerTemplate.leaderTemplate",
    "argoproj.io/v1alpha1 Rollout": "spec.template",
}


@pytest.mark.parametrize("workload", WORKLOADS)
def test_each_kind_has_its_pod_where_kubernetes_looks_for_it(workload):
    version, kind = workload.split()
    steps = WORKLOADS[workload].split(".") if WORKLOADS[workload] else []
    pod = {"spec": {"containers": [{"name": "engine", "image": "vllm", "command": ["vllm"]}]}}
    for step in reversed(steps):
        pod = {step: pod}
    text = yaml.safe_dump({"apiVersion": version, "kind": kind, "metadata": {"name": "w"}, **pod})
    made, said = inject(stdin=text)
    assert said == f"lastcall inject: injected into {kind}/w\n"
    found = yaml.safe_load(made)
    for step in steps:
        found = found[step]
    names = [each["name"] for each in found["spec"]["initContainers"]]
    assert names == ["lastcall-install", "lastcall"]
    assert "lastcall.dev/injected" in found["metadata"]["annotations"]
    assert inject(stdin=made)[0] == made
    assert inject("--uninject", stdin=made)[0] == text


def test_manifests_that_are_not_meant_come_out_byte_for_byte():
    text = "kind: Service\r\n# no line end"
    assert inject(stdin=text) == (text, "lastcall inject: nothing to inject\n")
    assert inject(stdin="") == ("", "lastcall inject: nothing to inject\n")


def test_files_become_one_stream(tmp_path):
    (tmp_path / "a.yaml").write_text("kind: Service")
    (tmp_path / "b.yaml").write_text(POD)
    text, _ = inject(tmp_path / "a.yaml", tmp_path / "b.yaml")
    assert text.startswith("kind: Service\n---\nkind: Pod\n")


def test_a_difference_can_be_applied(tmp_path):
    path = tmp_path / "pod.yaml"
    path.write_text(POD)
    difference, _ = inject("--diff", path)
    subprocess.run(["patch", "-s", path], input=difference.encode(), check=True, timeout=60)
    assert path.read_text() == inject(stdin=POD)[0]


def test_a_refusal_names_its_place_and_prints_nothing(tmp_path):
    path = tmp_path / "pod.yaml"
    path.write_text(POD.replace("command: [vllm, serve]", "command: vllm"))
    text, said = inject(path, code=2)
    assert text == ""
    assert said == (
        f"{path}:8:16: Pod/p: the command is not a list, expected [PROGRAM, ARGUMENT, ...]\n"
    )


def test_the_configuration_is_checked_and_travels_with_the_pod(tmp_path):
    path = tmp_path / "lastcall.yaml"
    path.write_text("# mine\nengine: {kind: sglang}\nshutdown: {grace_period: 90s}\n")
    text, _ = inject("--config", path, "--set", "log.level=debug", stdin=POD)
    assert "lastcall.dev/config: |\n      # mine\n      engine: {kind: sglang}\n" in text
    assert "--set=log.level=debug" in text and "--set=engine.kind" not in text
    assert "terminationGracePeriodSeconds: 92\n" in text
    path.write_text("shutdown: {grace_perod: 90s}\n")
    _, said = inject("--config", path, stdin=POD, code=2)
    assert f"the sidecar's configuration: {path}:1:12: shutdown.grace_perod: unknown key" in said
    _, said = inject("--set", "log.level=loud", stdin=POD, code=2)
    assert "--set log.level: log.level: 'loud', expected" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["/no/such/file"], "cannot open /no/such/file: No such file or directory"),
        (["/"], "cannot read /: a directory, expected manifests"),
        (["/proc/self/mem"], "cannot read /proc/self/mem: Input/output error"),
        (["--config", "/proc/self/mem"], "cannot read /proc/self/mem: Input/output error"),
        (["--config", "/no/such/file"], "cannot open /no/such/file"),
        (["--template", "Kind"], "--template Kind: expected KIND=PATH"),
        (["--mode", "shim"], "--mode"),
    ],
)
def test_bad_usage_ends_with_2(words, said):
    assert said in inject(*words, stdin=POD, code=2)[1]


def test_a_function_reads_its_options_from_the_input():
    text = f"""\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
functionConfig:
  kind: Inject
  spec: {{mode: plain, set: [log.level=debug], only: [Pod/p]}}
items:
- {POD.replace(chr(10), chr(10) + "  ").rstrip()}
"""
    out, _ = inject(stdin=text)
    assert "restartPolicy" not in out and "--set=log.level=debug" in out
    assert inject("--uninject", stdin=out)[0] == text
    _, said = inject(stdin=text.replace("mode: plain", "mode: shim"), code=2)
    assert said == (
        "<standard input>:5:16: functionConfig.spec.mode: expected native or plain\n"
    )


def peak_of(text, folder):
    """The most memory, in MiB, of an injection of this text."""
    path = folder / "in.yaml"
    path.write_text(text)
    process = subprocess.Popen([LASTCALL, "inject", path], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss / 1024


@pytest.mark.plain_build
def test_lines_cost_no_memory_where_no_place_is_reported(tmp_path):
    size = 1 << 20
    one_line = peak_of("#" + "x" * size + "\n" + POD, tmp_path)
    assert peak_of("\n" * size + POD, tmp_path) < one_line + 16


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


@pytest.mark.parametrize("words", [["/dev/zero"], ["-"], []])
def test_an_input_without_an_end_is_refused_where_a_manifest_would_be_too_large(words):
    with open("/dev/zero", "rb") as endless:
        done = subprocess.run(
            [LASTCALL, "inject", *words], stdin=endless, capture_output=True, text=True, timeout=60,
            preexec_fn=limit_memory if "asan" not in str(BUILD) else None,
        )  # fmt: skip
    name = "/dev/zero" if words == ["/dev/zero"] else "<standard input>"
    assert done.stderr == f"{name}: larger than 32 MiB, expected manifests\n"
    assert (done.returncode, done.stdout) == (2, "")
