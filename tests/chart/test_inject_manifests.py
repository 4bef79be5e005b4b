"""`lastcall inject` over manifests of other people: the golden pods, Helm, kustomize, a pipe."""

import copy
import os
import shutil
import subprocess

import pytest
import yaml
from conftest import BUILD, ROOT, TOOLS, container
from known_fields import POD_SPEC, unknown_fields

LASTCALL = BUILD / "supervisor/cli/lastcall"
GOLDEN = ROOT / "tests/chart/golden"
STACK = ROOT / "tests/chart/stack"
MANIFESTS = ROOT / "tests/chart/manifests"
EXAMPLES = ROOT / "examples/inject"
RECORD = "lastcall.dev/injected"
RUNTIMES = ("--template=ServingRuntime=spec", "--template=LLMInferenceService=spec.template")


def run(*words, stdin="", code=0, **options):
    done = subprocess.run(
        [*map(str, words)], input=stdin, capture_output=True, text=True, timeout=120, **options
    )
    assert done.returncode == code, done.stderr
    return done


def inject(text, *words):
    return run(LASTCALL, "inject", *words, stdin=text).stdout


def environment(home):
    """With `lastcall` on PATH, and nothing of this machine's Helm."""
    path = f"{LASTCALL.parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HOME": str(home), "HELM_PLUGINS": str(home / "plugins"),
            "KUBECONFIG": str(home / "none")}  # fmt: skip


def by_name(text):
    return {(each["kind"], each["metadata"]["name"]): each
            for each in yaml.safe_load_all(text) if each}  # fmt: skip


def pod_of(thing):
    return thing["spec"]["template"]["spec"]


@pytest.mark.parametrize("form", ["native", "plain"])
@pytest.mark.parametrize("path", sorted((GOLDEN / "pods").glob("*.yaml")), ids=lambda p: p.stem)
def test_it_makes_the_pod_of_the_library_chart(path, form):
    text = path.read_text()
    pod = yaml.safe_load(inject(text, "--mode", form))
    notes = pod["metadata"]["annotations"]
    assert notes.pop(RECORD)
    if not notes:
        del pod["metadata"]["annotations"]
    assert pod == yaml.safe_load((GOLDEN / form / path.name).read_text())


@pytest.fixture(scope="module")
def rendered(helm):
    return helm.template(chart=STACK, release="s").stdout


def test_helm_3_takes_it_as_a_program(helm, rendered, tmp_path):
    if not helm.program.name.endswith("3"):
        pytest.skip("only Helm 3 takes a program")
    words = ["--post-renderer", "lastcall", "--post-renderer-args", "inject",
             "--post-renderer-args", "--container=vllm"]  # fmt: skip
    done = run(helm.program, "template", "s", STACK, *words, env=environment(tmp_path))
    assert by_name(done.stdout) == by_name(inject(rendered, "--container", "vllm"))


def test_helm_4_takes_it_as_a_plugin(helm, rendered, tmp_path):
    if not helm.program.name.endswith("4"):
        pytest.skip("only Helm 4 takes a plugin")
    shutil.copytree(EXAMPLES / "helm-4", tmp_path / "plugins/lastcall-inject")
    words = ["--post-renderer", "lastcall-inject", "--post-renderer-args", "--container=vllm"]
    done = run(helm.program, "template", "s", STACK, *words, env=environment(tmp_path))
    assert by_name(done.stdout) == by_name(inject(rendered, "--container", "vllm"))


def test_in_a_chart_only_the_engine_is_injected(rendered):
    before, after = by_name(rendered), by_name(inject(rendered, "--container", "vllm"))
    assert before.keys() == after.keys()
    engine = ("Deployment", "s-qwen-deployment-vllm")
    for name in before.keys() - {engine}:
        assert after[name] == before[name]
    pod = pod_of(after[engine])
    assert [each["name"] for each in pod["initContainers"]] == [
        "lastcall-install", "fetch", "lastcall"
    ]  # fmt: skip
    assert container(pod, "fetch") == container(pod_of(before[engine]), "fetch")
    assert container(pod, "vllm")["command"][-3:] == ["8000", "--max-model-len", "4096"]
    assert unknown_fields(pod, POD_SPEC) == []


def test_injection_into_a_rendered_chart_is_undone_byte_for_byte(rendered):
    text = inject(rendered, "--container", "vllm")
    assert inject(text, "--uninject") == rendered
    assert inject(text, "--container", "vllm") == text


@pytest.fixture(scope="module")
def kustomize():
    program = TOOLS / "kustomize"
    if not program.exists():
        pytest.skip("no kustomize: charts/tools.sh installs it where Go is there")
    return program


def test_kustomize_takes_it_as_a_function(kustomize, tmp_path):
    folder = tmp_path / "kustomize"
    shutil.copytree(EXAMPLES / "kustomize", folder)
    words = ["build", "--enable-alpha-plugins", "--enable-exec", folder]
    [deployment] = by_name(run(kustomize, *words, env=environment(tmp_path)).stdout).values()
    config = yaml.safe_load((EXAMPLES / "kustomize/inject.yaml").read_text())["spec"]["config"]
    (tmp_path / "lastcall.yaml").write_text(config)
    alone = inject((folder / "vllm.yaml").read_text(), "--config", tmp_path / "lastcall.yaml")
    assert deployment == yaml.safe_load(alone)


def test_kustomize_shows_why_a_function_refuses(kustomize, tmp_path):
    folder = tmp_path / "kustomize"
    shutil.copytree(EXAMPLES / "kustomize", folder)
    file = folder / "inject.yaml"
    file.write_text(file.read_text().replace("container: vllm", "containr: vllm"))
    words = ["build", "--enable-alpha-plugins", "--enable-exec", folder]
    done = run(kustomize, *words, code=1, env=environment(tmp_path))
    assert "functionConfig.spec.containr: unknown key, expected container" in done.stderr


def test_a_pipe_takes_what_kubectl_writes(rendered, tmp_path):
    """As a list, in JSON and in YAML, sorted by key."""
    engines = [each for each in by_name(rendered).values() if each["kind"] == "Deployment"]
    items = {"apiVersion": "v1", "kind": "List", "items": engines}
    for text in (yaml.safe_dump(items), yaml.safe_dump(items, default_flow_style=True, width=9999)):
        after = inject(text, "--container=vllm")
        assert inject(after, "--uninject") == text
        [engine] = [each for each in yaml.safe_load(after)["items"]
                    if each["metadata"]["name"].endswith("vllm")]  # fmt: skip
        assert container(pod_of(engine), "vllm")["command"][5:7] == ["--", "vllm"]


@pytest.mark.parametrize("mode", ["native", "plain"])
@pytest.mark.parametrize(
    ("name", "words", "path"),
    [
        ("llm-d", (), "spec.template.spec"),
        ("kserve", (*RUNTIMES, "--only=ServingRuntime/kserve-vllm"), "spec"),
        ("kserve", (*RUNTIMES, "--only=LLMInferenceService/qwen"), "spec.template"),
        ("lws", (), "spec.leaderWorkerTemplate.leaderTemplate.spec"),
    ],
)
def test_manifests_of_many_shapes(name, words, path, mode):
    text = (MANIFESTS / f"{name}.yaml").read_text()
    after = inject(text, *words, "--mode", mode)
    assert inject(after, "--uninject") == text
    assert inject(after, *words, "--mode", mode) == after
    before, now = list(yaml.safe_load_all(text)), list(yaml.safe_load_all(after))
    changed = [pair for pair in zip(before, now, strict=True) if pair[0] != pair[1]]
    assert len(changed) == 1
    old, new = changed[0]
    for part in path.split("."):
        old, new = old[part], new[part]
    assert unknown_fields({k: v for k, v in new.items() if k in POD_SPEC}, POD_SPEC) == []
    assert without_lastcall(new) == without_lastcall(old)
    edited = ("command", "Seconds", "{")  # of what was in brackets, or too short
    kept = [line for line in text.splitlines() if not any(word in line for word in edited)]
    lines = iter(after.splitlines())
    assert all(line in lines for line in kept)


def without_lastcall(spec):
    """What is left when everything that injection documents is taken away."""
    spec = copy.deepcopy(spec)
    for key in ("initContainers", "containers", "volumes"):
        spec[key] = [each for each in spec.get(key, []) if not each["name"].startswith("lastcall")]
    for each in spec["containers"]:
        for key, what in (("env", "LASTCALL_"), ("volumeMounts", "lastcall-")):
            each[key] = [item for item in each.get(key, []) if not item["name"].startswith(what)]
        command = each.get("command", [])
        if "--" in command:
            each["command"] = command[command.index("--") + 1 :]
        for key in ("startupProbe", "livenessProbe", "lifecycle"):
            if "lastcall" in str(each.get(key)) or "/engine/" in str(each.get(key)):
                del each[key]
    spec.pop("terminationGracePeriodSeconds", None)
    return spec
