"""examples/two_tier: what cancels a request in the first tier stops it in the second one too."""

import os
import signal
import sys

import pytest
from asgi_world import ROOT, Call, live, metric, start, wait_until_live
from serve_peer import PATIENCE, wait_until

pytest.importorskip("uvicorn")
pytest.importorskip("fastapi")
pytest.importorskip("httpx")

EXAMPLE = os.path.join(ROOT, "examples", "two_tier")
PATHS = os.pathsep.join([EXAMPLE, os.path.join(ROOT, "sdk/python")])


@pytest.fixture
def tiers(world):
    """Two pods."""
    prefill = world(identity={"component": "prefill"})
    start(prefill, "--app-dir", EXAMPLE, "prefill:app")
    decode = world(identity={"component": "decode"})
    url = f"http://127.0.0.1:{prefill.engine_port}"
    decode.process = start(decode, "--app-dir", EXAMPLE, "decode:app", PREFILL_URL=url)
    return decode, prefill


def call(decode, request_id, **body):
    return Call(decode.engine_port, request_id, path="/v1/completions", **body)


def in_the_middle(tiers, request_id="user-1"):
    """A request that both tiers work on."""
    decode, prefill = tiers
    client = call(decode, request_id, blocks=10**6)
    assert client.answer().readline().startswith(b'data: {"prefilled"')
    wait_until_live(decode, request_id)
    [part] = wait_until(lambda: live(prefill).values(), "the second tier works on it")
    assert part["id"].startswith(f"{request_id}/") and part["root"] == request_id
    assert part["endpoint"] == "prefill"
    return client


def both_stopped(tiers, **reasons):
    for one, name in zip(tiers, ("decode", "prefill")):
        one.wait_for_log(f"{name}: ")
        assert " stopped after " in one.log()
        wait_until(lambda o=one: metric(o, "lastcall_cancels_unconfirmed") == 0 and not live(o))
        assert metric(one, "lastcall_cancels_total") == 1
        assert metric(one, "lastcall_cancels_total", reason=reasons[name]) == 1
        assert metric(one, "dynamo_component_cancellation_total") == 1
        # The user is a client of the first tier alone.
        is_users = name == "decode" and reasons[name] == "client_disconnect"
        assert metric(one, "dynamo_frontend_model_cancellation_total") == int(is_users)


def test_an_answer_comes_from_both_tiers(tiers):
    client = call(tiers[0], "user-1", blocks=2, tokens=3)
    client.answer()
    text, broken = client.rest()
    assert text.count(b"prefilled") == 2 and text.count(b"token") == 3
    assert text.endswith(b"data: [DONE]\n\n") and not broken
    for one in tiers:
        wait_until(lambda o=one: metric(o, "lastcall_requests_total", outcome="completed") == 1)
        assert metric(one, "lastcall_cancels_total") == 0


def test_a_client_that_leaves_stops_both_tiers_and_each_counts_it_once(tiers):
    in_the_middle(tiers).leave()
    both_stopped(tiers, decode="client_disconnect", prefill="client_disconnect")


def test_a_cancel_of_the_first_tier_stops_both(tiers):
    client = in_the_middle(tiers)
    tiers[0].operator().ask("cancel", root="user-1", mode="stop")
    client.text = b""
    _, broken = client.rest()
    assert broken and client.error()["request_id"] == "user-1"
    both_stopped(tiers, decode="operator", prefill="client_disconnect")


def test_a_first_tier_that_is_killed_stops_the_second(tiers):
    decode, prefill = tiers
    in_the_middle(tiers)
    started_by = {pid: command(pid) for pid in decode.processes_left()}
    [engine] = [pid for pid, line in started_by.items() if line.startswith(sys.executable)]
    os.kill(engine, signal.SIGKILL)
    prefill.wait_for_log("prefill: ")
    wait_until(lambda: metric(prefill, "lastcall_cancels_total") == 1)
    assert decode.process.wait(PATIENCE) == 1


def test_two_tiers_of_one_supervisor_count_one_request(world):
    one = world()
    prefill = start(one, "--app-dir", EXAMPLE, "prefill:app")
    port = one.engine_port
    decode = world()
    server = decode._start(
        (sys.executable, "-m", "uvicorn", "--port", "0", "--app-dir", EXAMPLE, "decode:app"),
        PYTHONPATH=PATHS, LASTCALL_SOCKET=one.socket, PREFILL_URL=f"http://127.0.0.1:{port}",
    )  # fmt: skip
    decode.wait_for_log("Uvicorn running on")
    decode.engine_port = int(decode.log().partition("Uvicorn running on http://127.0.0.1:")[2]
                             .split()[0])  # fmt: skip
    client = call(decode, "user-1", blocks=10**6)
    client.answer().readline()
    wait_until(lambda: len(live(one)) == 2, "both tiers work on it")
    assert {each["root"] for each in live(one).values()} == {"user-1"}
    assert one.status()["in_flight"]["requests"] == 1
    one.operator().ask("cancel", root="user-1", mode="stop")
    client.text = b""
    text, broken = client.rest()
    # Without the error event where the second tier's end was noticed before the cancel.
    assert broken and b"[DONE]" not in text
    wait_until(lambda: not live(one), "both ended")
    assert server.poll() is None and prefill.poll() is None


def command(pid):
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
