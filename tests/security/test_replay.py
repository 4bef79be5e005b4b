"""Each case of the replay holds for lastcall; the table beside nginx and HAProxy is replay.py's."""

import io
import os
import re
import sys
import time

import pytest

sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import framing  # noqa: E402
import neighbour_cases  # noqa: E402
import pod_cases  # noqa: E402
import wire_cases  # noqa: E402
from stage import Stage  # noqa: E402

PATIENCE = 20.0
# What a sanitizer's allocator keeps is not given back.
PLAIN = {pod_cases.memory_comes_back, neighbour_cases.unread_answers}
POD_CASES = [
    pytest.param(case, marks=pytest.mark.plain_build if case in PLAIN else ())
    for case in (*pod_cases.CASES, *neighbour_cases.CASES)
]


@pytest.fixture
def stage():
    with Stage() as made:
        yield made


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # old versions are the case
@pytest.mark.parametrize("case", POD_CASES, ids=lambda case: case.__name__)
def test_a_case_of_the_pod_holds(stage, case):
    assert case(stage)


@pytest.mark.parametrize("kind", ["header_cases", "control_cases", "body_cases", "corpus_cases"])
def test_cases_of_the_open_port_hold(stage, kind):
    """An answer that is late on a busy machine is asked for once more, and awaited for longer."""
    ours = stage.ours()
    for case in getattr(wire_cases, kind)():
        quiet, end = 0.05, time.monotonic() + PATIENCE
        while (why := case.breaks(*ours.ask(case.data, quiet))) and time.monotonic() < end:
            quiet *= 4
        assert not why, f"{case.title}: {why}"


def test_a_case_that_does_not_hold_is_found(stage):
    """What nginx relays and lastcall must not breaks the same rules."""
    nginx = stage.nginx()
    if nginx is None:
        pytest.skip("nginx is not installed")
    cases = wire_cases.control_cases()
    broken = [case.title for case in cases if case.breaks(*nginx.ask(case.data))]
    assert "POST /sleep" in broken and "POST /v1/../sleep" in broken


class Said:
    """An answer with these statuses, on a connection that stays open."""

    is_closed = False

    def __init__(self, *statuses):
        self.statuses = statuses

    def final(self):
        return list(self.statuses)


def test_a_proxy_that_takes_every_request_line_for_a_request_is_found():
    hides = [case for case in (*wire_cases.body_cases(), *wire_cases.corpus_cases())
             if len(request_lines(case)) > len(framing.sent(case.data))]  # fmt: skip
    assert len(hides) > 40 and "a request in a body of a POST" in [each.title for each in hides]
    for case in hides:
        taken = [framing.Request(line + b" HTTP/1.1", b"") for line in request_lines(case)]
        assert case.breaks(Said(*[200] * len(taken)), taken), case.title


def request_lines(case):
    return re.findall(rb"([!-~]+ [!-~]+) HTTP/1\.", case.data)


def test_an_answer_behind_what_could_not_be_read_is_found():
    case = wire_cases.Case("9", "", wire_cases.request(), wire_cases.any_answer)
    requests = framing.sent(case.data)
    assert not case.breaks(Said(200, 400), requests)
    assert "behind a refusal" in case.breaks(Said(400, 200), requests)


def test_an_invalid_request_at_the_engine_is_found():
    case = wire_cases.Case("9", "", wire_cases.request(), wire_cases.any_answer)
    [whole] = framing.sent(case.data)
    bare = framing.read(io.BytesIO(case.data.replace(b"\r\n", b"\n")))
    assert bare.fault and case.breaks(Said(200), [bare])
    assert case.breaks(Said(200), [framing.Request(whole.head, b"more")])
    assert not case.breaks(Said(200), [whole])
