"""examples/router.py in front of workers that come and go under load: no request is lost."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading

import pytest
from ports import free_port
from registry_world import etcd_world
from serve_peer import PATIENCE, wait_until
from serve_world import ENGINE_SIM

ROUTER = os.path.join(os.path.dirname(__file__), "../../../examples/router.py")
CLIENTS, TOKENS = 6, 8


@pytest.fixture
def router(etcd):
    process = subprocess.Popen(
        (sys.executable, ROUTER, "--etcd", etcd.urls[0], "--port", "0"),
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.port = int(re.search(r":(\d+)$", process.stderr.readline().strip())[1])
    yield process
    process.kill()
    process.wait()
    process.stderr.close()


def worker(world, etcd):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    one = etcd_world(
        world,
        etcd,
        identity={"advertise": url},
        engine={"kind": "vllm", "url": url},
        probes={"listen": f"127.0.0.1:{free_port()}"},
        shutdown={"late_accept": "300ms", "drain_unknown": "15s"},
    )
    flags = ("--port", str(port), "--rate", "100", "--drain-on-term")
    one.url, one.process = url, one.run(sys.executable, ENGINE_SIM, *flags)
    return one


def workers_of(router):
    connection = http.client.HTTPConnection("127.0.0.1", router.port, timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.request("GET", "/workers")
        return json.loads(connection.getresponse().read())["workers"]


class Load:
    """Clients that ask without a pause, and keep what went wrong."""

    def __init__(self, port):
        self.port, self.answered, self.wrong = port, 0, []
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=self._ask_on) for _ in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def _ask_on(self):
        body = json.dumps({"prompt": "x", "max_tokens": TOKENS, "stream": True})
        while not self._ends.is_set():
            try:
                self._ask(body)
            except (OSError, http.client.HTTPException, AssertionError) as error:
                self.wrong.append(repr(error))

    def _ask(self, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            headers = {"Content-Type": "application/json"}
            connection.request("POST", "/v1/completions", body, headers)
            response = connection.getresponse()
            text = response.read().decode()
        assert response.status == 200, (response.status, text)
        assert "[DONE]" in text, text
        self.answered += 1

    def more(self, count):
        wait_until(lambda: self.wrong or self.answered >= count, "answers", patience=60)
        return self.answered

    def end(self):
        self._ends.set()
        for thread in self._threads:
            thread.join(60)


def test_no_request_is_lost_while_workers_come_and_go(world, etcd, router):
    first, second = worker(world, etcd), worker(world, etcd)
    wait_until(lambda: len(workers_of(router)) == 2, "two workers", patience=60)
    load = Load(router.port)
    try:
        answered = load.more(20)
        for _ in range(3):
            first.process.send_signal(signal.SIGTERM)
            third = worker(world, etcd)
            assert first.process.wait(timeout=3 * PATIENCE) == 0
            assert first.report()["registries"] == [{"name": "etcd", "state": "confirmed"}]
            wait_until(lambda one=third: one.url in workers_of(router), "it came", patience=60)
            answered = load.more(answered + 20)
            first, second = second, third
    finally:
        load.end()
    assert load.wrong == []
    assert load.answered >= 80


def test_the_router_goes_on_with_what_it_knows_while_etcd_is_away(world, etcd, router):
    one = worker(world, etcd)
    wait_until(lambda: workers_of(router) == [one.url], "one worker", patience=60)
    etcd.kill()
    load = Load(router.port)
    load.more(20)
    load.end()
    assert load.wrong == []
