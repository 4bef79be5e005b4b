"""What lastcall promises, beside a real vLLM: its gauges, its dying parts, its frozen core."""

import json
import os
import signal
import time

import pytest
from conftest import PATIENCE, wait_until
from serve_peer import holds_for

LONG_PROMPT = "the quick brown fox jumps over the lazy dog " * 600
SDK = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../sdk/python"))
MIDDLEWARE = ("--middleware", "lastcall.asgi.Middleware")


def test_a_request_in_its_first_prefill_at_term_is_answered_whole(vllm):
    # One step of this prefill takes longer than the usual 15 s where others use the machine, too.
    engine = vllm("slow", config={"shutdown": {"grace_period": "300s", "drain_unknown": "120s"}})
    answer = engine.ask(8, prompt=LONG_PROMPT)
    # The engine has the request, and nothing of it shows in its gauges.
    wait_until(lambda: engine.gauge("vllm:num_requests_running") == 0, "gauges can be read")
    assert answer.events() == 0
    assert engine.stop() == 0
    assert "[DONE]" in answer.finished(), answer.text[-500:]
    assert engine.report()["in_flight"] == "gauges"


def test_an_idle_engine_stops_without_waiting_for_drain_unknown(vllm):
    engine = vllm("small")
    assert engine.stop() == 0
    report = engine.report()
    assert report["in_flight"] == "gauges"
    assert report["phases"]["draining"]["outcome"] == "completed"
    assert report["phases"]["draining"]["ms"] < 10_000


def test_each_data_parallel_rank_answers_the_barrier(vllm):
    # With several API servers, its default here, there are no gauges before the first step.
    engine = vllm("small", "--data-parallel-size", "2", "--api-server-count", "1",
                  config={"log": {"level": "debug"}})  # fmt: skip
    assert engine.stop() == 0
    assert engine.report()["in_flight"] == "gauges"
    assert "did not answer a request of one token" not in engine.log()


def test_requests_that_a_drain_by_gauges_cuts_are_in_the_report(vllm):
    engine = vllm("small", config={"shutdown": {"grace_period": "12s"}})
    answers = [engine.ask(14_000) for _ in range(8)]
    wait_until(lambda: all(answer.events() > 2 for answer in answers), "streams run")
    code = engine.stop()
    report = engine.report()
    assert report["in_flight_at_end"] == 8
    # The engine's server may wait for its connections without end, so the test does not wait for
    # it.
    print(f"exit code {code}, engine {report['engine']}, {report['cleanup']['engine']}")
    assert code == 0, report


def test_a_core_that_froze_with_streams_that_nobody_counts_is_found(vllm):
    engine = vllm("small")
    answers = [engine.ask(14_000) for _ in range(2)]
    wait_until(lambda: all(answer.events() > 2 for answer in answers), "streams run")
    os.kill(engine.core(), signal.SIGSTOP)
    wait_until(lambda: engine.get("/readyz")[0] == 503, "not ready")
    # The engine is stopped for longer than the 15 s after which a stopped process that is not
    # missed is forgiven.
    holds_for(lambda: "unresponsive" in engine.get("/readyz?verbose")[1], 20)
    os.kill(engine.core(), signal.SIGCONT)
    wait_until(lambda: engine.get("/readyz")[0] == 200, "ready again")


def test_a_core_that_froze_while_idle_is_found(vllm):
    engine = vllm("small", config={"health": {"unresponsive_after": "10s"}})
    core = engine.core()
    os.kill(core, signal.SIGSTOP)
    started = time.monotonic()
    wait_until(lambda: engine.get("/readyz")[0] == 503, "not ready")
    took = time.monotonic() - started
    print(f"not ready {took:.1f} s after the core was frozen")
    assert engine.process.wait(timeout=PATIENCE) == 1
    assert engine.report()["exit_code"] == 1


def test_a_frozen_core_with_streams_is_not_ready_and_recovers(vllm):
    engine = vllm("small", ingress=True)
    first = engine.ask(8, port=engine.ingress_port)
    assert "[DONE]" in first.finished()
    answer = engine.ask(2000, port=engine.ingress_port)
    wait_until(lambda: answer.events() > 5, "a stream runs")
    core = engine.core()
    os.kill(core, signal.SIGSTOP)
    wait_until(lambda: engine.get("/readyz")[0] == 503, "not ready")
    refused = engine.ask(4, port=engine.ingress_port)
    refused.finished(PATIENCE)
    assert refused.status == 503, refused.text
    os.kill(core, signal.SIGCONT)
    wait_until(lambda: engine.get("/readyz")[0] == 200, "ready again")
    assert "[DONE]" in answer.finished()
    assert engine.stop() == 0


@pytest.mark.parametrize("stream", [True, False])
def test_requests_of_an_engine_whose_core_is_killed_end_as_engine_dead(vllm, stream):
    engine = vllm("small", ingress=True)
    answers = [engine.ask(3900, stream=stream, port=engine.ingress_port) for _ in range(3)]
    wait_until(lambda: engine.gauge("vllm:num_requests_running") == 3, "requests run")
    os.kill(engine.core(), signal.SIGKILL)
    assert engine.process.wait(timeout=PATIENCE) == 1
    for answer in answers:
        text = answer.finished(PATIENCE)
        assert "engine_dead" in text and "[DONE]" not in text, text[-500:]
    report = engine.report()
    assert report["requests"]["engine_dead"] == 3, report
    assert "EngineCore" in json.dumps(report), report


def test_clients_of_the_middleware_are_notified_of_the_cores_death(vllm):
    engine = vllm("small", *MIDDLEWARE, environment={"PYTHONPATH": SDK})
    answers = [engine.ask(14_000, stream=stream) for stream in (True, True, False)]
    wait_until(lambda: engine.gauge("vllm:num_requests_running") == 3, "requests run")
    os.kill(engine.core(), signal.SIGKILL)
    assert engine.process.wait(timeout=PATIENCE) == 1
    for answer in answers:
        text = answer.finished(PATIENCE)
        assert "engine_dead" in text and "[DONE]" not in text, text[-500:]
    assert engine.report()["requests"]["engine_dead"] == 3, engine.report()


def test_a_client_of_the_middleware_that_leaves_ends_its_unary_request(vllm):
    engine = vllm("small", *MIDDLEWARE, environment={"PYTHONPATH": SDK})
    answer = engine.ask(3900, stream=False)
    wait_until(lambda: engine.gauge("vllm:num_requests_running") == 1, "the request runs")
    answer.leave()
    wait_until(lambda: engine.gauge("vllm:num_requests_running") == 0, "it was aborted")
    assert engine.gauge("vllm:generation_tokens_total") < 3000
    assert engine.stop() == 0


def test_a_cancel_of_the_operator_ends_a_unary_request_of_the_middleware(vllm):
    engine = vllm("small", *MIDDLEWARE, environment={"PYTHONPATH": SDK},
                  config={"shutdown": {"grace_period": "6s"}})  # fmt: skip
    answer = engine.ask(3900, stream=False)
    wait_until(lambda: engine.gauge("vllm:num_requests_running") == 1, "the request runs")
    started = time.monotonic()
    engine.stop()
    print(f"stopped in {time.monotonic() - started:.1f} s")
    assert answer.finished(PATIENCE)
    report = engine.report()
    assert report["requests"]["migrated"] == 1, report
