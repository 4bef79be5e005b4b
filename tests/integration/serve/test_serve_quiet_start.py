"""Until the engine has started the log warns of nothing: that it does not answer is expected."""

import http.server
import os
import re
import socket
import sys
import threading

import pytest
from ports import free_port
from serve_peer import wait_until
from serve_world import ENGINE_SIM

ROUNDS = 5
WAITS = 'while ! [ -e "$0" ]; do sleep 0.02; done; exec "$@"'


class Loading(http.server.BaseHTTPRequestHandler):
    """What a server answers while it still loads a model."""

    def do_GET(self):
        self.send_error(503)

    def log_message(self, *_):
        pass


class Before:
    """The server at the engine's port until the engine itself is there."""

    def __init__(self, kind, port):
        self.kind = kind
        if kind == "loading":
            self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Loading)
            threading.Thread(target=self.server.serve_forever, daemon=True).start()
        elif kind == "silent":
            self.server = socket.create_server(("127.0.0.1", port))

    def end(self):
        if self.kind == "loading":
            self.server.shutdown()
            self.server.server_close()
        elif self.kind == "silent":
            self.server.close()


def checks(one):
    """How many checks of the engine have ended."""
    _, text = one.get("/metrics")
    rows = re.findall(r"^lastcall_engine_checks_total\{.*\} (\d+)", text, re.MULTILINE)
    return sum(map(int, rows))


def wait_for_rounds(one):
    before = checks(one)
    wait_until(lambda: checks(one) >= before + ROUNDS, f"{ROUNDS} more checks")


@pytest.mark.parametrize("kind", ["refused", "loading", "silent"])
@pytest.mark.parametrize("mode", ["run", "sidecar"])
def test_nothing_is_warned_of_before_the_engine_has_started(world, mode, kind):
    one = world()
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    one.config["engine"] = {"kind": "vllm", "url": url}
    one.config["health"]["checks"] = [
        {"name": "engine", "http": {"url": f"{url}/health"}, "timeout": "100ms"}
    ]
    before = Before(kind, port)
    engine = ("/bin/sh", "-c", WAITS, one.path("go"), sys.executable, ENGINE_SIM,
              "--port", str(port))  # fmt: skip
    if mode == "run":
        one.run(*engine)
    else:
        one.serve()
        wait_for_rounds(one)  # without a shim
        one.shim(*engine)
    one.wait_for_log('"msg":"engine started"')
    wait_for_rounds(one)
    before.end()
    open(one.path("go"), "w").close()
    one.wait_for_phase("serving")
    records = one.records()
    [serving] = [at for at, record in enumerate(records)
                 if record["msg"] == "phase begun" and record["phase"] == "serving"]  # fmt: skip
    # A step of the loop that took long is the machine's.
    loud = [r for r in records[:serving]
            if r["level"] not in ("DEBUG", "INFO") and r["msg"] != "a step of the loop was slow"]
    assert loud == [], one.log()
    assert [r for r in records[:serving] if r["msg"] == "check has not passed yet"]
    # The same silence afterwards is one to warn of.
    os.kill(one.status()["engine"]["pid"], 19)
    one.wait_for_log('"msg":"check fails"')
