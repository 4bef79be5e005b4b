"""Which rung this run is, and pods that are cleaned up whatever happens."""

import os

import kube_release
import podman_pod
import pytest


@pytest.fixture(scope="session")
def possible():
    reason = podman_pod.why_not()
    if reason:
        pytest.skip(reason)


@pytest.fixture
def make_pod(request, possible):
    """make_pod(...) is a pod; its logs are shown when the test fails."""
    pods = []

    def make(**options):
        pods.append(podman_pod.PodmanPod(**options))
        return pods[-1]

    yield make
    for pod in pods:
        report = getattr(request.node, "report_of_call", None)
        if report is not None and report.failed:
            for name in ("supervisor", "engine"):
                print(f"--- {pod.name} {name}\n{pod.log(name)}")
        pod.close()


@pytest.fixture
def make_release():
    """make_release(...) is the chart's release; `install()` makes it run."""
    releases = []

    def make(**options):
        releases.append(kube_release.Release(**options))
        return releases[-1]

    yield make
    for release in releases:
        release.close()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.when == "call":
        item.report_of_call = outcome.get_result()


def rung_of(item):
    on_cluster = {"make_release", "cluster"} & set(item.fixturenames)
    return "kubernetes" if on_cluster else "podman"


def pytest_collection_modifyitems(config, items):
    """The other rung's tests are not this run's: neither run nor counted as skipped."""
    rung = os.environ.get("LASTCALL_E2E", "podman")
    others = [item for item in items if rung_of(item) != rung]
    items[:] = [item for item in items if rung_of(item) == rung]
    config.hook.pytest_deselected(items=others)
