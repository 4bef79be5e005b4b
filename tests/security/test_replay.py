"""Each case of the replay holds for lastcall; the table beside nginx and HAProxy is replay.py's."""

import os
import sys
import time

import pytest

sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import pod_cases  # noqa: E402
import wire_cases  # noqa: E402
from stage import Stage  # noqa: E402

PATIENCE = 20.0
# What a sanitizer's allocator keeps is not given back.
PLAIN = {pod_cases.memory_comes_back}
POD_CASES = [
    pytest.param(case, marks=pytest.mark.plain_build if case in PLAIN else ())
    for case in pod_cases.CASES
]


@pytest.fixture
def stage():
    with Stage() as made:
        yield made


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # old versions are the case
@pytest.mark.parametrize("case", POD_CASES, ids=lambda case: case.__name__)
def test_a_case_of_the_pod_holds(stage, case):
    assert case(stage)


@pytest.mark.parametrize("kind", ["header_cases", "control_cases", "corpus_cases"])
def test_cases_of_the_open_port_hold(stage, kind):
    """An answer that is late on a busy machine is asked for once more, and heard for longer."""
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
