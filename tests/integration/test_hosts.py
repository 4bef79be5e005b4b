"""Plain hosts: the files of packaging/hosts, and what `lastcall run` does without a cluster."""

import configparser
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
HOSTS = ROOT / "packaging/hosts"
sys.path.insert(0, str(ROOT / "tests/integration/serve"))

from ports import free_port  # noqa: E402
from serve_peer import wait_until  # noqa: E402
from serve_world import LASTCALL, worlds  # noqa: E402

PID_1 = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
NEVER_SET = ("LASTCALL_CONFIG", "LASTCALL_POD_GRACE_SECONDS", "KUBERNETES_SERVICE_HOST",
             "ECS_CONTAINER_METADATA_URI", "ECS_CONTAINER_METADATA_URI_V4")  # fmt: skip

pytestmark = pytest.mark.plain_build


def default_grace():
    schema = json.loads((ROOT / "docs/config.schema.json").read_text())
    text = schema["properties"]["shutdown"]["properties"]["grace_period"]["default"]
    return int(text.removesuffix("s"))


@pytest.fixture
def world(tmp_path_factory):
    with worlds(lambda: tmp_path_factory.mktemp("w")) as make:
        yield make


def unit():
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str
    parser.read(HOSTS / "lastcall.service")
    return parser["Service"]


def test_the_unit_signals_lastcall_alone_and_waits_for_longer_than_a_stop():
    assert unit()["KillMode"] == "mixed"
    assert int(unit()["TimeoutStopSec"]) >= default_grace() + 2


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path):
    """Its programs are looked for, so this build's stand in their place."""
    text = (HOSTS / "lastcall.service").read_text().replace("/usr/bin/lastcall", LASTCALL)
    file = tmp_path / "lastcall.service"
    file.write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", file], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_commands_of_the_unit_are_ones_that_lastcall_has():
    for key in ("ExecStart", "ExecReload"):
        _, command, *options = unit()[key].split()
        called = subprocess.run([LASTCALL, command, "--help"], capture_output=True, text=True)
        assert called.returncode == 0
        assert all(word in called.stdout for word in options if word.startswith("--"))


def test_compose_gives_the_time_that_a_stop_takes():
    service = yaml.safe_load((HOSTS / "compose.yaml").read_text())["services"]["engine"]
    grace = int(service["stop_grace_period"].removesuffix("s"))
    assert grace >= default_grace() + 2
    assert service["environment"]["LASTCALL_POD_GRACE_SECONDS"] == str(grace)


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="no docker-compose")
def test_compose_itself_takes_the_file():
    done = subprocess.run(
        ["docker-compose", "-f", HOSTS / "compose.yaml", "config", "-q"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_ecs_gives_the_time_that_a_stop_takes():
    [container] = json.loads((HOSTS / "ecs-task.json").read_text())["containerDefinitions"]
    assert container["stopTimeout"] >= default_grace() + 2
    environment = {each["name"]: each["value"] for each in container["environment"]}
    assert environment["LASTCALL_POD_GRACE_SECONDS"] == str(container["stopTimeout"])


def test_the_model_of_the_ecs_api_takes_the_task():
    session = pytest.importorskip("botocore.session", reason="package python3-botocore")
    validate = pytest.importorskip("botocore.validate")
    model = session.get_session().get_service_model("ecs").operation_model(
        "RegisterTaskDefinition"
    )  # fmt: skip
    task = json.loads((HOSTS / "ecs-task.json").read_text())
    report = validate.ParamValidator().validate(task, model.input_shape)
    assert not report.has_errors(), report.generate_report()


def test_nomad_gives_the_time_that_a_stop_takes():
    text = (HOSTS / "engine.nomad.hcl").read_text()
    [timeout] = re.findall(r'^ *kill_timeout = "(\d+)s"$', text, re.MULTILINE)
    assert int(timeout) >= default_grace() + 2
    assert f'LASTCALL_POD_GRACE_SECONDS = "{timeout}"' in text


def read_stream(port, into):
    """A stream's whole answer, by a client that asks for it and waits."""
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    body = json.dumps({"model": "m", "prompt": "x", "max_tokens": 40, "stream": True})
    connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
    into.append(connection.getresponse().read().decode())


def test_a_term_to_every_process_of_the_group_loses_no_request(world):
    ingress, engine = free_port(), free_port()
    one = world(
        shutdown={"grace_period": "30s"},
        ingress={"listen": f"127.0.0.1:{ingress}", "upstream": f"127.0.0.1:{engine}"},
    )
    process = one.run_engine("--rate", "20", port=engine)
    answers = []
    client = threading.Thread(target=read_stream, args=(ingress, answers))
    client.start()
    wait_until(lambda: one.status()["in_flight"]["requests"] == 1, "the request")
    os.killpg(process.pid, signal.SIGTERM)
    client.join(timeout=60)
    assert answers[0].rstrip().endswith("data: [DONE]") and "error" not in answers[0]
    assert process.wait(timeout=60) == 0
    assert one.report()["requests"]["completed"] == 1


@pytest.fixture(scope="module")
def pid_namespaces():
    if subprocess.run([*PID_1, "true"], check=False).returncode != 0:
        pytest.skip("this host allows no PID namespaces")


def logged_by_run(*options, before=PID_1, **environment):
    """The lines about an assumed grace, of a `run` whose engine ends at once."""
    clean = {key: value for key, value in os.environ.items() if key not in NEVER_SET}
    port = f"probes.listen=127.0.0.1:{free_port()}"
    done = subprocess.run(
        [*before, LASTCALL, "run", "--set", port, *options, "--", "/bin/true"],
        capture_output=True, text=True, timeout=60, env={**clean, **environment},
    )  # fmt: skip
    assumed = "assuming that this container is killed"
    return [line for line in done.stderr.splitlines() if assumed in line]


@pytest.mark.parametrize(
    ("environment", "kill", "stop"),
    [({}, "10 s", "8s"), ({"ECS_CONTAINER_METADATA_URI_V4": "http://127.0.0.1/v4"}, "30 s", "28s")],
    ids=["docker", "ecs"],
)
def test_pid_1_logs_once_which_grace_it_assumes(pid_namespaces, environment, kill, stop):
    [line] = logged_by_run(**environment)
    assert f"killed {kill} after" in line and f"takes up to {stop};" in line
    assert "LASTCALL_POD_GRACE_SECONDS" in line


def test_nothing_is_assumed_where_the_grace_is_known_or_nobody_takes_it_away(pid_namespaces):
    assert logged_by_run(LASTCALL_POD_GRACE_SECONDS="62") == []
    assert logged_by_run("--set", "shutdown.grace_period=20s") == []
    assert logged_by_run(KUBERNETES_SERVICE_HOST="10.0.0.1") == []
    assert logged_by_run(before=()) == []
