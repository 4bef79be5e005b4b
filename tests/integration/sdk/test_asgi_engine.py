"""A uvicorn server with the middleware, under the real supervisor: unary and streamed answers."""

import http.client
import json
import os
import signal

import pytest
from asgi_world import Call, ask, live, metric, start, wait_until_live
from ports import free_port
from serve_peer import PATIENCE, wait_until

pytest.importorskip("uvicorn")
pytest.importorskip("fastapi")


def seen(one):
    return ask(one.engine_port, "/seen")


def settled(one, **outcomes):
    """All that was in flight is reported, with these outcomes."""
    for outcome, count in outcomes.items():
        wait_until(lambda o=outcome, n=count: metric(one, "lastcall_requests_total", outcome=o)
                   == n, f"{count} {outcome}")  # fmt: skip
    wait_until(lambda: metric(one, "lastcall_cancels_unconfirmed") == 0, "nothing unconfirmed")


def test_whole_answers_are_counted_and_not_changed(world):
    one = world()
    start(one)
    stream = Call(one.engine_port, "s", tokens=3).first_token()
    text, broken = stream.rest()
    assert text.count(b"data: token") == 3 and text.endswith(b"data: [DONE]\n\n") and not broken
    unary = Call(one.engine_port, "u", stream=False).answer()
    assert json.loads(unary.read()) == {"model": "Qwen", "text": "token0"}
    settled(one, completed=2)
    endpoint = {"dynamo_endpoint": "generate"}  # the engine's, whatever the API calls it
    assert metric(one, "dynamo_component_requests_total", **endpoint) == 2
    assert metric(one, "lastcall_cancels_total") == 0


def test_a_client_that_leaves_frees_the_engine_and_counts_once(world):
    one = world()
    start(one)
    stream = Call(one.engine_port, "s", tokens=100_000).first_token()
    wait_until_live(one, "s")
    stream.leave()
    unary = Call(one.engine_port, "u", tokens=100_000, stream=False)
    wait_until_live(one, "u")
    unary.connection.close()
    settled(one, cancelled=2)
    wait_until(lambda: seen(one) == {"finished": 0, "let_go": 2}, "the engine let go of both")
    assert metric(one, "lastcall_cancels_total", reason="client_disconnect") == 2
    assert metric(one, "dynamo_component_cancellation_total") == 2
    labels = {"model": "Qwen", "endpoint": "chat_completions"}
    assert metric(one, "dynamo_frontend_model_cancellation_total", **labels) == 2


def test_a_request_that_is_announced_after_its_client_left_is_cancelled_and_counts_once(world):
    port = free_port()
    one = world(ingress={"listen": f"127.0.0.1:{port}"})
    start(one, LASTCALL_ASGI_IGNORE="/late")
    client = Call(port, "gone", path="/late")
    wait_until_live(one, "gone")
    client.connection.close()
    wait_until(lambda: seen(one)["let_go"] == 1, "the engine let go of it")
    settled(one, cancelled=1)
    assert live(one) == {} and metric(one, "lastcall_cancels_total") == 1
    again = Call(port, "gone", tokens=3).first_token()  # the id is free
    assert again.rest()[0].endswith(b"data: [DONE]\n\n")
    settled(one, cancelled=1, completed=1)


@pytest.mark.parametrize("mode", ["stop", "kill"])
def test_an_operators_cancel_is_to_the_engine_a_client_that_left(world, mode):
    one = world()
    start(one)
    stream = Call(one.engine_port, "s", tokens=100_000).first_token()
    unary = Call(one.engine_port, "u", tokens=100_000, stream=False)
    for request_id in ("s", "u"):
        wait_until_live(one, request_id)
        one.operator().ask("cancel", ids=[request_id], mode=mode)
    text, broken = stream.rest()
    assert broken and b"[DONE]" not in text and b"\n\nevent: error\ndata: " in text
    error = stream.error()
    assert (error["type"], error["retryable"], error["request_id"]) == ("cancelled", False, "s")
    assert error["events_sent"] == text.count(b"data: token")
    answer = unary.answer()
    assert (answer.status, answer.getheader("X-Lastcall-Reason")) == (499, "operator")
    assert json.loads(answer.read())["error"]["type"] == "cancelled"
    settled(one, cancelled=2)
    wait_until(lambda: seen(one) == {"finished": 0, "let_go": 2}, "the engine let go of both")
    assert metric(one, "lastcall_cancels_total", reason="operator") == 2


def test_a_cut_stream_is_one_line_in_the_servers_log(world):
    one = world()
    start(one)
    stream = Call(one.engine_port, "s", tokens=100_000).first_token()
    wait_until_live(one, "s")
    one.operator().ask("cancel", ids=["s"], mode="kill")
    _, broken = stream.rest()
    assert broken
    settled(one, cancelled=1)
    failed = http.client.HTTPConnection("127.0.0.1", one.engine_port, timeout=PATIENCE)
    failed.request("GET", "/boom")
    assert failed.getresponse().status == 500
    one.wait_for_log("RuntimeError: boom")  # all of another failure stays
    log = one.log()
    assert "request 's' was cut, and its connection closed: operator" in log
    assert log.count("Traceback") == 1 and "Cancelled" not in log


@pytest.fixture
def cored(world):
    """An engine with processes beside its server, whose health is looked at when somebody asks."""
    one = world(health={"interval": "1h"})
    one.process = start(one, ASGI_ENGINE_HAS_A_CORE="1")
    return one


@pytest.mark.parametrize("stream", [True, False])
def test_an_error_of_an_engine_that_lives_is_let_go_by_its_checks(cored, stream):
    call = Call(cored.engine_port, "r", path="/fail", stream=stream, dead=False)
    answer = call.answer()
    shown = answer.read()
    assert b"the core says nothing" in shown and b"engine_dead" not in shown
    assert shown.endswith(b"data: [DONE]\n\n") if stream else answer.status == 500
    settled(cored, error=1)


@pytest.mark.parametrize("stream", [True, False])
def test_an_error_of_an_engine_that_its_check_finds_dead_is_its_death(cored, stream):
    call = Call(cored.engine_port, "r", path="/fail", stream=stream, dead=True)
    if stream:
        shown, broken = call.first_token().rest()
        assert broken
    else:
        answer = call.answer()
        shown = answer.read()
        assert answer.status == 503 and answer.getheader("Retry-After")
    assert b'"engine_dead"' in shown and b"core says" not in shown and b"[DONE]" not in shown
    assert cored.process.wait(timeout=PATIENCE) == 1
    assert cored.report()["requests"]["engine_dead"] == 1


def test_a_stop_hands_off_what_it_may_waits_for_the_rest_and_refuses_what_is_new(world):
    one = world(shutdown={"grace_period": "20s"})
    run = start(one, LASTCALL_ASGI_HAND_OFF="completions")
    waited_for = Call(one.engine_port, "chat", tokens=150).first_token()
    handed_off = Call(one.engine_port, "text", path="/v1/completions", tokens=10**6).first_token()
    for request_id in ("chat", "text"):
        wait_until_live(one, request_id)
    run.send_signal(signal.SIGTERM)
    one.wait_for_log('"phase begun","phase":"draining"')
    refused = Call(one.engine_port, "late").answer()
    assert (refused.status, refused.getheader("X-Lastcall-Reason")) == (503, "draining")
    assert int(refused.getheader("Retry-After")) >= 1
    error = json.loads(refused.read())["error"]
    assert (error["type"], error["retryable"], error["request_id"]) == ("draining", True, "late")
    text, broken = waited_for.rest()
    assert text.endswith(b"data: [DONE]\n\n") and not broken
    text, broken = handed_off.rest()
    assert broken and handed_off.error()["type"] == "migrated"
    assert run.wait(PATIENCE) == 0
    report = one.report()
    assert report["in_flight"] == "sdk"
    assert report["requests"]["completed"] == report["requests"]["migrated"] == 1


def test_a_restarted_supervisor_receives_the_requests_again_and_can_cancel(world):
    one = world()
    start(one)
    stream = Call(one.engine_port, "s", tokens=100_000).first_token()
    wait_until_live(one, "s")
    first = one.supervisor_pid()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: one.supervisor_pid() not in (0, first), "another supervisor")
    wait_until_live(one, "s")
    one.operator().ask("cancel", ids=["s"], mode="stop", reason="operator")
    _, broken = stream.rest()
    assert broken and stream.error()["retryable"] is False
    wait_until(lambda: "s" not in live(one), "the request ended")
    wait_until(lambda: seen(one)["let_go"] == 1, "the engine let go")


def test_each_worker_of_a_server_takes_part(world):
    one = world()
    start(one, "--workers", "2", "asgi_engine:app")
    peers = wait_until(lambda: [each for each in one.status()["peers"]
                                if each.get("name") == "uvicorn"][1:], "two peers")  # fmt: skip
    assert peers
    streams = [Call(one.engine_port, f"s{n}", tokens=100_000).first_token() for n in range(4)]
    wait_until(lambda: len(live(one)) == 4, "four requests")
    for stream in streams:
        stream.leave()
    settled(one, cancelled=4)
