"""A peer that begins requests without end."""

import pytest
from serve_peer import PeerError
from serve_world import SLEEPER


def test_a_peer_with_too_many_live_requests_is_refused_as_busy_with_one_warning(world):
    one = world(ipc={"max_requests_per_peer": 3})
    one.run(*SLEEPER)
    one.wait_for_phase("serving")
    peer, other = one.peer(name="greedy"), one.peer(name="modest")
    for number in range(3):
        peer.ask("request.begin", id=f"r{number}")
    for number in range(3, 20):
        with pytest.raises(PeerError) as refused:
            peer.ask("request.begin", id=f"r{number}", admit=bool(number % 2))
        assert refused.value.code == "busy"
    other.ask("request.begin", id="r3")  # each has its own limit
    assert one.status()["in_flight"]["requests"] == 4
    peer.ask("request.end", id="r0", outcome="completed")
    peer.ask("request.begin", id="r3")
    [warning] = [record for record in one.records() if "live requests" in record["msg"]]
    assert (warning["level"], warning["name"], warning["requests"]) == ("WARNING", "greedy", 3)
    assert warning["key"] == "ipc.max_requests_per_peer"
