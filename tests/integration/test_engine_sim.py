"""The test engine itself: what the other integration tests rely on."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIM = os.path.join(ROOT, "tests", "helpers", "engine_sim.py")
sys.path.append(os.path.join(ROOT, "sdk", "python", "tests"))

from known_process import KnownProcess, is_alive  # noqa: E402
from strict_supervisor import FakeSupervisor, eventually  # noqa: E402


class Sim:
    def __init__(self, tmp_path, *flags, environment=None):
        self.trace_path = tmp_path / "trace"
        self.signals_path = tmp_path / "signals"
        port_file = tmp_path / "port"
        self.process = subprocess.Popen(
            [sys.executable, SIM, "--port-file", port_file, "--trace", self.trace_path,
             "--log-signals", self.signals_path, *flags],
            env={**os.environ, **(environment or {})},
        )  # fmt: skip
        eventually(lambda: port_file.exists() or self.process.poll() is not None, 30)
        self.port = int(port_file.read_text())

    def connection(self, timeout=20):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def call(self, method, path, body=None, headers=None, timeout=20):
        connection = self.connection(timeout)
        try:
            connection.request(method, path, json.dumps(body) if body else None, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def control(self, **settings):
        return json.loads(self.call("POST", "/sim/control", settings)[1])

    def start_stream(self, path="/v1/completions", headers=None, **body):
        connection = self.connection()
        connection.request("POST", path, json.dumps({"stream": True, **body}), headers or {})
        return connection, connection.getresponse()

    def trace(self, kind):
        lines = self.trace_path.read_text().splitlines() if self.trace_path.exists() else []
        return [each for each in map(json.loads, lines) if each["event"] == kind]


@pytest.fixture
def sim(tmp_path):
    made = []

    def start(*flags, environment=None):
        made.append(Sim(tmp_path, *flags, environment=environment))
        return made[-1]

    yield start
    for each in made:
        each.process.kill()
        for line in each.trace("worker"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                # A worker may have ended and its number be a stranger's.
                if SIM.encode() in Path(f"/proc/{line['worker']}/cmdline").read_bytes():
                    os.kill(line["worker"], signal.SIGKILL)
        each.process.wait(10)


def events(body):
    return [line[6:] for line in body.split(b"\n") if line.startswith(b"data: ")]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
def test_a_stream_has_all_its_tokens_a_finish_reason_and_done(sim, path):
    engine = sim("--rate", "500")
    connection, answer = engine.start_stream(
        path, max_tokens=5, headers={"X-Request-Id": "r1"}, stream_options={"include_usage": True}
    )
    *chunks, usage, done = events(answer.read())
    assert done == b"[DONE]"
    choices = [json.loads(chunk)["choices"][0] for chunk in chunks]
    texts = [each.get("text") or each.get("delta", {}).get("content", "") for each in choices]
    assert "".join(texts) == "t0 t1 t2 t3 t4 "
    assert choices[-1]["finish_reason"] == "length"
    assert json.loads(usage)["usage"]["completion_tokens"] == 5
    assert answer.headers["X-Request-Id"] == "r1"
    connection.close()


def test_a_unary_answer_is_whole_and_the_connection_is_kept(sim):
    engine = sim("--rate", "500")
    connection = engine.connection()
    for path, text in (("/v1/completions", "text"), ("/v1/chat/completions", "message")):
        connection.request("POST", path, json.dumps({"max_tokens": 2}))
        answer = json.loads(connection.getresponse().read())
        assert "t0 t1 " in str(answer["choices"][0][text])
    connection.close()


def test_metrics_count_what_runs_and_what_waits(sim):
    engine = sim("--max-running", "2", "--rate", "20")
    streams = [engine.start_stream(max_tokens=10_000) for _ in range(2)]
    waiting = engine.connection()
    waiting.request("POST", "/v1/completions", json.dumps({"max_tokens": 1}))

    def metrics(name):
        text = engine.call("GET", "/metrics")[1].decode()
        rows = [line.rsplit(" ", 1) for line in text.splitlines() if line.startswith(name + "{")]
        assert len(rows) == 2
        return sum(float(value) for _, value in rows)

    eventually(lambda: metrics("vllm:num_requests_waiting") == 1)
    assert metrics("vllm:num_requests_running") == 2
    streams[0][1].close()
    streams[0][0].close()
    assert waiting.getresponse().status == 200  # the place of the one that went away
    eventually(lambda: metrics("vllm:num_requests_running") == 1)
    assert engine.trace("end")[0]["outcome"] == "cancelled"


def test_two_hundred_streams_run_at_once(sim):
    engine = sim("--rate", "50")
    bodies = []

    def run():
        connection, answer = engine.start_stream(max_tokens=20)
        bodies.append(answer.read())
        connection.close()

    threads = [threading.Thread(target=run) for _ in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(bodies) == 200 and all(events(body)[-1] == b"[DONE]" for body in bodies)


def test_a_hang_of_tokens_can_lie_about_health(sim):
    engine = sim("--rate", "200")
    assert engine.call("GET", "/health")[0] == 200
    connection, answer = engine.start_stream(max_tokens=100_000)
    answer.readline()
    engine.control(hang="tokens")
    assert engine.call("GET", "/health")[0] == 503
    engine.control(lie=True)
    assert engine.call("GET", "/health")[0] == 200
    connection.sock.settimeout(0.3)
    with pytest.raises(TimeoutError):
        while True:
            answer.readline()
    assert engine.control(hang=None)["hang"] is None
    connection.close()


def test_a_hang_of_health_leaves_tokens_flowing(sim):
    engine = sim("--rate", "200", "--hang", "health", "--hang-after", "0")
    with pytest.raises(TimeoutError):
        engine.call("GET", "/health", timeout=0.3)
    assert engine.call("POST", "/v1/completions", {"max_tokens": 3})[0] == 200


def test_the_status_of_health_can_be_set(sim):
    engine = sim("--health-status", "503")
    assert engine.call("GET", "/health")[0] == 503
    assert engine.call("POST", "/sim/control", {"colour": "red"})[0] == 400


@pytest.mark.parametrize(
    "flags, code",
    [
        (("--exit-after", "0.1", "--exit-code", "7"), 7),
        (("--exit-after", "0.1", "--crash", "segv"), -signal.SIGSEGV),
        (("--exit-after", "0.1", "--crash", "abort"), -signal.SIGABRT),
    ],
)
def test_it_ends_as_its_flags_have_it(sim, flags, code):
    assert sim(*flags).process.wait(20) == code


def test_a_term_is_logged_and_cuts_what_runs(sim):
    engine = sim("--term-exit-code", "3")
    connection, answer = engine.start_stream(max_tokens=100_000)
    answer.readline()
    engine.process.terminate()
    assert engine.process.wait(20) == 3
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        answer.read()
    assert engine.signals_path.read_text().split()[2] == "TERM"


def test_a_drain_on_term_finishes_what_runs(sim):
    engine = sim("--drain-on-term", "--rate", "100")
    connection, answer = engine.start_stream(max_tokens=50)
    answer.readline()
    engine.process.terminate()
    assert events(answer.read())[-1] == b"[DONE]"
    assert engine.process.wait(20) == 0


def test_a_term_can_abort_what_runs_so_that_it_looks_finished(sim):
    one = sim("--abort-on-term", "--rate", "20")
    connection, response = one.start_stream(max_tokens=1000)
    response.readline()
    one.process.send_signal(signal.SIGTERM)
    rest = response.read().decode()
    assert '"finish_reason":"abort"' in rest and rest.rstrip().endswith("[DONE]")
    assert one.process.wait(20) == 0
    connection.close()


def test_a_term_can_end_the_core_and_leave_the_server_to_its_open_connections(sim):
    one = sim("--linger-on-term", "--core", "--rate", "20")
    connection, response = one.start_stream(max_tokens=1000)
    response.readline()
    one.process.send_signal(signal.SIGTERM)
    eventually(lambda: one.trace("core_exit"), 20)
    assert one.process.poll() is None
    connection.close()
    response.close()
    assert one.process.wait(20) == 0, "its last client has left"


def test_term_can_be_ignored_until_a_control_call_changes_it(sim):
    engine = sim("--ignore-term")
    engine.process.terminate()
    eventually(lambda: engine.signals_path.exists())
    assert engine.call("GET", "/health")[0] == 200
    engine.control(ignore_term=False)
    engine.process.terminate()
    assert engine.process.wait(20) == 0


@pytest.mark.parametrize("leak", [False, True])
def test_workers_end_with_it_unless_they_leak(sim, leak):
    flags = ["--workers", "2", "--setsid-workers"] + (["--leak-workers"] if leak else [])
    engine = sim(*flags)
    workers = [KnownProcess(line["worker"]) for line in engine.trace("worker")]
    assert len(workers) == 2 and all(os.getsid(pid) == pid for pid in workers)
    engine.process.terminate()
    engine.process.wait(20)
    if leak:
        assert all(is_alive(pid) for pid in workers)
    else:
        eventually(lambda: not any(is_alive(pid) for pid in workers))


def test_it_dies_with_a_worker(sim):
    engine = sim("--workers", "1")
    os.kill(engine.trace("worker")[0]["worker"], signal.SIGKILL)
    assert engine.process.wait(20) == 1


def test_with_the_sdk_a_cancel_ends_the_stream_visibly(sim, tmp_path):
    with FakeSupervisor(str(tmp_path / "s")) as supervisor:
        engine = sim("--sdk", "--critical", "--rate", "200",
                     environment={"LASTCALL_SOCKET": supervisor.path})  # fmt: skip
        assert supervisor.wait("hello")["critical"] is True
        supervisor.wait("endpoint.register", endpoint="generate", graceful_shutdown=True)
        supervisor.wait("endpoint.register", endpoint="decode", graceful_shutdown=False)
        connection, answer = engine.start_stream(max_tokens=100_000, headers={"X-Request-Id": "u"})
        for _ in range(8):
            answer.readline()
        begin = supervisor.wait("request.begin", endpoint="decode")
        supervisor.cancel(begin["id"], mode="stop", reason="migrate")
        with pytest.raises(http.client.IncompleteRead) as cut:
            answer.read()  # no final chunk
        tail = cut.value.partial
        assert b"[DONE]" not in tail and b"event: error\n" in tail
        error = json.loads(events(tail)[-1])["error"]
        assert (error["type"], error["request_id"], error["retryable"]) == ("migrated", "u", True)
        assert error["events_sent"] >= 4
        assert supervisor.wait("request.end", id=begin["id"])["outcome"] == "migrated"
        supervisor.wait("cancel.done", id=begin["id"])
        supervisor.send("health.check")
        assert supervisor.wait("health")["status"] == "healthy"
        connection.close()
    assert supervisor.violations == []


def test_with_the_sdk_a_client_that_hangs_up_is_reported(sim, tmp_path):
    with FakeSupervisor(str(tmp_path / "s")) as supervisor:
        engine = sim("--sdk", environment={"LASTCALL_SOCKET": supervisor.path})
        peer = socket.create_connection(("127.0.0.1", engine.port))
        body = b'{"max_tokens":100000}'
        peer.sendall(b"POST /v1/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b"
                     % (len(body), body))  # fmt: skip
        begin = supervisor.wait("request.begin")
        peer.close()
        supervisor.wait("cancel", ids=[begin["id"]], mode="kill", reason="client_disconnect")
        assert supervisor.wait("request.end")["outcome"] == "cancelled"
    assert supervisor.violations == []


def test_the_port_is_closed_while_it_starts(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    trace = tmp_path / "trace"
    command = [sys.executable, SIM, "--port", str(port), "--trace", trace, "--workers", "1"]
    with subprocess.Popen([*command, "--startup-delay", "3600"]) as process:
        eventually(lambda: trace.exists() and "worker" in trace.read_text(), 30)
        for _ in range(20):  # a second: it runs, and would listen by now
            assert process.poll() is None
            with socket.socket() as client, pytest.raises(ConnectionRefusedError):
                client.connect(("127.0.0.1", port))
            threading.Event().wait(0.05)
        process.terminate()


def figure(sim, name):
    text = sim.call("GET", "/metrics")[1].decode()
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))


def test_late_gauges_stay_at_zero_until_the_first_step_came_back(sim):
    one = sim("--late-gauges", "--prefill", "2", "--rate", "100", "--load-tracking")
    connection = one.connection()
    connection.request("POST", "/v1/completions", json.dumps({"max_tokens": 400}))
    eventually(lambda: len(one.trace("start")) == 1, 20)
    assert figure(one, "vllm:num_requests_running") == 0
    assert json.loads(one.call("GET", "/load")[1]) == {"server_load": 1}
    eventually(lambda: figure(one, "vllm:num_requests_running") == 1, 30)
    connection.close()


def test_a_frozen_core_passes_its_health_check_and_generates_nothing(sim):
    one = sim("--rate", "100")
    one.control(hang="core")
    assert one.call("GET", "/health")[0] == 200
    connection = one.connection(timeout=1)
    connection.request("POST", "/v1/completions", json.dumps({"max_tokens": 1}))
    with pytest.raises(TimeoutError):
        connection.getresponse()
    connection.close()


def test_a_request_behind_a_prefill_waits_for_its_end(sim):
    one = sim("--prefill", "1.5", "--rate", "100")
    first = one.connection()
    first.request("POST", "/v1/completions", json.dumps({"max_tokens": 2}))
    eventually(lambda: len(one.trace("start")) == 1, 20)
    began = one.trace("start")[0]["at_ms"]
    status, answer = one.call("POST", "/v1/completions", {"max_tokens": 1})
    assert (status, json.loads(answer)["usage"]["completion_tokens"]) == (200, 1)
    eventually(lambda: one.trace("end"), 20)
    assert one.trace("end")[0]["at_ms"] - began >= 1_500
    first.close()
