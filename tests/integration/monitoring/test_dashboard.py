"""Each query of the dashboard, asked of a real Prometheus that scrapes a real run."""

import http.client
import json
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from ports import free_port
from prometheus import Prometheus
from serve_peer import wait_until
from serve_world import ENGINE_SIM

ROOT = Path(__file__).resolve().parents[3]
FILE = ROOT / "charts/lastcall/files/dashboard.json"
DASHBOARD = json.loads(FILE.read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]

pytestmark = [
    pytest.mark.plain_build,
    pytest.mark.skipif(
        shutil.which("prometheus") is None, reason="no Prometheus: package prometheus"
    ),
]


def asked(expression):
    """With the variables as Grafana would fill them in, and a window of a short run."""
    for variable, value in (("$namespace", ".*"), ("$pod", ".*"), ("$__rate_interval", "30s"),
                            ("[1h]", "[1m]")):  # fmt: skip
        expression = expression.replace(variable, value)
    assert "$" not in expression
    return expression


def post(port, read=True, **body):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    text = json.dumps({"model": "m", "prompt": "x", **body})
    connection.request("POST", "/v1/completions", text, {"Content-Type": "application/json"})
    if not read:
        return connection
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status


def made_to_happen(one, ingress, shim):
    """All that a panel shows: answers, a client that leaves, refusals, loads, another engine."""
    assert post(ingress, max_tokens=5, stream=True) == 200
    assert post(ingress, max_tokens=5) == 200
    left = post(ingress, read=False, max_tokens=100_000, stream=True)
    wait_until(lambda: one.status()["in_flight"]["requests"] >= 1, "the request")
    assert post(ingress, max_tokens=1) == 503
    left.close()
    wait_until(lambda: one.status()["in_flight"]["requests"] == 0, "its end")
    one.peer().ask(
        "load", dp_rank=0, active_decode_blocks=3, kv_total_blocks=10, active_prefill_tokens=1
    )
    shim.terminate()
    assert shim.wait(timeout=30) == 0


@pytest.fixture
def scraped(world, tmp_path):
    """A run and its Prometheus, in the middle of a stop."""
    ingress, engine = free_port(), free_port()
    one = world(
        shutdown={"grace_period": "30s", "cleanup_reserve": "2s"},
        engine={"kind": "vllm", "url": f"http://127.0.0.1:{engine}"},
        ingress={"listen": f"127.0.0.1:{ingress}", "upstream": f"127.0.0.1:{engine}"},
        identity={"advertise": "http://127.0.0.1:1"},
        admission={"engine_request_limit": 1, "queue_limit": 0},
        discovery=[{"file": {"directory": str(tmp_path)}},
                   {"http": {"url": "http://127.0.0.1:1/x"}, "name": "router"}],
    )  # fmt: skip
    one.serve()
    command = (sys.executable, ENGINE_SIM, "--port", str(engine), "--kind", "vllm")
    shim = one.shim(*command)
    one.wait_for_phase("serving")
    prometheus = Prometheus(tmp_path, f"127.0.0.1:{one.port}")
    try:
        made_to_happen(one, ingress, shim)
        one.wait_for_log("phase begun", 4)
        shim = one.shim(*command)
        one.wait_for_phase("serving")
        held = post(ingress, read=False, max_tokens=100_000, stream=True)
        wait_until(lambda: one.status()["in_flight"]["requests"] == 1, "the request")
        os.kill(shim.pid, signal.SIGTERM)
        one.wait_for_phase("draining")
        wait_until(lambda: prometheus.value('lastcall_phase{phase="draining"}') == 1, "a scrape")
        yield prometheus
        held.close()
    finally:
        prometheus.close()


# The series that a healthy engine without such checks does not have.
EMPTY = {"Checks that did not pass"}


def test_every_query_has_an_answer_in_a_real_run(scraped):
    silent = {
        panel["title"]
        for panel in PANELS
        for target in panel["targets"]
        if not scraped.query(asked(target["expr"]))
    }
    assert silent <= EMPTY
    for annotation in DASHBOARD["annotations"]["list"]:
        scraped.query(asked(annotation["expr"]))


def test_no_query_names_a_family_that_is_not_there():
    import re

    table = (ROOT / "probes/metrics/metric_names.hpp").read_text()
    text = FILE.read_text()
    names = set(re.findall(r"\b(?:lastcall|dynamo)_[a-z_]+", text))
    names = {re.sub(r"_(bucket|count|sum)$", "", name) for name in names}
    assert names and all(f'"{name}"' in table for name in names)


def test_every_panel_explains_what_it_shows():
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    for panel in PANELS:
        assert panel["description"].endswith(".") and panel["fieldConfig"]["defaults"]["unit"]
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
