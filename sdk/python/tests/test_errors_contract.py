"""The cases of tests/contract/error_events.jsonl, whose format its README describes."""

import json
import os

import pytest

from lastcall import error_body, sse_error

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))

with open(os.path.join(ROOT, "tests/contract/error_events.jsonl"), encoding="utf-8") as file:
    CASES = [json.loads(line) for line in file]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["kind"])
def test_the_error_object_is_the_one_of_every_sdk(case):
    sent = {key: case[key] for key in ("events_sent", "bytes_sent", "reason") if key in case}
    status = {"status": case["status"]} if "status" in case else {}
    expected = {"error": case["error"]}
    assert error_body(case["kind"], case["request_id"], **sent, **status) == expected
    if not status:
        event = sse_error(case["kind"], case["request_id"], **sent)
        head, data = event.removesuffix(b"\n\n").split(b"\n")
        assert (head, data[:6]) == (b"event: error", b"data: ")
        assert json.loads(data[6:]) == expected
