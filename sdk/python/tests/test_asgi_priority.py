"""The cases of tests/contract/priority.jsonl, and that it is reported to the supervisor."""

import json
import os

import pytest
from asgi_server import Server, echo, run, wrap
from strict_supervisor import eventually

from lastcall.asgi_priority import priority_of

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))

with open(os.path.join(ROOT, "tests/contract/priority.jsonl"), encoding="utf-8") as file:
    CASES = [json.loads(line) for line in file]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_the_field_is_read_as_the_ingress_does(case):
    fields = [(b"Priority", value.encode()) for value in case["fields"]]
    found = priority_of([(b"host", b"u=7"), *fields])
    assert (3 if found is None else found) == case["priority"]


@pytest.mark.parametrize(("given", "sent"), [({"priority": "u=1, i"}, 1), ({}, None)])
def test_the_supervisor_receives_how_urgent_a_request_is(supervisor, client, given, sent):
    async def main():
        await Server(wrap(echo, client), x_request_id="r", **given).start().ends()

    eventually(lambda: client.connected)
    run(main)
    assert supervisor.wait("request.begin", id="r").get("priority") == sent
