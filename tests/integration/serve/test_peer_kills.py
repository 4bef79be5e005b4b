"""Peers that are killed at random points: no request is lost sight of, none is counted twice."""

import json
import os
import subprocess

import pytest
from serve_peer import wait_until
from serve_world import BUILD, SLEEPER

STORM = os.path.join(BUILD, "tests/helpers/peer_storm")
IS_LONG = bool(os.environ.get("LASTCALL_TEST_LONG"))
KILLS, SEEDS = (2500, range(4)) if IS_LONG else (150, range(2))
PATIENCE = 240 if IS_LONG else 40


def figures(one):
    """{series: value} of the page; the labels of a series are part of its name."""
    lines = one.get("/metrics")[1].splitlines()
    return {name: float(value) for name, _, value in
            (line.rpartition(" ") for line in lines if not line.startswith("#"))}  # fmt: skip


def sum_of(page, name):
    return sum(value for series, value in page.items() if series.partition("{")[0] == name)


def counted(one, outcomes):
    page = figures(one)
    ended = {outcome: page.get(
        f'lastcall_requests_total{{endpoint="generate",outcome="{outcome}"}}', 0)
        for outcome in outcomes}  # fmt: skip
    return {
        "begun": sum_of(page, "dynamo_component_requests_total"),
        "cancels": sum_of(page, "lastcall_cancels_total"),
        "outcomes": ended,
    }


class Facts:
    """What is wrong when it does not come to the right sums."""

    def __init__(self, one, seed, expected):
        self.facts = one, seed, expected

    def __str__(self):
        one, seed, expected = self.facts
        return f"seed {seed}: {counted(one, expected['outcomes'])} is {expected}"


@pytest.mark.parametrize("seed", SEEDS)
def test_peers_that_are_killed_at_random_points_leave_the_right_sums(world, seed):
    one = world(ipc={"reconnect_window": "1s"})
    one.run(*SLEEPER)
    one.wait_for_phase("serving")
    done = subprocess.run([STORM, one.socket, str(seed), str(KILLS), "32"],
                          capture_output=True, text=True, timeout=PATIENCE)  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = json.loads(done.stdout)
    assert expected["outcomes"]["lost"] > KILLS / 10

    def is_over():
        return not one.status()["in_flight"]["requests"]

    wait_until(is_over, f"nothing in flight after seed {seed}", patience=PATIENCE)
    wait_until(lambda: counted(one, expected["outcomes"]) == expected,
               Facts(one, seed, expected), patience=PATIENCE)  # fmt: skip
    assert sum_of(figures(one), "lastcall_ipc_errors_total") == 0
    assert one.operator().ask("requests")["requests"] == []
    assert sum_of(figures(one), "lastcall_cancels_unconfirmed") == 0
