"""The cases of tests/contract/engine_errors.jsonl, whose format its README describes."""

import json
import os

import pytest

from lastcall.engine_error import EngineError, error_of_answer, error_of_event

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))

with open(os.path.join(ROOT, "tests/contract/engine_errors.jsonl"), encoding="utf-8") as file:
    CASES = [json.loads(line) for line in file]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["event"][:40])
def test_an_event_is_read_as_the_proxy_reads_it(case):
    assert error_of_event(case["event"].encode()) is EngineError(case["is"])


@pytest.mark.parametrize("status, name, kind", [
    (500, b"x", "suspect"), (502, b"x", "suspect"), (503, b"x", "suspect"), (501, b"x", "complete"),
    (505, b"x", "complete"), (503, b"retry-after", "complete"),
    (503, b"x-lastcall-reason", "complete"),
    (429, b"x", "none"), (200, b"x", "none"),
])  # fmt: skip
def test_an_answer_is_read_as_the_proxy_reads_it(status, name, kind):
    assert error_of_answer(status, {name: b"1"}) is EngineError(kind)
