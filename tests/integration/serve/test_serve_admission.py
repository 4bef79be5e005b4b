"""Admission over real sockets: N run, Q wait, the next is refused; hang-ups, resizes, drains."""

import os
import signal

import pytest
from serve_admission import admission, limited, serving
from serve_peer import PATIENCE, PeerError, wait_until
from serve_stream import Stream, call
from serve_world import merged


def metric(world, name):
    for line in world.get("/metrics")[1].splitlines():
        if line.startswith(name + " "):
            return float(line.split()[-1])
    raise AssertionError(f"no metric {name}")


def test_n_run_q_wait_and_the_next_is_refused_with_its_reason(world):
    one = serving(world, **limited(2, 1))
    peer = one.peer()
    for name in "abcd":
        peer.ask("request.begin", id=name, endpoint="generate", model="m", admit=True)
    peer.expect("admitted", id="a")
    peer.expect("admitted", id="b")
    refused = peer.expect("rejected", id="d")
    assert refused["reason"] == "overloaded"
    assert (refused["limit"], refused["count"]) == (3, 3)
    assert refused["retry_after_ms"] == 1000  # nothing was measured yet
    state = admission(one)
    assert (state["running"], state["waiting"]) == (2, 1)
    assert metric(one, "dynamo_engine_request") == 2
    assert metric(one, "dynamo_request_queue") == 1
    assert metric(one, "dynamo_rejection_request_total") == 1
    waits = {r["id"]: r["waiting"] for r in one.operator().ask("requests")["requests"]}
    assert waits == {"a": False, "b": False, "c": True}
    peer.ask("request.end", id="a", outcome="completed")
    peer.expect("admitted", id="c")
    text = one.get("/metrics")[1]
    assert 'dynamo_frontend_model_rejection_total{endpoint="generate",model="m"} 1' in text
    assert 'lastcall_requests_in_flight{endpoint="generate"} 2' in text


def test_a_waiter_that_hangs_up_frees_its_place_at_once(world):
    one = serving(world, **limited(1, 1))
    first, second, third = one.peer(), one.peer(), one.peer()
    first.ask("request.begin", id="a", admit=True)
    second.ask("request.begin", id="b", admit=True)
    second.close()
    wait_until(lambda: admission(one)["waiting"] == 0, "the waiter has left")
    third.ask("request.begin", id="c", admit=True)
    first.ask("request.end", id="a", outcome="completed")
    third.expect("admitted", id="c")
    assert admission(one)["running"] == 1


def test_a_cancelled_waiter_is_notified_and_never_admitted(world):
    one = serving(world, **limited(1, 2))
    peer = one.peer()
    for name in "abc":
        peer.ask("request.begin", id=name, admit=True)
    assert one.operator().ask("cancel", ids=["b"])["changed"] is True
    peer.expect("cancel", ids=["b"], reason="operator")
    peer.ask("request.end", id="a", outcome="completed")
    peer.expect("admitted", id="c")
    assert not [line for line in peer.lines if line.get("id") == "b"]


def test_a_wait_that_is_too_long_is_refused_for_that(world):
    one = serving(world, **limited(1, 1, queue_timeout="200ms"))
    peer = one.peer()
    for name in "ab":
        peer.ask("request.begin", id=name, endpoint="generate", admit=True)
    assert peer.expect("rejected", id="b")["reason"] == "queue_timeout"
    assert 'lastcall_rejections_total{reason="queue_timeout"} 1' in one.get("/metrics")[1]
    assert metric(one, 'lastcall_requests_in_flight{endpoint="generate"}') == 1


def test_urgent_requests_go_first_where_that_is_on(world):
    one = serving(world, **limited(1, 3, priorities=True))
    peer = one.peer()
    peer.ask("request.begin", id="a", admit=True)
    peer.ask("request.begin", id="usual", admit=True)
    peer.ask("request.begin", id="urgent", admit=True, priority=0)
    peer.ask("request.end", id="a", outcome="completed")
    peer.expect("admitted", id="urgent")
    with pytest.raises(PeerError, match="bad_field.*priority"):
        peer.ask("request.begin", id="x", admit=True, priority=8)


def test_requests_without_a_first_byte_are_a_limit_of_their_own(world):
    one = serving(world, admission={"engine_wait_limit": 1, "queue_limit": 2})
    peer = one.peer()
    for name in "ab":
        peer.ask("request.begin", id=name, admit=True)
    assert admission(one)["waiting"] == 1
    peer.ask("request.progress", ids=["a"])
    peer.expect("admitted", id="b")
    assert admission(one)["running"] == 2


def test_a_part_of_a_request_that_runs_is_not_admitted_again(world):
    one = serving(world, **limited(1, 0))
    front, engine = one.peer(), one.peer()
    front.ask("request.begin", id="r", admit=True)
    front.expect("admitted", id="r")
    engine.ask("request.begin", id="r.1", root="r", admit=True)
    engine.ask("request.begin", id="r.2", parent="r", admit=True)
    engine.expect("admitted", id="r.1")
    engine.expect("admitted", id="r.2")
    engine.ask("request.begin", id="other", admit=True)
    engine.expect("rejected", id="other")
    assert admission(one)["running"] == 1


def test_limits_are_set_while_requests_run_and_evict_nobody(world):
    one = serving(world)
    peer, operator = one.peer(), one.operator()
    for name in "abc":
        peer.ask("request.begin", id=name, admit=True)
        peer.expect("admitted", id=name)
    state = operator.ask("admission.set", engine_request_limit=1, queue_limit=1)
    assert (state["engine_request_limit"], state["running"]) == (1, 3)
    peer.ask("request.begin", id="d", admit=True)
    for name in "ab":
        peer.ask("request.end", id=name, outcome="completed")
    assert admission(one)["waiting"] == 1
    peer.ask("request.end", id="c", outcome="completed")
    peer.expect("admitted", id="d")
    peer.ask("request.begin", id="e", admit=True)
    state = operator.ask("admission.set", engine_request_limit=None)
    assert state["engine_request_limit"] is None
    peer.expect("admitted", id="e")


def test_limits_are_reloaded_and_an_operators_stay_where_the_file_has_none_new(world):
    one = serving(world, **limited(1, 1))
    one.operator().ask("admission.set", engine_request_limit=5)
    one.config["log"] = {"level": "debug"}
    one.write_config()
    one.operator().ask("reload")
    assert admission(one)["engine_request_limit"] == 5
    one.config["admission"]["queue_limit"] = 7
    one.write_config()
    assert {a["key"] for a in one.operator().ask("reload")["applied"]} == {"admission.queue_limit"}
    state = admission(one)
    assert (state["engine_request_limit"], state["queue_limit"]) == (5, 7)
    one.config["admission"]["engine_request_limit"] = 2
    one.write_config()
    one.operator().ask("reload")
    assert admission(one)["engine_request_limit"] == 2


def test_waiters_hold_a_drain_and_run_in_it(world):
    one = serving(world, **limited(1, 2))
    peer = one.peer()
    for name in "ab":
        peer.ask("request.begin", id=name, admit=True)
    one.operator().ask("drain")
    one.wait_for_phase("draining")
    peer.ask("request.begin", id="late", admit=True)
    assert peer.expect("rejected", id="late")["reason"] == "draining"
    peer.ask("request.end", id="a", outcome="completed")
    peer.expect("admitted", id="b")
    assert one.status()["phase"] == "draining"
    peer.ask("request.end", id="b", outcome="completed")
    one.wait_for_phase("drained")


def test_waiters_are_refused_when_the_time_of_a_stop_is_up(world):
    # Between TERM, at the half of it, and KILL there are 2.5 s.
    short = {"shutdown": {"grace_period": "7s", "cleanup_reserve": "3500ms"}}
    one = serving(world, **merged(limited(1, 2), short))
    peer = one.peer()
    for name in "ab":
        peer.ask("request.begin", id=name, admit=True)
    one.process.send_signal(signal.SIGTERM)
    peer.expect("phase", phase="draining")
    assert peer.expect("rejected", id="b")["reason"] == "draining"
    peer.expect("cancel", ids=["a"], reason="grace_timeout")
    peer.ask("request.end", id="a", outcome="cancelled")
    peer.send("cleanup.done")
    assert one.process.wait(timeout=PATIENCE) == 0
    assert one.report()["requests"]["rejected"] == 1


def test_after_a_restart_resumed_requests_keep_their_places_and_are_never_refused(world):
    one = serving(world, **limited(1, 1))
    before = one.peer(live=0)
    for name in "ab":
        before.ask("request.begin", id=name, admit=name == "a")  # b did not ask: it runs above
    first = one.supervisor_pid()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: one.supervisor_pid() not in (0, first), "another supervisor")
    again = one.peer(live=2)
    for name in "ab":
        again.ask("request.begin", id=name, resumed=True)
    again.ask("request.begin", id="c", admit=True)
    again.ask("request.begin", id="d", admit=True)
    assert again.expect("rejected", id="d")["reason"] == "overloaded"
    state = admission(one)
    assert (state["running"], state["waiting"]) == (2, 1)
    for name in "ab":
        again.ask("request.end", id=name, outcome="completed")
    again.expect("admitted", id="c")


# --- busy ----------------------------------------------------------------------------------------


def test_new_requests_are_refused_while_all_ranks_are_busy(world):
    one = serving(
        world, admission={"active_decode_blocks_threshold": 0.85, "load_max_age": "1s"}
    )
    peer = one.peer()
    peer.ask("load", dp_rank=0, active_decode_blocks=87, kv_total_blocks=100)
    peer.ask("load", dp_rank=1, active_decode_blocks=85, kv_total_blocks=100)
    peer.ask("request.begin", id="a", admit=True)
    peer.expect("admitted", id="a")  # rank 1 is not above
    peer.ask("load", dp_rank=1, active_decode_blocks=86, kv_total_blocks=100)
    peer.ask("load", dp_rank=0, active_decode_blocks=87, kv_total_blocks=100)
    peer.ask("request.begin", id="b", admit=True)
    refused = peer.expect("rejected", id="b")
    assert refused["reason"] == "overloaded"
    assert "limit" not in refused
    assert refused["detail"] == "active_decode_blocks of rank 0 is 0.87, above 0.85"
    assert one.get("/readyz")[0] == 200
    *_, begun = [record for record in one.records() if "a load threshold" in record["msg"]]
    assert (begun["figure"], begun["dp_rank"]) == ("active_decode_blocks", 0)
    assert (str(begun["value"]), str(begun["threshold"])) == ("0.87", "0.85")
    ranks = {rank["dp_rank"]: rank for rank in one.status()["load"]}
    assert sorted(ranks) == [0, 1]
    assert ranks[1]["active_decode_blocks"] == 86 and ranks[1]["above_threshold"] is True
    peer.ask("load", dp_rank=1, active_decode_blocks=99, kv_total_blocks=100)
    assert "lastcall_busy 1" in one.get("/metrics")[1] or not admission(one)["busy"]
    # No reports come any more: an old report proves nothing after a while.
    wait_until(lambda: not admission(one)["busy"], "reports that are too old")
    peer.ask("request.begin", id="c", admit=True)
    peer.expect("admitted", id="c")


@pytest.mark.parametrize("kind", ["vllm", "sglang", "trtllm"])
def test_the_engines_own_gauges_report_its_load_where_no_sdk_does(world, kind):
    one = world(admission={"active_decode_blocks_threshold": 0.001})
    one.run_engine("--rate", "5", kind=kind)
    assert not admission(one)["busy"]
    stream = Stream(one.engine_port, 40)
    wait_until(lambda: admission(one)["busy"], "load by the gauges")
    peer = one.peer()
    peer.ask("request.begin", id="runs")
    peer.ask("request.begin", id="a", admit=True)
    assert peer.expect("rejected", id="a")["reason"] == "overloaded"
    stream.finished()
    wait_until(lambda: not admission(one)["busy"], "an idle engine")
    peer.ask("request.begin", id="b", admit=True)
    peer.expect("admitted", id="b")


def test_gauges_that_stand_where_the_engine_stopped_lock_nobody_out(world):
    one = world(admission={"active_decode_blocks_threshold": 0.001})
    one.run_engine("--rate", "5", kind="sglang")
    stream = Stream(one.engine_port, 40)
    wait_until(lambda: admission(one)["busy"], "load by the gauges")
    call(one.engine_port, "POST", "/sim/control", {"metrics": "stale"})
    stream.finished()
    peer = one.peer()
    for name in ("a", "b"):
        peer.ask("request.begin", id=name, admit=True)
        peer.expect("admitted", id=name)
        peer.ask("request.begin", id=name + "2", admit=True)  # busy, with one that runs
        assert peer.expect("rejected", id=name + "2")["reason"] == "overloaded"
        peer.ask("request.end", id=name, outcome="completed")
    assert admission(one)["busy"]
    call(one.engine_port, "POST", "/sim/control", {"metrics": "true"})
    wait_until(lambda: not admission(one)["busy"], "an idle engine")


def test_a_load_report_without_blocks_leaves_them_to_the_gauges(world):
    one = world(admission={"active_decode_blocks_threshold": 0.001, "load_max_age": "1s"})
    one.run_engine("--rate", "5", kind="vllm")
    Stream(one.engine_port, 10_000)
    wait_until(lambda: admission(one)["busy"], "load by the gauges")
    peer = one.peer()
    peer.ask("load", dp_rank=0, active_prefill_tokens=5)
    assert admission(one)["busy"]
    peer.ask("load", dp_rank=0, active_decode_blocks=0, kv_total_blocks=100)
    assert not admission(one)["busy"]
    wait_until(lambda: admission(one)["busy"], "gauges, once the report of the SDK is too old")
