"""Engines that know nothing of lastcall: what is in flight is read from their own gauges."""

import signal
import sys

import pytest
from in_time import unless_late
from ports import free_port
from serve_peer import PATIENCE, holds_for, wait_until
from serve_stream import Stream, call
from serve_world import ENGINE_SIM, lastcall


@pytest.fixture
def gauged(world):
    def start(*flags, kind="vllm", refresh="200ms", probe=None, health=None, **shutdown):
        budgets = {"grace_period": "60s", "drain_unknown": "10s", **shutdown}
        one = world(
            engine={"metrics": {"refresh": refresh}, "probe": probe or {}},
            shutdown=budgets, health=health or {}, log={"level": "debug"},
        )  # fmt: skip
        one.run_engine(*flags, kind=kind)
        return one

    return start


def outcome_of(report):
    return report["phases"]["draining"]["outcome"]


def running(one, count):
    wait_until(lambda: call(one.engine_port, "GET", "/sim/state")["running"] == count, "streams")


@pytest.mark.parametrize("kind", ["vllm", "sglang", "trtllm"])
def test_a_drain_lasts_until_the_streams_of_an_engine_without_sdk_have_ended(gauged, kind):
    def stopped():
        one = gauged("--rate", "20", kind=kind, drain_unknown="2s")
        streams = [Stream(one.engine_port, 80) for _ in range(3)]  # longer than drain_unknown
        running(one, 3)
        return one, one.stop(), [stream.finished() for stream in streams]

    # The machine is too slow for this test if the gauges could not be read for as long as
    # drain_unknown.
    one, report, texts = unless_late(stopped, lambda end: outcome_of(end[1]) == "timed_out")
    assert all("t79" in text and "[DONE]" in text for text in texts)
    assert report["in_flight"] == "gauges"
    assert outcome_of(report) == "completed"
    assert "the engine's gauges show what is in flight" in one.log()


def test_gauges_are_waited_for_as_long_as_a_reload_allows_the_engine_to_be_silent(gauged):
    one = gauged("--slow-metrics", "2", health={"unresponsive_after": "3s"})  # 1 s for its gauges
    one.config["health"]["unresponsive_after"] = "60s"
    one.write_config()
    assert lastcall("reload", "--admin-socket", one.admin_socket).returncode == 0
    one.operator().ask("drain", exit=False)
    one.wait_for_log("the engine's gauges show what is in flight")


def test_requests_that_wait_in_the_engine_hold_the_drain_too(gauged):
    one = gauged("--rate", "40", "--max-running", "1")
    streams = [Stream(one.engine_port, 40)]
    running(one, 1)
    streams.append(Stream(one.engine_port, 40))
    wait_until(lambda: call(one.engine_port, "GET", "/sim/state")["waiting"] == 1, "one waits")
    assert outcome_of(one.stop()) == "completed"
    assert all("[DONE]" in stream.finished() for stream in streams)


def test_a_request_that_comes_late_after_drained_holds_a_stop_that_joins(gauged):
    one = gauged("--rate", "20")
    one.operator().ask("drain", exit=False)
    one.wait_for_phase("drained")
    stream = Stream(one.engine_port, 80)  # nothing refuses it without an ingress
    running(one, 1)
    wait_until(lambda: one.status()["in_flight"]["requests"] == 1, "the gauges are read on")
    assert one.stop()["exit_code"] == 0
    assert "[DONE]" in stream.finished()


def gauges_report(one):
    text = call(one.engine_port, "GET", "/metrics")
    lines = [line for line in text.splitlines() if line.startswith("vllm:num_requests")]
    return sum(float(line.split()[-1]) for line in lines)


def in_first_prefill(one, tokens=20, rank=0):
    """A request whose prefill started from idle: the gauges do not know of it."""
    stream = Stream(one.engine_port, tokens, {"X-data-parallel-rank": rank})
    running(one, 1)
    assert gauges_report(one) == 0
    return stream


@pytest.mark.parametrize("rank", [0, 1])
def test_a_request_in_its_first_prefill_when_the_stop_comes_is_finished(gauged, rank):
    one = gauged("--late-gauges", "--prefill", "4", "--rate", "40", drain_unknown="30s")
    stream = in_first_prefill(one, rank=rank)
    report = one.stop()
    text = stream.finished()
    assert "t19" in text and "[DONE]" in text
    assert (outcome_of(report), report["in_flight"]) == ("completed", "gauges")
    assert report["phases"]["draining"]["ms"] >= 2_000


def test_beside_its_engine_too_a_request_in_its_first_prefill_is_finished(world):
    port = free_port()
    one = world(engine={"kind": "vllm", "url": f"http://127.0.0.1:{port}",
                        "metrics": {"refresh": "200ms"}},
                shutdown={"grace_period": "60s", "drain_unknown": "30s"})  # fmt: skip
    one.engine_port = port
    one.serve()
    shim = one.shim(sys.executable, ENGINE_SIM, "--port", str(port), "--kind", "vllm",
                    "--late-gauges", "--prefill", "4", "--rate", "40")  # fmt: skip
    one.wait_for_log('"phase begun","phase":"serving"')
    stream = in_first_prefill(one)
    shim.send_signal(signal.SIGTERM)
    assert shim.wait(timeout=2 * PATIENCE) == 0
    assert "[DONE]" in stream.finished()
    wait_until(one.reports, "the report")
    assert (outcome_of(one.report()), one.report()["in_flight"]) == ("completed", "gauges")


def test_a_first_prefill_of_several_steps_is_not_taken_for_our_own_request(gauged):
    """The first step's figures have the prefill alone: ours came while the core was busy."""

    def stopped():
        one = gauged("--late-gauges", "--prefill", "9", "--prefill-steps", "3", "--rate", "40",
                     drain_unknown="5s")  # fmt: skip
        stream = in_first_prefill(one)
        return one.stop(), stream.finished()

    # The machine is too slow for this test if a step of 3 s takes 5.
    report, text = unless_late(stopped, lambda end: outcome_of(end[0]) == "timed_out")
    assert "t19" in text and "[DONE]" in text
    assert (outcome_of(report), report["in_flight"]) == ("completed", "gauges")


def test_a_step_longer_than_drain_unknown_is_cut_and_never_reported_as_idle(gauged):
    """Nothing of it moves: only a peer that counts requests can tell it apart from a hang."""
    one = gauged("--late-gauges", "--prefill", "60", "--rate", "40", drain_unknown="2s")
    stream = in_first_prefill(one)
    report = one.stop()
    assert "[DONE]" not in stream.finished()
    assert (outcome_of(report), report["in_flight"]) == ("timed_out", "unknown")
    assert report["time_left_ms"] > 30_000


def test_a_load_counter_that_counts_holds_the_drain_without_a_request_of_our_own(gauged):
    one = gauged("--late-gauges", "--prefill", "4", "--rate", "40", "--load-tracking",
                 probe={"barrier": False, "canary": False}, drain_unknown="30s")  # fmt: skip
    stream = in_first_prefill(one)
    report = one.stop()
    assert "[DONE]" in stream.finished()
    assert (outcome_of(report), report["in_flight"]) == ("completed", "gauges")


@pytest.mark.parametrize("flags", [[], ["--load-tracking", "--api-servers", "2"]])
def test_gauges_at_zero_alone_prove_nothing(gauged, flags):
    one = gauged(*flags, probe={"barrier": False}, drain_unknown="2s")
    report = one.stop()
    assert (outcome_of(report), report["in_flight"]) == ("timed_out", "unknown")
    assert report["phases"]["draining"]["ms"] >= 2_000


def test_a_barrier_that_is_refused_leaves_the_drain_unknown(gauged):
    one = gauged("--completions-status", "404", drain_unknown="2s")
    report = one.stop()
    assert (outcome_of(report), report["in_flight"]) == ("timed_out", "unknown")
    assert report["phases"]["draining"]["ms"] >= 2_000
    assert "did not answer a request of one token with a token" in one.log()


def test_gauges_that_do_not_count_our_own_token_prove_nothing(gauged):
    """They stand at 0 beside a stream that runs, and the barrier is answered all the same."""
    one = gauged("--metrics", "still", "--rate", "20", drain_unknown="30s")
    stream = Stream(one.engine_port, 60)
    running(one, 1)
    one.process.send_signal(signal.SIGTERM)
    text = stream.finished()
    assert "t59" in text and "[DONE]" in text
    call(one.engine_port, "POST", "/sim/control", {"metrics": "true"})
    assert one.process.wait(timeout=2 * PATIENCE) == 0
    assert (outcome_of(one.report()), one.report()["in_flight"]) == ("completed", "gauges")


def test_each_rank_of_an_sglang_that_reads_the_header_answers_the_barrier(gauged):
    one = gauged("--dp-ranks", "--late-gauges", "--prefill", "4", "--rate", "40", kind="sglang",
                 drain_unknown="30s")  # fmt: skip
    stream = Stream(one.engine_port, 20, {"X-Data-Parallel-Rank": 1})
    running(one, 1)
    report = one.stop()
    text = stream.finished()
    assert "t19" in text and "[DONE]" in text
    assert (outcome_of(report), report["in_flight"]) == ("completed", "gauges")
    assert report["phases"]["draining"]["ms"] >= 2_000


@pytest.mark.parametrize(
    "kind, flags, why",
    [
        ("sglang", ["--no-rank-header"], "the engine ignores X-Data-Parallel-Rank"),
        ("sglang", ["--completions-status", "503"], "status 503"),
    ],
)
def test_a_barrier_that_cannot_reach_each_rank_leaves_the_drain_unknown(gauged, kind, flags, why):
    one = gauged("--dp-ranks", *flags, kind=kind, drain_unknown="2s")
    report = one.stop()
    assert (outcome_of(report), report["in_flight"]) == ("timed_out", "unknown")
    assert why in one.log()


def test_a_barrier_that_is_not_answered_leaves_the_drain_unknown(gauged):
    one = gauged("--late-gauges", drain_unknown="2s")
    call(one.engine_port, "POST", "/sim/control", {"hang": "core"})
    report = one.stop()
    assert (outcome_of(report), report["in_flight"]) == ("timed_out", "unknown")


def test_a_core_that_froze_while_idle_is_found_though_its_health_is_200(gauged):
    one = gauged("--late-gauges", health={"unresponsive_after": "2s"})
    call(one.engine_port, "POST", "/sim/control", {"hang": "core"})
    assert call(one.engine_port, "GET", "/health") == ""
    assert one.process.wait(timeout=2 * PATIENCE) == 1
    assert one.report()["cause"] == "wedged"
    assert "a request of one token was not answered" in one.report()["detail"]


def test_an_idle_engine_answers_its_canary_and_nobody_counts_it(gauged):
    one = gauged()
    one.wait_for_log('"request of one token","use":"canary","outcome":"generated"')
    assert call(one.engine_port, "GET", "/sim/state")["probes"] == 1
    nothing = {"requests": 0, "source": "unknown"}
    assert nothing.items() <= one.status()["in_flight"].items()
    assert one.status()["phase"] == "serving"


def test_an_engines_peers_receive_the_mark_of_the_supervisors_own_requests(gauged):
    one = gauged()
    mark = one.peer().welcome["probe"]
    one.wait_for_log('"request of one token","use":"canary","outcome":"generated"')
    assert call(one.engine_port, "GET", "/sim/state")["probe_mark"] == mark


def test_an_engine_that_answers_200_and_nothing_gets_no_requests_until_it_answers(gauged):
    one = gauged("--completions-status", "200")
    one.wait_for_log("a request of one token was answered with status 200 and an empty body")
    assert one.get("/readyz")[0] == 503
    call(one.engine_port, "POST", "/sim/control", {"completions_status": 0})
    wait_until(lambda: one.get("/readyz")[0] == 200, "the next canary", patience=4 * PATIENCE)


WITHHELD = '"request of one token","use":"canary","outcome":"withheld"'


@pytest.mark.parametrize("flag", ["--sleeping", "--paused"])
def test_an_engine_that_sleeps_or_is_paused_gets_no_canary(gauged, flag):
    one = gauged(flag)
    one.wait_for_log(WITHHELD)
    assert call(one.engine_port, "GET", "/sim/state")["probes"] == 0
    assert (one.status()["phase"], one.status()["health"]["verdict"]) == ("serving", "healthy")


def test_an_engine_that_is_paused_under_its_canary_is_not_wedged(gauged):
    one = gauged("--no-paused", health={"unresponsive_after": "8s"})
    call(one.engine_port, "POST", "/sim/control", {"hang": "core"})
    probes = lambda: call(one.engine_port, "GET", "/sim/state")["probes"]  # noqa: E731
    wait_until(lambda: probes() == 1, "the canary")
    call(one.engine_port, "POST", "/sim/control", {"hang": None, "paused": True})
    one.wait_for_log(WITHHELD)
    assert one.status()["phase"] == "serving"
    wait_until(lambda: one.status()["health"]["verdict"] == "healthy", "its verdict")


def test_a_paused_engine_is_not_taken_for_an_idle_one_when_it_drains(gauged):
    one = gauged("--paused", "--late-gauges", drain_unknown="2s")
    report = one.stop()
    assert (outcome_of(report), report["in_flight"]) == ("timed_out", "unknown")
    line = "the request of one token is not sent: what is in flight stays unknown"
    assert line in one.log()


def test_work_that_an_idle_looking_engine_has_is_watched_though_nobody_counts(gauged):
    """A core that froze in the middle of work shows in its counters alone."""
    one = gauged("--rate", "20")
    Stream(one.engine_port, 100_000)
    running(one, 1)
    call(one.engine_port, "POST", "/sim/control", {"hang": "core"})
    read = lambda: call(one.engine_port, "GET", "/sim/state")["metrics_read"]  # noqa: E731
    wait_until(lambda: read() >= 4, "its counters are read on from the canary's look")
    expected = {"requests": 1, "source": "gauges"}
    assert expected.items() <= one.status()["in_flight"].items()
    call(one.engine_port, "POST", "/sim/control", {"hang": None})
    wait_until(lambda: one.status()["in_flight"]["source"] == "unknown", "it moves again")


def test_requests_that_time_cuts_are_reported_by_the_last_figure(gauged):
    one = gauged("--rate", "20", grace_period="6s", cleanup_reserve="2s")
    streams = [Stream(one.engine_port, 10_000) for _ in range(3)]
    running(one, 3)
    report = one.stop()
    assert (outcome_of(report), report["in_flight_at_end"]) == ("timed_out", 3)
    assert all("[DONE]" not in stream.finished() for stream in streams)


def test_streams_that_the_engine_aborts_look_finished_and_the_report_knows_better(gauged):
    one = gauged("--rate", "20", "--abort-on-term", grace_period="8s")
    streams = [Stream(one.engine_port, 100_000) for _ in range(3)]
    running(one, 3)
    report = one.stop()
    for text in (stream.finished() for stream in streams):
        assert '"finish_reason":"abort"' in text and text.rstrip().endswith("[DONE]")
    assert (outcome_of(report), report["in_flight_at_end"]) == ("timed_out", 3)
    assert (report["requests"]["completed"], report["engine"]["code"]) == (0, 0)


def test_a_server_that_waits_for_its_clients_without_its_core_is_ended_and_costs_no_code(gauged):
    one = gauged("--core", "--linger-on-term", "--metrics", "absent", drain_unknown="6s")
    stream = Stream(one.engine_port, 100_000)
    running(one, 1)
    report = one.stop()  # the drain takes longer than a process has to live to be no helper
    assert "[DONE]" not in stream.finished()
    assert (report["exit_code"], report["in_flight"]) == (0, "unknown")
    assert report["engine"]["signal"] == signal.SIGKILL
    assert report["time_left_ms"] > 30_000, "nobody waits for it until the deadline"
    assert "a process of the engine ended by itself" not in one.log()


def test_a_drain_that_ends_by_itself_has_nothing_in_flight_at_its_end(gauged):
    assert "in_flight_at_end" not in gauged().stop()


def test_an_idle_engine_is_proven_idle_one_refresh_period_apart(gauged):
    one = gauged(refresh="500ms", drain_unknown="20s")
    report = one.stop()
    assert report["in_flight"] == "gauges"
    assert outcome_of(report) == "completed"
    assert 500 <= report["phases"]["draining"]["ms"] < 20_000


def test_a_refresh_period_that_does_not_fit_leaves_it_unknown(gauged):
    one = gauged(refresh="30s", drain_unknown="500ms")
    report = one.stop()
    assert report["in_flight"] == "unknown"
    assert outcome_of(report) == "timed_out"


@pytest.mark.parametrize("lie", ["absent", "nan", "half", "garbage", "error", "flood"])
def test_gauges_that_cannot_be_read_are_unknown_and_never_zero(gauged, lie):
    one = gauged("--metrics", lie, drain_unknown="1s")
    report = one.stop()
    assert report["in_flight"] == "unknown"
    assert outcome_of(report) == "timed_out"
    assert report["phases"]["draining"]["ms"] >= 1_000
    assert "the engine's gauges cannot be read" in one.log()


def test_gauges_that_hang_do_not_hold_the_drain(gauged):
    one = gauged("--slow-metrics", "3600", drain_unknown="500ms")
    assert one.stop()["in_flight"] == "unknown"


def test_gauges_that_stand_still_hold_the_drain_until_its_time_is_up(gauged):
    def stopped():
        one = gauged("--rate", "40", grace_period="12s", cleanup_reserve="2s", drain_unknown="4s")
        stream = Stream(one.engine_port, 40)
        running(one, 1)
        call(one.engine_port, "POST", "/sim/control", {"metrics": "stale"})
        assert "[DONE]" in stream.finished()
        return one.stop()

    # The source is what could be read last: nothing is read in time on a machine that is late.
    report = unless_late(stopped, lambda report: report["in_flight"] == "unknown")
    assert outcome_of(report) == "timed_out"
    assert report["phases"]["draining"]["ms"] > 5_000
    assert report["in_flight"] == "gauges"


def test_status_has_the_engines_own_figure_during_a_drain(gauged):
    one = gauged("--rate", "20", drain_unknown="20s")
    Stream(one.engine_port, 10_000)
    running(one, 1)
    one.operator().ask("drain", exit=False)
    expected = {"requests": 1, "source": "gauges"}
    wait_until(lambda: expected.items() <= one.status()["in_flight"].items(), "the figure")
    one.operator().ask("resume")
    assert one.status()["in_flight"]["source"] == "unknown"


def test_an_engine_that_serves_is_not_asked_for_its_gauges(gauged):
    one = gauged()
    read = lambda: call(one.engine_port, "GET", "/sim/state")["metrics_read"]  # noqa: E731
    holds_for(lambda: read() == 0, 1)
    assert read() == 0
