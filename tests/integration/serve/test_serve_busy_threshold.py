"""`/busy_threshold` on the probes listener: Dynamo's JSON and errors."""

import http.client
import json

import pytest
from serve_peer import PATIENCE, wait_until
from serve_world import SLEEPER

MODEL = "Qwen/Qwen3-0.6B"
UNSET = {
    "active_decode_blocks_threshold": None,
    "active_prefill_tokens_threshold": None,
    "active_prefill_tokens_threshold_frac": None,
}


@pytest.fixture
def served(world):
    one = world(admission={"http_api": True}, identity={"model": MODEL})
    one.run(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    return one


def call(world, method="POST", body=None, kind="application/json", token=None):
    connection = http.client.HTTPConnection("127.0.0.1", world.port, timeout=PATIENCE)
    try:
        text = body if isinstance(body, (bytes, str)) else json.dumps(body)
        headers = {"Content-Type": kind} if kind else {}
        headers |= {"X-Lastcall-Token": token} if token else {}
        connection.request(
            method, "/busy_threshold", None if method == "GET" else text, headers
        )
        response = connection.getresponse()
        assert response.headers["Content-Type"] == "application/json"
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_thresholds_are_set_listed_merged_and_cleared(served):
    assert call(served, "GET") == (200, {"thresholds": []})
    given = {"model": MODEL, "active_decode_blocks_threshold": 0.85}
    assert call(served, body=given) == (200, {**UNSET, **given})
    more = {"model": MODEL, "active_prefill_tokens_threshold": 10000}
    assert call(served, body=more) == (200, {**UNSET, **given, **more})
    assert call(served, "GET") == (200, {"thresholds": [{**UNSET, **given, **more}]})
    assert call(served, body={"model": MODEL}) == (200, {**UNSET, **given, **more})
    cleared = {"model": MODEL, "active_decode_blocks_threshold": None}
    assert call(served, body=cleared) == (200, {**UNSET, **more})
    assert served.status()["admission"]["active_prefill_tokens_threshold"] == 10000


def test_a_set_takes_effect_at_once(served):
    peer = served.peer()
    peer.ask("load", active_decode_blocks=87, kv_total_blocks=100)
    call(served, body={"model": MODEL, "active_decode_blocks_threshold": 0.85})
    peer.ask("request.begin", id="a", admit=True)
    peer.expect("rejected", id="a", reason="overloaded")
    status, body = served.get("/readyz?verbose")
    assert status == 200
    assert "busy" in body
    call(served, body={"model": MODEL, "active_decode_blocks_threshold": None})
    peer.ask("request.begin", id="a", admit=True)
    peer.expect("admitted", id="a")


def test_with_a_token_strangers_read_and_only_its_owner_sets(world):
    one = world(admission={"http_api": True}, identity={"model": MODEL})
    one.run(*SLEEPER, LASTCALL_ADMISSION_TOKEN="s3cret")
    one.wait_for_log('"phase begun","phase":"serving"')
    shut = {"model": MODEL, "active_prefill_tokens_threshold": 0}
    for key in ("active_prefill_tokens_threshold", "active_decode_blocks_threshold"):
        status, body = call(one, body={"model": MODEL, key: None})
        assert (status, "X-Lastcall-Token is missing" in body["error"]) == (401, True)
    status, body = call(one, body=shut, token="guess")
    assert (status, "another token" in body["error"]) == (403, True)
    assert call(one, "GET") == (200, {"thresholds": []})
    assert call(one, body={"model": MODEL}) == (200, {"model": MODEL, **UNSET})
    assert call(one, body=shut, token="s3cret") == (200, {**UNSET, **shut})
    counted = '\nlastcall_http_calls_refused_total{path="/busy_threshold"} 3\n'
    wait_until(lambda: counted in one.get("/metrics")[1], "refused ones are counted")
    [line] = [each for each in one.records() if "refused because of its token" in each["msg"]]
    assert (line["from"], line["status"], line["path"]) == ("127.0.0.1", 401, "/busy_threshold")
    assert "s3cret" not in one.log()


def test_a_body_in_chunks_is_asked_for_its_length(served):
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE)
    kind = {"Content-Type": "application/json"}
    connection.request("POST", "/busy_threshold", iter([b'{"model":"m"}']), kind)
    response = connection.getresponse()
    assert response.status == 411
    assert json.loads(response.read()) == {"error": "expected a Content-Length"}
    connection.close()


def test_an_unknown_model_may_be_read_and_not_set(served):
    assert call(served, body={"model": "other"}) == (200, {"model": "other", **UNSET})
    status, body = call(
        served, body={"model": "other", "active_decode_blocks_threshold": 0.5}
    )
    assert status == 404
    assert "'other'" in body["error"]
    served.peer().ask("request.begin", id="r", model="other")
    status, _ = call(served, body={"model": "other", "active_decode_blocks_threshold": 0.5})
    assert status == 200


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ({"model": MODEL}, "text/plain", 415),
        ({"model": MODEL}, None, 415),
        (b"{", "application/json", 400),
        ([], "application/json", 422),
        ({}, "application/json", 422),
        ({"model": 3}, "application/json", 422),
        ({"model": MODEL, "active_decode_blocks_threshold": "0.5"}, "application/json", 422),
        ({"model": MODEL, "active_decode_blocks_threshold": 1.01}, "application/json", 400),
        ({"model": MODEL, "active_decode_blocks_threshold": -0.1}, "application/json", 400),
        ({"model": MODEL, "active_prefill_tokens_threshold": -1}, "application/json", 422),
        ({"model": MODEL, "active_prefill_tokens_threshold": 1.5}, "application/json", 422),
        ({"model": MODEL, "active_prefill_tokens_threshold_frac": 0.5}, "application/json", 400),
        ({"model": "m" * 20000}, "application/json", 413),
    ],
)
def test_errors_have_the_status_and_a_text(served, body, kind, status):
    got, answer = call(served, body=body, kind=kind)
    assert got == status
    assert list(answer) == ["error"]
    assert served.status()["admission"]["active_decode_blocks_threshold"] is None


def test_other_methods_and_a_body_that_comes_in_pieces(served):
    assert call(served, "DELETE", body={})[0] == 405
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE)
    body = json.dumps({"model": MODEL, "active_prefill_tokens_threshold": 7}).encode()
    connection.putrequest("POST", "/busy_threshold")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders()
    for byte in body:
        connection.send(bytes([byte]))
    assert json.loads(connection.getresponse().read())["active_prefill_tokens_threshold"] == 7
    connection.close()


def test_without_http_api_it_is_not_there(world):
    one = world()
    one.run(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    assert one.get("/busy_threshold")[0] == 404
