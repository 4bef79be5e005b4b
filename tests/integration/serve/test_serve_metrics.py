"""Families that count what rarely happens, made to happen."""

import os
import signal
import time

import pytest
from serve_peer import Peer, connect, wait_until
from serve_world import SLEEPER


def value(one, series):
    """The value of a series in a scrape; 0 while it is absent."""
    for line in one.get("/metrics")[1].splitlines():
        if line.startswith(series + " "):
            return float(line.rsplit(" ", 1)[1])
    return 0.0


def counts(one, series, what):
    wait_until(lambda: value(one, series) == 1, what)


def test_a_restarted_supervisor_counts_itself(served):
    series = 'lastcall_restarts_total{process="supervisor"}'
    assert value(served, series) == 0
    first = served.supervisor_pid()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: served.supervisor_pid() not in (0, first), "the next life")
    served.wait_for_phase("serving")
    counts(served, series, "the restart")


def test_the_next_shim_and_its_engine_are_counted(world):
    one = world()
    one.serve()
    first = one.shim(*SLEEPER)
    one.wait_for_phase("serving")
    assert value(one, 'lastcall_restarts_total{process="shim"}') == 0
    first.terminate()
    assert first.wait(timeout=20) == 0
    one.shim(*SLEEPER)
    counts(one, 'lastcall_restarts_total{process="shim"}', "the shim")
    counts(one, 'lastcall_restarts_total{process="engine"}', "the engine")
    assert value(one, 'lastcall_restarts_total{process="supervisor"}') == 0


def test_protocol_errors_and_the_drops_that_they_cause_are_counted(served):
    garbage = connect(served.socket)
    garbage.sendall(b"nonsense\n")
    counts(served, 'lastcall_ipc_errors_total{code="bad_json"}', "the error")
    counts(served, 'lastcall_ipc_peers_dropped_total{reason="protocol"}', "the drop")
    garbage.close()
    served.peer().send("dance")
    counts(served, 'lastcall_ipc_errors_total{code="unknown_op"}', "the error")
    with pytest.raises(AssertionError):
        Peer(served.socket, role="operator")
    counts(served, 'lastcall_ipc_peers_dropped_total{reason="not_allowed"}', "the refusal")


@pytest.mark.parametrize(
    ("said", "kind"), [({}, "unknown"), ({"stream": True}, "stream"), ({"stream": False}, "unary")]
)
def test_a_client_that_went_away_is_counted_with_its_model_and_type(served, said, kind):
    peer = served.peer()
    peer.ask("request.begin", id="r", endpoint="generate", model="m", **said)
    peer.ask("cancel", ids=["r"], reason="client_disconnect")
    series = (
        'dynamo_frontend_model_cancellation_total'
        f'{{endpoint="generate",model="m",request_type="{kind}"}}'
    )
    counts(served, series, "the client")
    peer.ask("cancel", ids=["r"], reason="client_disconnect")
    assert value(served, series) == 1


def test_a_cancel_that_nobody_confirms_is_overdue_after_a_while(served):
    peer = served.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    peer.ask("cancel", ids=["r"])
    assert value(served, "lastcall_cancels_overdue") == 0
    counts(served, "lastcall_cancels_overdue", "the cancel that hangs")
    peer.ask("cancel.done", id="r")
    wait_until(lambda: value(served, "lastcall_cancels_overdue") == 0, "it is confirmed")


def test_cancel_to_confirmation_is_measured_by_reason(served):
    def unconfirmed(count):
        wait_until(lambda: value(served, "lastcall_cancels_unconfirmed") == count, f"{count}")

    peer, operator = served.peer(), served.operator()
    for name in ("a", "b"):
        peer.ask("request.begin", id=name, endpoint="generate")
    before = time.monotonic()
    peer.ask("cancel", ids=["a"], reason="client_disconnect")
    operator.ask("cancel", ids=["b"])
    unconfirmed(2)
    began = time.monotonic()
    wait_until(lambda: time.monotonic() >= began + 0.3, "a while, which is measured")
    peer.ask("cancel.done", id="a")
    name, label = "lastcall_cancel_confirm_seconds", '{reason="client_disconnect"}'
    counts(served, f"{name}_count{label}", "the confirmed one")
    assert 0.3 <= value(served, f"{name}_sum{label}") <= time.monotonic() - before
    unconfirmed(1)
    assert value(served, name + '_count{reason="operator"}') == 0
    peer.ask("cancel.done", id="b")
    counts(served, name + '_count{reason="operator"}', "the operator's")
    unconfirmed(0)
    assert value(served, f"{name}_count{label}") == 1


def test_log_lines_do_not_take_unknown_for_none(served):
    served.process.terminate()
    assert served.process.wait(timeout=20) == 0
    begun = [r for r in served.records() if r["msg"] in ("stop begun", "phase begun")]
    assert begun and all(record["in_flight"] == "unknown" for record in begun)
