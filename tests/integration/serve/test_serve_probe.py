"""`lastcall probe`, as an exec probe calls it."""

import json
import signal
import socket
import subprocess
import threading

import pytest
from hostile_heads import each_is_answered
from serve_peer import PATIENCE, wait_until
from serve_world import LASTCALL


def probe(one, *words):
    return subprocess.run(
        [LASTCALL, "probe", "--config", one.write_config(), *words],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "name", [(), "livez", "readyz", "startupz", "engine/livez", "engine/startupz", "health", "live"]
)
def test_a_probe_that_passes_is_silent(served, name):
    done = probe(served, *([name] if name else []))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_probe_that_fails_is_1_and_reports_why(served):
    peer = served.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    served.process.send_signal(signal.SIGTERM)
    peer.expect("phase", phase="draining")
    wait_until(lambda: served.get("/readyz")[0] == 503, "not ready")
    done = probe(served, "readyz")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("readyz: 503 ") and "draining" in done.stderr
    assert probe(served, "livez").returncode == 0


def test_the_answer_as_json(served):
    done = probe(served, "livez", "-o", "json")
    assert done.returncode == 0
    answer = json.loads(done.stdout)
    assert list(answer) == ["ok", "probe", "address", "status", "body"]
    assert (answer["ok"], answer["probe"], answer["status"]) == (True, "livez", 200)
    assert answer["address"] == f"127.0.0.1:{served.port}"


def test_a_missing_listener_is_1_and_reported_with_its_address(world):
    one = world()
    done = probe(one)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"livez: cannot call 127.0.0.1:{one.port}: Connection refused\n"
    answer = json.loads(probe(one, "-o", "json").stdout)
    assert answer["ok"] is False and answer["problem"] == "Connection refused"


def test_an_address_of_its_own_needs_no_configuration(served):
    done = subprocess.run(
        [LASTCALL, "probe", "--config", "/no/such/file", "--address", f"localhost:{served.port}"],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_any_address_is_asked_on_the_loopback(world):
    for host in ("0.0.0.0", "[::]"):
        one = world(probes={})
        one.config["probes"]["listen"] = f"{host}:{one.port}"
        one.serve()
        one.wait_for_log("lastcall serves")
        assert probe(one).returncode == 0


def listener(answer):
    """A peer that is not a supervisor; an answer of None is silence."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        client, _ = server.accept()
        with client:
            if answer is not None:
                client.sendall(answer)
            client.recv(1 << 16)
            if answer is None:
                client.recv(1)

    threading.Thread(target=serve, daemon=True).start()
    return server, server.getsockname()[1]


def test_silence_is_over_after_the_timeout(world):
    server, port = listener(None)
    done = probe(world(), "--address", f"127.0.0.1:{port}", "--timeout", "200ms")
    assert done.returncode == 1
    assert done.stderr == f"livez: cannot call 127.0.0.1:{port}: no answer in time\n"
    server.close()


@pytest.mark.parametrize("answer", [b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1", b"HTTP/1.1 2xx\r\n\r\n"])
def test_an_answer_that_is_not_http_is_no_success(world, answer):
    server, port = listener(answer)
    done = probe(world(), "--address", f"127.0.0.1:{port}")
    assert done.returncode == 1
    assert "does not speak HTTP" in done.stderr or "reset" in done.stderr
    server.close()


@pytest.mark.parametrize(
    "words",
    [["rootz"], ["--timeout", "soon"], ["--timeout", "0s"], ["--address", "x"],
     ["--address", "127.0.0.1:0"], ["livez", "readyz"]],
)  # fmt: skip
def test_bad_usage_is_2(world, words):
    done = probe(world(), *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


def test_a_port_that_is_not_known_is_2(world):
    one = world()
    one.config["probes"]["listen"] = "127.0.0.1:0"
    done = probe(one)
    assert done.returncode == 2
    assert "expected --address" in done.stderr


def test_no_head_ends_what_is_behind_the_probe_port(served):
    assert each_is_answered(served.port)
    assert served.process.poll() is None and served.get("/livez") == (200, "ok\n")
