"""The commands of README on a cluster: a supervised engine, a metric, the status page, a stop."""

import os
import re
import shlex
import signal
import socket
import subprocess
import urllib.request
import uuid

import pytest
from kube_release import HELM, KUBECTL, ROOT, TAG, call, reports_in

OURS = {"image": "lastcall", "shimImage": "lastcall-shim", "engine.image": "lastcall-demo-engine"}


def commands():
    """As README has them, of the block that installs the demo engine, after the one that makes the
    images and gives them to the cluster: run.sh has done that."""
    with open(os.path.join(ROOT, "README.md")) as file:
        blocks = re.findall(r"^```sh\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
    [block] = [each for each in blocks if "helm install demo" in each]
    image, *rest = block.replace("\\\n", " ").splitlines()
    assert image.startswith("./dev image --load ")
    return rest


@pytest.fixture
def cluster():
    namespace = f"lc-{uuid.uuid4().hex[:8]}"
    call(KUBECTL, "create", "namespace", namespace)
    yield namespace
    call(HELM, "uninstall", "demo", "-n", namespace, check=False)
    call(KUBECTL, "delete", "namespace", namespace, "--wait=false", check=False)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def here(line, namespace, port):
    """A command for this cluster: its images, a namespace of the test's own, a free port."""
    images = ",".join(f"{key}.repository=localhost/{name},{key}.tag={TAG}"
                      for key, name in OURS.items())  # fmt: skip
    line = line.replace("localhost:7090", f"127.0.0.1:{port}")
    line = line.replace("deployment/demo-lastcall 7090", f"deployment/demo-lastcall {port}:7090")
    line = re.sub(r"^helm ", f"{shlex.quote(HELM)} -n {namespace} ", line)
    line = re.sub(r"^kubectl ", f"{shlex.quote(KUBECTL)} -n {namespace} ", line)
    return line + (f" --set {images},dnsPolicy=Default" if "install demo" in line else "")


def in_background(command, stdout=subprocess.DEVNULL):
    without_sign = command.partition(" &")[0]
    return subprocess.Popen(without_sign, shell=True, stdout=stdout, start_new_session=True)


def test_the_commands_of_readme_lead_to_a_metric_the_status_page_and_a_report(cluster):
    port = free_port()
    install, forward, look, follow, restart = [here(line, cluster, port) for line in commands()]
    subprocess.run(install, shell=True, check=True, timeout=170, cwd=ROOT)
    forwarding = in_background(forward)
    try:
        seen = subprocess.run(look, shell=True, check=True, timeout=60, stdout=subprocess.PIPE)
        assert b'lastcall_phase{phase="serving"} 1' in seen.stdout
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=20) as page:
            assert page.status == 200 and b"<title>" in page.read()
    finally:
        os.killpg(forwarding.pid, signal.SIGTERM)
        forwarding.wait(20)
    following = in_background(follow, stdout=subprocess.PIPE)
    try:
        following.stdout.readline()  # it has found the old pod
        subprocess.run(restart, shell=True, check=True, timeout=60)
        log = following.communicate(timeout=170)[0]  # it ends with that pod
    finally:
        following.kill()
    assert [report["exit_code"] for report in reports_in(log.decode())] == [0], log.decode()


def test_helm_test_asks_the_pod_and_passes(cluster):
    """With the values of README, as a user would after the install."""
    install = here(commands()[0], cluster, 7090)
    subprocess.run(install, shell=True, check=True, timeout=170, cwd=ROOT)
    done = subprocess.run(
        [HELM, "test", "demo", "-n", cluster, "--timeout", "90s"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Succeeded" in done.stdout
