"""`lastcall doctor`: what will do harm, each in one sentence with its cause and what to do."""

import contextlib
import http.server
import json
import os
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest
from mounts import in_own_mounts

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
BUILD = os.path.join(ROOT, os.environ.get("LASTCALL_BUILD_DIR", "build/dev"))
LASTCALL = os.path.join(BUILD, "supervisor/cli/lastcall")


@contextlib.contextmanager
def listening():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def closed_port():
    with listening() as port:
        return port


@contextlib.contextmanager
def engine(metrics):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(metrics.encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture
def doctor(tmp_path):
    def ask(*words, engine_port=None, config=None, user=None, folder=tmp_path, wrapped=(),
            **environment):  # fmt: skip
        made = {
            "engine": {"kind": "vllm"},
            "probes": {"listen": f"127.0.0.1:{closed_port()}"},
            "ipc": {"socket": str(tmp_path / "e/l.sock"), "admin_socket": str(tmp_path / "a/a")},
        }
        if engine_port:
            made["engine"]["url"] = f"http://127.0.0.1:{engine_port}"
        for section, keys in (config or {}).items():
            made[section] = {**made.get(section, {}), **keys} if isinstance(keys, dict) else keys
        path = folder / "lastcall.yaml"
        path.write_text(json.dumps(made))
        clean = {k: v for k, v in os.environ.items()
                 if not k.startswith(("LASTCALL_", "KUBERNETES_"))}  # fmt: skip
        if "KUBERNETES_SERVICE_HOST" not in environment:
            # Where a container engine runs these tests, it would be asked for its grace.
            environment.setdefault("LASTCALL_POD_GRACE_SECONDS", "70")
        command = [*wrapped, LASTCALL, "doctor", "-c", str(path), *words]
        done = subprocess.run(command, text=True, timeout=60,
                              capture_output=True, user=user,
                              env={k: v for k, v in {**clean, **environment}.items()
                                   if v is not None})  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    return ask


@pytest.fixture
def shown():
    """A folder that other users may read: pytest keeps its own from them."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


VLLM = "vllm:num_requests_running 0\n"


def findings(answer):
    code, out, err = answer
    assert code == 1, out + err
    return out


def test_where_all_of_it_fits_nothing_is_found(doctor):
    with engine(VLLM) as port:
        code, out, err = doctor(engine_port=port)
    assert (code, err) == (0, ""), out
    assert out.startswith("no problems found")


def test_a_port_that_another_process_has_is_named_with_its_key(doctor):
    with engine(VLLM) as port, listening() as taken:
        probes = {"listen": f"127.0.0.1:{taken}"}
        found = findings(doctor(engine_port=port, config={"probes": probes}))
    assert found.startswith(f"ports: probes.listen: 127.0.0.1:{taken} is taken by another process")
    assert "set probes.listen to a free port" in found


def test_an_engine_that_is_not_there_is_named_with_its_address(doctor):
    port = closed_port()
    found = findings(doctor(engine_port=port))
    assert f"engine: no engine at 127.0.0.1:{port} (Connection refused): start it, or" in found


def test_an_engine_of_no_kind_is_known_by_its_checks(doctor):
    custom = {"engine": {"kind": "custom"}}
    found = findings(doctor(config=custom))
    assert "engine: only the engine's process is known: set engine.kind" in found
    checks = {"checks": [{"name": "engine", "tcp": {"address": "127.0.0.1:9"}}]}
    assert doctor(config={**custom, "health": checks})[0] == 0


def test_a_stop_that_fits_into_docker_s_grace_is_no_problem(doctor):
    if not os.path.exists("/.dockerenv"):
        pytest.skip("this is no container of Docker")
    unset = {"LASTCALL_POD_GRACE_SECONDS": None}

    def ask(grace):
        with engine(VLLM) as port:
            return doctor(engine_port=port, config={"shutdown": {"grace_period": grace}}, **unset)

    assert "`docker stop` kills this container after 10 s" in findings(ask("9s"))
    assert "docker" not in ask("8s")[1]


def test_an_engine_of_another_kind_has_not_the_gauges(doctor):
    with engine("sglang:num_running_reqs 0\n") as port:
        found = findings(doctor(engine_port=port))
    assert "has no vllm:num_requests_running, so it is unknown what is in flight" in found


def test_a_socket_that_cannot_be_made_is_found(doctor, tmp_path):
    (tmp_path / "file").write_text("")
    long = "/tmp/" + "x" * 120
    with engine(VLLM) as port:
        found = findings(doctor(engine_port=port, config={
            "ipc": {"socket": str(tmp_path / "file"), "admin_socket": str(tmp_path / "admin")}}))
        assert f"sockets: ipc.socket: {tmp_path}/file is not a socket: remove it" in found
        assert found.count("where the engine can reach it") == 1
        assert "ipc.socket and ipc.admin_socket" not in found  # each problem has one sentence
        code, out, err = doctor(engine_port=port, config={"ipc": {"socket": long}})
    assert (code, "107 bytes" in out + err or "107" in out + err) in ((1, True), (2, True))


def test_a_read_only_file_system_is_named_as_the_cause(doctor, tmp_path):
    place = tmp_path / "mounted"
    place.mkdir()
    read_only = in_own_mounts(f"mount -t tmpfs -o ro none {place}")
    with engine(VLLM) as port:
        found = findings(doctor(engine_port=port, wrapped=read_only, config={
            "ipc": {"admin_socket": str(place / "made/a.sock")}}))  # fmt: skip
    assert (f"sockets: ipc.admin_socket: {place} is on a read-only file system, so {place}/made"
            " cannot be created: mount a volume there, or set ipc.admin_socket") in found


def test_a_socket_below_a_file_is_found(doctor, tmp_path):
    (tmp_path / "file").write_text("")
    with engine(VLLM) as port:
        found = findings(doctor(engine_port=port, config={
            "ipc": {"admin_socket": str(tmp_path / "file/a.sock")}}))  # fmt: skip
    assert f"sockets: ipc.admin_socket: {tmp_path}/file is not a directory" in found


@pytest.mark.parametrize("is_open", [True, False])
def test_a_supervisor_that_refuses_us_is_not_taken_for_ended(doctor, shown, is_open):
    """Its port is its own, whether its list of users or the mode of its socket keeps us out."""
    if os.geteuid() != 0 and not is_open:
        pytest.skip("becomes another user")
    folder, stranger = shown, None if is_open else 65534
    with engine(VLLM) as port, socket.socket(socket.AF_UNIX) as admin, listening() as taken:
        admin.bind(str(folder / "a"))
        admin.listen()
        (folder / "a").chmod(0o666 if is_open else 0o600)

        def refuse():
            connection, _ = admin.accept()
            connection.recv(4096)
            refusal = {"op": "error", "code": "not_allowed", "message": "uid 65534 may not connect"}
            connection.sendall(json.dumps(refusal).encode() + b"\n")
            connection.close()

        if is_open:
            threading.Thread(target=refuse, daemon=True).start()
        try:
            found = findings(doctor(engine_port=port, user=stranger, folder=folder, config={
                "probes": {"listen": f"127.0.0.1:{taken}"},
                "ipc": {"admin_socket": str(folder / "a")},
            }))  # fmt: skip
        except PermissionError:
            pytest.skip("another user may not run what was built here")
    areas = [line.split(":")[0] for line in found.splitlines()]
    assert areas.count("uids") == 1 and not {"ports", "sockets"} & set(areas), found
    assert "run this as its user or as root" in found
    assert ("ipc.allow_uids" in found) is is_open


def test_a_short_grace_is_reported_with_its_numbers(doctor):
    with engine(VLLM) as port:
        found = findings(doctor(engine_port=port, LASTCALL_POD_GRACE_SECONDS="10"))
    assert "graces: requests have only" in found
    assert "of the stop's 8 s" in found


def test_a_pod_that_does_not_set_its_grace_is_found(doctor):
    with engine(VLLM) as port:
        found = findings(doctor(engine_port=port, KUBERNETES_SERVICE_HOST="10.96.0.1"))
    assert "graces: LASTCALL_POD_GRACE_SECONDS is not set in this pod" in found


def test_a_registry_whose_directory_will_be_made_is_not_named(doctor, tmp_path):
    with engine(VLLM) as port:
        config = {"identity": {"advertise": "http://127.0.0.1:1"},
                  "discovery": [{"file": {"directory": str(tmp_path / "not" / "yet")}}]}
        code, out, err = doctor(engine_port=port, config=config)
    assert code == 0, out + err
    assert not (tmp_path / "not").exists()


def test_a_registry_that_cannot_be_reached_is_named(doctor, tmp_path):
    port = closed_port()
    (tmp_path / "file").touch()
    with engine(VLLM) as engine_port:
        found = findings(doctor(engine_port=engine_port, config={"discovery": [
            {"etcd": {"endpoints": [f"http://127.0.0.1:{port}"]}},
            {"file": {"directory": str(tmp_path / "file" / "nowhere")}}]}))
    assert f"registries: etcd: http://127.0.0.1:{port} cannot be reached (Connection ref" in found
    assert f"registries: file: {tmp_path}/file/nowhere cannot be written" in found
    assert "set identity.advertise, or POD_IP" in found


def test_the_findings_are_printed_as_json(doctor):
    with engine(VLLM) as port:
        code, out, _ = doctor("-o", "json", engine_port=port, LASTCALL_POD_GRACE_SECONDS="10")
    assert code == 1
    found = json.loads(out)
    assert found["ok"] is False
    assert "graces" in {each["area"] for each in found["findings"]}


def test_a_bad_configuration_is_no_finding(doctor):
    code, out, err = doctor("--set", "engine.kind=vlmm")
    assert (code, out) == (2, "")
    assert "engine.kind" in err
