"""Lines that cannot be used, and agreement with docs/ipc.md."""

import concurrent.futures
import json
import os
import re

import pytest
from strict_supervisor import eventually

import lastcall
from lastcall import refused, wire

SDK = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@pytest.mark.parametrize(
    "line, code",
    [
        (b'{"op":"dance","seq":1}\n', "unknown_op"),
        (b'{"op":"cancel","ids":["r"],"mode":5,"reason":"control"}\n', "bad_field"),
        (b'{"op":"cancel","ids":["r"],"mode":"stop"}\n', "bad_field"),
        (b'{"op":"cancel","ids":[1],"mode":"stop","reason":"control"}\n', "bad_field"),
        (b'{"op":"cancel","ids":"r","mode":"stop","reason":"control"}\n', "bad_field"),
        (b'{"op":"phase","phase":"lunch"}\n', "bad_field"),
        (b'{"op":"cleanup","deadline_at_ms":true}\n', "bad_field"),
        (b'{"seq":4}\n', "bad_field"),
    ],
)
def test_a_bad_line_is_an_error_and_the_connection_stays(supervisor, client, line, code):
    eventually(lambda: client.connected)
    supervisor.send_raw(line)
    assert supervisor.wait("error")["code"] == code
    with client.begin("still-here"):
        supervisor.wait("request.begin", connection=1)


@pytest.mark.parametrize(
    "data, code",
    [(b"not json\n", "bad_json"), (b"[1]\n", "bad_json"), (b"\xff\n", "bad_json"),
     (b'{"op":"phase"} {}\n', "bad_json"),
     (b"x" * 70_000, "too_long")],
)  # fmt: skip
def test_an_unreadable_line_ends_the_connection(supervisor, client, data, code):
    eventually(lambda: client.connected)
    supervisor.send_raw(data)
    assert supervisor.wait("error")["code"] == code
    supervisor.wait("hello", connection=2)


def test_lines_may_arrive_in_any_pieces(supervisor, client):
    context = client.begin("r")
    eventually(lambda: client.connected)
    for byte in b'\n{"op":"cancel","ids":["r"],"mode":"kill","reason":"migrate"}\n':
        supervisor.send_raw(bytes([byte]))
    assert context.wait_stopped(10)
    assert context.reason == "migrate"


with open(os.path.join(SDK, "..", "..", "tests", "contract", "newer_words.jsonl")) as table:
    NEWER_WORDS = [json.loads(line) for line in table]


@pytest.mark.parametrize("case", NEWER_WORDS, ids=lambda case: case["case"])
def test_a_word_of_a_newer_supervisor(supervisor, client, case):
    """As tests/contract/README.md has it."""
    eventually(lambda: client.connected)
    becomes, asks = case["becomes"], case.get("asks", False)
    supervisor.admit, supervisor.acks = False, not asks
    with concurrent.futures.ThreadPoolExecutor(1) as elsewhere:
        begun = elsewhere.submit(client.begin, "r", admit=asks)
        question = supervisor.wait("request.begin")
        line = {"seq": question.get("seq"), **case["line"]}
        supervisor.send(**line)
        if "refused" in becomes:
            with pytest.raises(lastcall.Rejected) as caught:
                begun.result(10)
            assert caught.value.reason == becomes["refused"]
        else:
            context = begun.result(10)
    if line["op"] != "error":
        supervisor.wait("ack", seq=line["seq"])
    if "refused" not in becomes:
        check_state(supervisor, context, becomes)
    assert supervisor.all("error") == []


def check_state(supervisor, context, becomes):
    assert supervisor.connections == 1
    state = "killed" if context.is_killed() else "stopped" if context.is_stopped() else "live"
    assert (state, context.reason) == (becomes["state"], becomes.get("reason"))
    if "announced" in becomes:
        supervisor.hang_up()
        assert supervisor.wait("cancel", connection=2)["reason"] == becomes["announced"]
    context.end()


def documented(heading):
    """The example lines of docs/ipc.md below this heading, as (op, line)."""
    with open(os.path.join(SDK, "..", "..", "docs", "ipc.md")) as page:
        section = page.read().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith('{"op"')]
    return [(json.loads(line)["op"], line) for line in lines]


def test_every_documented_line_for_an_engine_is_understood(supervisor, client):
    for_shims_and_operators = {
        "remember", "will", "engine.start", "engine.signal", "exit", "status",
    }  # fmt: skip
    examples = [each for each in documented("From the supervisor")
                if each[0] not in for_shims_and_operators]  # fmt: skip
    assert len(examples) >= 10
    eventually(lambda: client.connected)
    for op, line in examples:
        supervisor.send_raw(line.encode() + b"\n")
    supervisor.send("health.check", seq=77)
    supervisor.wait("ack", seq=77)
    assert supervisor.all("error") == []


def test_the_closed_sets_are_those_of_the_documentation():
    with open(os.path.join(SDK, "..", "..", "docs", "ipc.md")) as page:
        table = page.read().split("\n## Closed sets\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("|")]
    sets = {row[0].strip(): set(re.findall(r"`([^`]+)`", row[1])) for row in rows}
    for name, words in (
        ("phase", wire.PHASES), ("mode", wire.MODES), ("reason", wire.REASONS),
        ("outcome", wire.OUTCOMES), ("health.status", wire.HEALTH),
        ("rejected.reason", wire.REFUSALS),
    ):  # fmt: skip
        assert sets[name] == words, name


def test_many_refusals_are_one_line_and_their_number(supervisor, client, caplog):
    eventually(lambda: client.connected)
    for i in range(1000):
        supervisor.send("error", code="busy", message="this connection has 20000 live requests")
        supervisor.send("error", code="not_yours", message=f"this connection has no '{i}'")
    supervisor.send("health.check")
    supervisor.wait("health")
    first = [record.getMessage() for record in caplog.records]
    assert len(first) == 2
    assert "busy" in first[0] and "not_yours" in first[1]
    supervisor.hang_up()
    supervisor.wait("hello", connection=2)
    counted = [record.getMessage() for record in caplog.records][2:]
    assert [text.partition(";")[0] for text in counted] == [
        "the lastcall supervisor refused 999 more"
    ] * 2
    assert "'999'" in counted[1]
    supervisor.send("error", code="busy", message="again")
    eventually(lambda: "again" in caplog.text)


def test_the_number_of_refusals_comes_later_and_the_next_one_is_the_first_again(caplog):
    rows = refused.Refused()
    for at in (0.0, 1.0, 2.0):
        rows.add("busy", f"at {at}", at)
    assert rows.tick(3.0) == refused.EVERY
    assert rows.tick(refused.EVERY) is None
    rows.add("busy", "anew", refused.EVERY)
    assert rows.tick(3 * refused.EVERY) is None  # nothing to count
    assert [record.getMessage() for record in caplog.records] == [
        "the lastcall supervisor refused a line: at 0.0",
        "the lastcall supervisor refused 2 more; the last: at 2.0",
        "the lastcall supervisor refused a line: anew",
    ]
