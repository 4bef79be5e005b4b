"""Requests that control the engine: which clients' are relayed, however their path is spelled."""

import json

import pytest
from raw_engine import client, get, metric, ok, post, wait_for_count
from serve_peer import wait_until

THREADS = [1, 2]

TOKEN = "X-Lastcall-Token: opensesame"

CONTROL_REQUESTS = "lastcall_ingress_control_requests_total"
REQUESTS = "dynamo_component_requests_total"

REFUSED = "a request to a control path of the engine was refused"


def answered(user, sent):
    user.send(sent)
    return user.until(b"}}\n")


def error_of(answer):
    return json.loads(answer.partition(b"\r\n\r\n")[2])["error"]


def relayed(user, engine, sent, body=b"hello"):
    """The head of what the engine got."""
    user.send(sent)
    wire, head = engine.request()
    wire.send(ok(body))
    user.until(body)
    wire.close()
    return head


def refusals(one, **labels):
    return metric(one, "lastcall_ingress_refusals_total", **labels)


def decisions(one, decision):
    return metric(one, CONTROL_REQUESTS, decision=decision)


@pytest.mark.parametrize(
    "path",
    ["/sleep", "/abort_requests", "/abort_request", "/flush_cache", "/collective_rpc", "/pause",
     "/update_weights_from_disk", "/v1/load_lora_adapter", "/v2/repository/models/m/load",
     "/release_memory"],
)  # fmt: skip
def test_a_stranger_does_not_control_an_engine_of_any_kind(proxy, engine, path):
    one = proxy()
    answer = answered(client(one), post(path, b"{}"))
    assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert b"\r\nX-Lastcall-Reason: control_path\r\n" in answer
    assert b"\r\nx-should-retry: false\r\n" in answer
    error = error_of(answer)
    assert (error["type"], error["code"], error["retryable"]) == ("forbidden", 403, False)
    assert error["reason"] == "control_path" and error["request_id"]
    assert engine.connections() == 0
    wait_until(lambda: refusals(one, type="forbidden") == 1, "counted")
    wait_until(lambda: decisions(one, "refused") == 1, "counted as a control request")


@pytest.mark.parametrize(
    "path",
    ["/sleep/", "//sleep", "/%73leep", "/%73%6c%65%65%70", "/%2573leep", "/sleep%2f", "/%2fsleep",
     "/SLEEP", "/sleep;a=b", "/sleep?level=2", "http://h/sleep", "/\\sleep"],
)  # fmt: skip
def test_a_control_path_is_refused_however_it_is_spelled(proxy, engine, path):
    one = proxy()
    assert answered(client(one), post(path, b"{}")).startswith(b"HTTP/1.1 403 ")
    assert engine.connections() == 0


@pytest.mark.parametrize(
    "path",
    ["/v1/../sleep", "/v1/%2e%2e/sleep", "/v1/.%2E/sleep", "/v1/%252e%252e/sleep", "/./sleep",
     "/v1/..%2fsleep", "/v1/..;/sleep", "/v1\\..\\sleep", "/v1/chat/completions/..",
     "/sleep%0a", "/v1/load_lora_adapter%0A", "/sleep%250a"],
)  # fmt: skip
def test_a_dot_segment_or_control_character_is_a_bad_request_whatever_is_open(proxy, engine, path):
    one = proxy(ingress={"control_paths": {"access": "relay"}})
    user = client(one)
    answer = answered(user, get(path))
    assert answer.startswith(b"HTTP/1.1 400 ") and b"a dot segment or a control" in answer
    user.socket.shutdown(1)
    assert user.ended()
    assert engine.connections() == 0


def test_a_connection_goes_on_behind_a_refusal(proxy, engine):
    user = client(proxy())
    assert b"\r\nConnection: close\r\n" not in answered(user, post("/sleep", b""))
    assert answered(user, get("/wake_up", "X-Request-Id: mine")).count(b"X-Request-Id: mine") == 1
    assert relayed(user, engine, get("/v1/models")).startswith(b"GET /v1/models ")


def test_the_body_of_a_refused_request_is_no_request(proxy, engine):
    user = client(proxy())
    smuggled = get("/v1/models")
    answer = answered(user, post("/sleep", smuggled))
    assert b"\r\nConnection: close\r\n" in answer
    user.socket.shutdown(1)
    assert user.ended()
    assert engine.connections() == 0


def test_paths_that_only_report_are_relayed_as_they_came(proxy, engine):
    one = proxy()
    for target in ("/metrics", "/load?a=b", "/health", "/%6detrics", "//metrics/"):
        head = relayed(client(one), engine, get(target))
        assert head.startswith(f"GET {target} HTTP/1.1\r\n".encode())
    assert refusals(one, type="forbidden") == 0


def test_an_operator_controls_the_engine_and_the_engine_does_not_see_how(proxy, engine):
    one = proxy(ingress={"control_paths": {"token": "opensesame"}})
    for wrong in ([], ["X-Lastcall-Token: opensesam"], ["X-Lastcall-Token: opensesame2"],
                  [TOKEN, TOKEN], ["Authorization: Bearer opensesame"]):  # fmt: skip
        answer = answered(client(one), post("/sleep", b"", *wrong))
        assert answer.startswith(b"HTTP/1.1 403 ") and b"X-Lastcall-Token" in answer
    assert engine.connections() == 0
    head = relayed(client(one), engine, post("/sleep?level=1", b"", TOKEN))
    assert head.startswith(b"POST /sleep?level=1 HTTP/1.1\r\n")
    assert b"opensesame" not in head and b"Lastcall-Token" not in head
    wait_for_count(one, 1, CONTROL_REQUESTS, decision="granted")
    assert decisions(one, "refused") == 5
    one.wait_for_log("an operator's request to a control path of the engine")
    assert "opensesame" not in one.log()
    assert metric(one, REQUESTS) == 0  # it is not work


def test_calls_that_put_an_engine_to_sleep_and_wake_it_are_logged(proxy, engine):
    one = proxy(engine={"kind": "sglang"}, ingress={"control_paths": {"token": "opensesame"}})
    answered(client(one), post("/release_memory_occupation", b"{}"))
    assert "the engine was put to sleep" not in one.log()  # it was refused
    assert relayed(client(one), engine, post("/release_memory_occupation", b"{}", TOKEN))
    one.wait_for_log("the engine was put to sleep")
    assert relayed(client(one), engine, post("/resume_memory_occupation", b"{}", TOKEN))
    one.wait_for_log("the engine was woken up")


def test_refusals_are_logged_at_a_limited_rate(proxy):
    one = proxy()
    user = client(one)
    for _ in range(50):
        answered(user, post("/sleep", b""))
    wait_until(lambda: decisions(one, "refused") == 50, "all counted")
    lines = [line for line in one.log().splitlines() if REFUSED in line]
    assert len(lines) == 1
    assert '"path":"/sleep"' in lines[0] and '"client":"127.0.0.1"' in lines[0]


def test_each_kind_of_engine_has_its_own_paths(proxy, engine):
    one = proxy(engine={"kind": "vllm"})
    assert answered(client(one), post("/reset_prefix_cache", b"")).startswith(b"HTTP/1.1 403 ")
    assert relayed(client(one), engine, post("/flush_cache", b"")).startswith(b"POST /flush_cache")


def test_own_paths_and_exceptions_come_before_those_of_the_preset(proxy, engine):
    one = proxy(ingress={"control_paths": {"access": "refuse", "token": "opensesame", "paths": [
        {"path": "/v1/load_lora_adapter", "access": "relay"},
        {"path": "/admin*", "access": "operators"},
        {"path": "/debug"},
        {"path": "/metrics", "access": "operators"},
    ]}})  # fmt: skip
    assert relayed(client(one), engine, post("/v1/load_lora_adapter", b"{}"))
    assert relayed(client(one), engine, post("/administer/x", b"", TOKEN))
    assert relayed(client(one), engine, get("/metrics", TOKEN))
    for closed in (post("/sleep", b"", TOKEN), post("/debug/pprof", b"", TOKEN),
                   post("/administer/x", b""), get("/metrics")):  # fmt: skip
        assert answered(client(one), closed).startswith(b"HTTP/1.1 403 ")
    assert metric(one, REQUESTS) == 0


def test_a_list_of_what_is_open_closes_all_else(proxy, engine):
    one = proxy(ingress={"control_paths": {"paths": [
        {"path": "/v1/*", "access": "relay"}, {"path": "/*", "access": "refuse"}]}})  # fmt: skip
    assert relayed(client(one), engine, post("/v1/completions", b"{}"))
    assert relayed(client(one), engine, get("/metrics"))
    for closed in (get("/docs"), post("/v1/unload_lora_adapter", b""), get("/")):
        assert answered(client(one), closed).startswith(b"HTTP/1.1 403 ")
    wait_for_count(one, 1, REQUESTS)


def test_a_path_that_the_endpoints_name_is_work(proxy, engine):
    one = proxy(endpoints=[{"name": "/pause"}])
    assert relayed(client(one), engine, post("/pause", b"{}"))
    wait_for_count(one, 1, REQUESTS, dynamo_endpoint="/pause")


def test_everything_can_be_open_again(proxy, engine):
    one = proxy(ingress={"control_paths": {"access": "relay"}})
    assert relayed(client(one), engine, post("/sleep", b"")).startswith(b"POST /sleep HTTP/1.1")
    assert decisions(one, "granted") == decisions(one, "refused") == 0
    assert metric(one, REQUESTS) == 0
