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


def test_peers_with_too_many_live_requests_together_are_refused_as_busy_with_one_warning(world):
    one = world(ipc={"max_requests_per_peer": 3, "max_requests": 5})
    one.run(*SLEEPER)
    one.wait_for_phase("serving")
    first, second, third = (one.peer(name=name) for name in ("first", "second", "third"))
    for peer, ids in ((first, "abc"), (second, "de")):
        for id_ in ids:
            peer.ask("request.begin", id=id_)
    for peer in (second, third, third):
        with pytest.raises(PeerError) as refused:
            peer.ask("request.begin", id="f")
        assert refused.value.code == "busy" and "all connections" in str(refused.value)
    assert one.status()["in_flight"]["requests"] == 5
    first.ask("request.end", id="a", outcome="completed")
    third.ask("request.begin", id="f")
    [warning] = [record for record in one.records() if "live requests" in record["msg"]]
    assert (warning["level"], warning["requests"]) == ("WARNING", 5)
    assert warning["key"] == "ipc.max_requests"


def test_endpoints_without_end_are_refused_as_busy(served):
    peer, other = served.peer(name="greedy"), served.peer(name="modest")
    for number in range(1024):
        peer.ask("endpoint.register", endpoint=f"e{number}")
    for each in (peer, other):
        with pytest.raises(PeerError) as refused:
            each.ask("endpoint.register", endpoint="one-more")
        assert refused.value.code == "busy"
    peer.ask("endpoint.register", endpoint="e0")  # it is there already
    peer.ask("endpoint.unregister", endpoint="e0")
    other.ask("endpoint.register", endpoint="generate")
