"""`GET /status`: what is in it, when it is there, and what is never in it."""

import json
import re
import threading
from pathlib import Path

import pytest
from serve_peer import wait_until
from serve_world import SLEEPER

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "tests/contract/status_document.json"
DOCS = ROOT / "docs/status-page.md"
ALWAYS = {"status_page": "always"}


def document(one):
    status, text = one.get("/status")
    assert status == 200
    return json.loads(text)


def shape(value):
    """The same with 0 for each number: what a document contains, and not when."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return 0 if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def is_golden(one, name):
    document_now = document(one)
    document_now["version"] = "VERSION"
    assert shape(document_now) == json.loads(GOLDEN.read_text())[name]
    return document_now


def test_the_document_is_the_golden_one_while_serving_in_a_stop_and_after_it(world):
    one = world(probes=ALWAYS, shutdown={"grace_period": "20s"})
    one.serve()
    engine = one.shim(*SLEEPER)
    one.wait_for_phase("serving")
    peer = one.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    peer.ask("request.begin", id="s", endpoint="generate")
    wait_until(lambda: document(one)["in_flight"]["requests"] == 2, "two requests")
    plan = is_golden(one, "serving")["plan"]
    assert [part["to_ms"] for part in plan["parts"]][-1] == plan["total_ms"]
    engine.terminate()
    wait_until(lambda: document(one)["phase"] == "draining", "the drain")
    stop = is_golden(one, "draining")
    part_ends = {part["name"]: part["to_ms"] for part in stop["plan"]["parts"]}
    # The plan and `cut_in_ms` state the same time: this part of the plan ends where requests are
    # cut.
    end = stop["plan"]["now_ms"] + stop["in_flight"]["cut_in_ms"]
    assert abs(part_ends["draining"] - end) <= 1
    assert stop["in_flight"]["endpoints"] == [{"name": "generate", "running": 2, "waiting": 0}]
    peer.send("request.end", id="r", outcome="completed")
    peer.send("request.end", id="s", outcome="completed")
    assert engine.wait(timeout=20) == 0
    wait_until(lambda: "report" in document(one), "the report")
    after = is_golden(one, "after")
    assert after["report"]["requests"]["completed"] == 2


def test_a_stop_whose_work_is_unknown_is_cut_when_its_drain_ends(world):
    one = world(probes=ALWAYS, shutdown={"grace_period": "120s", "drain_unknown": "60s"})
    one.process = one.run(*SLEEPER)
    one.wait_for_phase("serving")
    one.process.terminate()
    wait_until(lambda: document(one)["phase"] == "draining", "the drain")
    flight = document(one)["in_flight"]
    assert "requests" not in flight and 0 < flight["cut_in_ms"] <= 60_000


def test_each_key_of_the_golden_documents_is_described(world):
    def keys(value):
        if isinstance(value, dict):
            for key, item in value.items():
                yield key
                yield from keys(item)
        elif isinstance(value, list):
            for item in value:
                yield from keys(item)

    text = DOCS.read_text()
    described = {part for name in re.findall(r"`([a-z_.]+)`", text) for part in name.split(".")}
    goldens = json.loads(GOLDEN.read_text())
    for one in goldens.values():
        one.pop("report", None)  # operations.md describes it
        one["admission"] = {}  # cli.md describes it
        missing = set(keys(one)) - described
        assert not missing


def test_health_has_a_history(world):
    one = world(probes=ALWAYS, health={"interval": "100ms"})
    one.run_engine()
    wait_until(lambda: document(one)["health"]["verdict"] == "healthy", "health")
    history = document(one)["health"]["history"]
    assert [change["verdict"] for change in history][-2:] == ["starting", "healthy"]
    assert history[-1]["ago_ms"] <= history[-2]["ago_ms"]


@pytest.mark.parametrize(
    ("config", "environment", "status"),
    [
        ({}, {}, 200),
        ({}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, 404),
        ({}, {"LASTCALL_POD_GRACE_SECONDS": "30"}, 404),
        (ALWAYS, {"LASTCALL_POD_GRACE_SECONDS": "30"}, 200),
        ({"status_page": "never"}, {}, 404),
    ],
)
def test_run_shows_it_outside_of_a_pod_and_where_it_is_asked_for(
    world, config, environment, status
):
    one = world(probes=config)
    one.run(*SLEEPER, **environment)
    one.wait_for_log('"phase begun","phase":"serving"')
    assert one.get("/status")[0] == status
    assert one.get("/")[0] == status
    assert one.get("/livez")[0] == 200


def test_serve_does_not_show_it_by_itself(world):
    one = world()
    one.serve()
    wait_until(lambda: one.get("/livez")[0] == 200, "the listener")
    assert one.get("/status")[0] == 404


def test_nothing_of_it_is_secret(world):
    secret = "hush-hush"
    url = f"http://127.0.0.1:1/{secret}"
    one = world(
        probes=ALWAYS,
        identity={"advertise": "http://127.0.0.1:8000"},
        discovery=[{"name": "mine", "http": {"url": f"{url}?key={secret}"}}],
        health={"checks": [{"name": "up", "http": {"url": url}}]},
    )
    one.serve()
    one.shim(*SLEEPER)
    wait_until(lambda: one.get("/status")[0] == 200, "the listener")
    wait_until(lambda: document(one)["health"]["checks"][0]["state"] == "failed", "the check")
    one.operator().ask("drain")
    wait_until(lambda: document(one)["phase"] == "drained", "the drain")
    # What it must not show is known: the admin socket shows it to operators.
    assert one.directory in json.dumps(one.status())
    text = one.get("/status")[1]
    assert secret not in text and "http:" not in text and one.directory not in text
    assert '"name":"mine"' in text and '"name":"up"' in text


def test_many_clients_that_ask_at_once_all_get_it(world):
    one = world(probes=ALWAYS)
    one.run(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(one.get("/status")[0])) for _ in range(40)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * 40
