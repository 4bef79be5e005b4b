"""The admin socket: questions, drains, watches; and what probes report meanwhile."""

import json
import os
import signal
import subprocess

import pytest
from serve_peer import PATIENCE, Peer, PeerError, wait_until
from serve_world import LASTCALL, SLEEPER
from traced import run_until, stopped_thread


def serving(one):
    one.wait_for_log('"phase begun","phase":"serving"')


def test_status_has_phase_engine_requests_and_health(served):
    peer = served.peer(name="vllm", sdk="python")
    peer.ask("endpoint.register", endpoint="generate", graceful_shutdown=True)
    peer.ask("request.begin", id="r", endpoint="generate", model="m")
    status = served.status()
    assert status["phase"] == "serving"
    assert status["ready"] is True
    assert status["engine"]["state"] == "running"
    assert status["engine"]["run_mode"] is True
    assert status["health"]["verdict"] == "healthy"
    assert status["in_flight"]["requests"] == 1
    assert status["endpoints"] == [
        {"name": "generate", "graceful_shutdown": True, "in_flight": 1, "peer": "vllm"}
    ]
    assert [p["name"] for p in status["peers"]] == ["vllm"]
    assert status["sockets"]["engine"] == served.socket


def test_the_status_for_people_merges_endpoints_without_a_name(served):
    for name in ("a", "b"):
        served.peer(name=name).ask("request.begin", id=name)
    done = subprocess.run(
        [LASTCALL, "status", "--admin-socket", served.admin_socket],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.stdout.count("(unnamed): 2, drains") == 1


def test_a_bare_terminal_may_ask_without_a_seq(served):
    operator = served.operator()
    operator.send("status")
    assert operator.expect("status")["status"]["phase"] == "serving"


def test_requests_come_in_pages_without_loss(served):
    peer = served.peer()
    for i in range(25):
        peer.ask("request.begin", id=f"r{i:02}", endpoint="generate")
    operator = served.operator()
    seen, after = [], {}
    while True:
        page = operator.ask("requests", limit=10, **after)
        seen += [row["id"] for row in page["requests"]]
        if "next" not in page:
            break
        after = {"after": page["next"]}
    assert seen == [f"r{i:02}" for i in range(25)]


@pytest.mark.parametrize("after", ["vllm-0/req-7", "y2", ":y2", "2:", "-2:y2", "2x:y2", " 2:y2"])
def test_an_invalid_cursor_is_an_error_and_not_the_first_page(served, after):
    peer = served.peer()
    peer.ask("request.begin", id="y2", endpoint="generate")
    with pytest.raises(PeerError, match="bad_field.*after"):
        served.operator().ask("requests", after=after)


def test_a_drain_can_be_resumed_and_both_are_idempotent(served):
    served.peer().ask("endpoint.register", endpoint="generate")
    operator = served.operator()
    assert operator.ask("resume")["changed"] is False
    assert operator.ask("drain")["changed"] is True
    assert operator.ask("drain")["changed"] is False
    served.wait_for_phase("drained")
    assert served.get("/readyz")[0] == 503
    assert operator.ask("resume") == {"changed": True, "phase": "serving"}
    assert served.get("/readyz")[0] == 200
    assert served.process.poll() is None


def test_the_probes_show_a_phase_before_the_log_does(served):
    operator = served.operator()
    operator.ask("drain")
    served.wait_for_phase("drained")
    loop = served.supervisor_pid()
    with stopped_thread(loop):
        operator.send("resume")
        run_until(loop, lambda: served.log().count('"phase begun","phase":"serving"') == 2)
        assert served.get("/readyz")[0] == 200


def test_drain_with_exit_is_a_stop_and_cannot_be_resumed(served):
    peer = served.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    operator = served.operator()
    assert operator.ask("drain", exit=True)["changed"] is True
    with pytest.raises(PeerError, match="conflict"):
        operator.ask("resume")
    peer.ask("request.end", id="r", outcome="completed")
    assert served.process.wait(timeout=PATIENCE) == 0
    assert served.report()["cause"] == "operator"


def test_an_operator_cancels_a_request_by_its_root(served):
    peer = served.peer()
    peer.ask("request.begin", id="r", root="user-1", endpoint="generate")
    operator = served.operator()
    assert operator.ask("cancel", root="nobody")["changed"] is False
    assert operator.ask("cancel", root="user-1")["changed"] is True
    peer.expect("cancel", mode="stop", reason="operator", ids=["r"])


def orders(served):
    return [r for r in served.records() if r["msg"] == "operator's order"]


def test_the_log_names_the_requests_that_an_operator_has_cancelled(served):
    served.operator().ask("cancel", ids=[f"r{i}" for i in range(10)], mode="kill")
    served.wait_for_log("operator's order")
    [said] = orders(served)
    assert said["name"] == "test"
    assert said["command"] == "cancel --mode kill, 10 ids: r0 r1 r2 r3 r4 r5 r6 r7"
    assert said["effect"] == "nothing to do"


def test_every_order_is_recorded_with_its_operator_and_its_effect(served):
    peer = served.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    operator = served.operator()
    operator.ask("status")
    operator.ask("drain", exit=False, timeout_ms=60_000)
    operator.ask("resume")
    operator.ask("reload")
    operator.ask("drain", exit=True)
    with pytest.raises(PeerError, match="conflict"):
        operator.ask("resume")
    served.wait_for_log("operator's order", count=5)
    said = orders(served)
    assert [(r["command"], r["effect"]) for r in said] == [
        ("drain --timeout 60000ms", "done"),
        ("resume", "done"),
        ("reload", "done"),
        ("drain --exit", "done"),
        ("resume", "refused"),
    ]
    assert {(r["uid"], r["pid"]) for r in said} == {(os.geteuid(), os.getpid())}
    assert said[0]["detail"].startswith("phase ") and said[4]["detail"]


def test_an_unknown_operation_is_refused_with_a_reason(served):
    operator = served.operator()
    with pytest.raises(PeerError, match="unknown_op"):
        operator.ask("nonsense")


def test_an_engine_may_not_do_what_operators_do(served):
    with pytest.raises(PeerError, match="not_allowed"):
        served.peer().ask("drain", exit=True)
    assert served.status()["phase"] == "serving"


def test_a_peer_can_touch_only_its_own_requests(served):
    mine, other = served.peer(), served.peer()
    mine.ask("request.begin", id="r", endpoint="generate")
    with pytest.raises(PeerError, match="not_yours"):
        other.ask("request.end", id="r", outcome="completed")
    with pytest.raises(PeerError, match="duplicate_id"):
        mine.ask("request.begin", id="r", endpoint="generate")


def test_a_watch_receives_changes(served):
    operator = served.operator()
    operator.ask("watch")
    assert operator.expect("status")["status"]["in_flight"]["requests"] == 0
    served.peer().ask("request.begin", id="r", endpoint="generate")
    operator.expect_where(
        lambda m: m["op"] == "status" and m["status"]["in_flight"]["requests"] == 1, "the request"
    )


def test_probes_report_the_state_and_the_reason(served):
    assert served.get("/livez")[0] == 200
    assert served.get("/engine/livez")[0] == 200
    # The line in the log comes before the probes' listener has the state.
    wait_until(lambda: served.get("/readyz")[0] == 200, "ready")
    peer = served.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    served.process.send_signal(signal.SIGTERM)
    peer.expect("phase", phase="draining")
    wait_until(lambda: served.get("/readyz")[0] == 503, "not ready")
    assert "draining" in served.get("/readyz")[1]
    assert served.get("/livez")[0] == 200


def test_metrics_count_requests_once(served):
    peer = served.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    peer.ask("request.begin", id="child", parent="r", endpoint="generate")
    assert 'lastcall_requests_in_flight{endpoint="generate"} 1' in served.get("/metrics")[1]
    peer.ask("request.end", id="child", outcome="completed")
    peer.ask("request.end", id="r", outcome="completed")
    text = served.get("/metrics")[1]
    assert 'lastcall_requests_total{endpoint="generate",outcome="completed"} 1' in text
    assert 'lastcall_requests_in_flight{endpoint="generate"} 0' in text
    assert 'lastcall_phase{phase="serving"} 1' in text


def test_a_request_that_is_rejected_for_a_drain_has_that_reason(served):
    peer = served.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    served.process.send_signal(signal.SIGTERM)
    peer.expect("phase", phase="draining")
    peer.send("request.begin", id="late", endpoint="generate", admit=True)
    assert peer.expect("rejected", id="late")["reason"] == "draining"


def test_every_step_is_one_line_of_json_at_debug_level(world):
    one = world(log={"level": "debug"})
    run = one.run(*SLEEPER)
    serving(one)
    run.send_signal(signal.SIGTERM)
    assert run.wait(timeout=PATIENCE) == 0
    steps = [record for record in one.records() if record["msg"] == "step"]
    assert steps[0]["event"] == {"type": "supervisor_started"}
    kinds = {step["event"]["type"] for step in steps}
    assert {"shim_hello", "engine_started", "stop_signal_held", "engine_exited"} <= kinds
    assert json.dumps(steps)


def test_a_peer_of_the_wrong_socket_is_refused(served):
    with pytest.raises(AssertionError):
        Peer(served.socket, role="operator")
