"""An engine that answers no client: its clients are refused at once and may come again."""

import http.client
import json
import os
import signal

import pytest
from ports import free_port
from serve_peer import PATIENCE, wait_until
from serve_stream import Stream
from serve_world import is_stopped

THREADS = (1, 3)


@pytest.fixture
def served(world, threads):
    port = free_port()
    one = world()
    engine_port = free_port()
    one.config["ingress"] = {"listen": f"127.0.0.1:{port}", "threads": threads,
                             "upstream": f"127.0.0.1:{engine_port}"}  # fmt: skip
    one.config["admission"] = {"overload_status": 429}
    one.ingress_port = port
    one.run_engine("--rate", "20", checks=[{"name": "engine"}], port=engine_port)
    return one


def ask(one, tokens=2):
    connection = http.client.HTTPConnection("127.0.0.1", one.ingress_port, timeout=PATIENCE)
    try:
        body = json.dumps({"model": "m", "max_tokens": tokens, "messages": []})
        connection.request("POST", "/v1/chat/completions", body)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), json.loads(response.read())
    finally:
        connection.close()


def is_ready(one):
    return one.get("/readyz")[0] == 200


def test_new_requests_are_refused_and_those_that_run_are_served_when_it_answers(served):
    one = served
    wait_until(lambda: is_ready(one), "ready")
    assert ask(one)[0] == 200
    running = Stream(one.ingress_port, 30)
    wait_until(lambda: "data: " in running.text, "its first token")
    pid = one.status()["engine"]["pid"]
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: is_stopped(pid), "it is stopped")
    wait_until(lambda: not is_ready(one), "not ready")
    waits = []
    for _ in range(3):
        status, headers, body = ask(one)  # answered, though the engine is not
        assert status == 503, body
        assert headers["X-Lastcall-Reason"] == "unresponsive"
        assert headers["x-should-retry"] == "true"
        assert int(headers["Retry-After"]) >= 1
        waits.append(int(headers["retry-after-ms"]))
        error = body["error"]
        assert (error["type"], error["retryable"]) == ("overloaded", True)
        assert "unresponsive" in error["message"]
    assert len(set(waits)) == 3, "each has a slot of its own"
    os.kill(pid, signal.SIGCONT)
    wait_until(lambda: is_ready(one), "ready again")
    assert "[DONE]" in running.finished()
    assert ask(one)[0] == 200
