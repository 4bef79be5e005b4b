"""Real runs in which something goes wrong that an alert is for, a second at a time.

A scene is a generator over a World: at each `yield` the metrics are looked at, so that what is
recorded holds the order of what happened, not its pace.
"""

import os
import signal

from serve_peer import wait_until
from serve_world import SLEEPER

PASSES = [{"name": "gate", "exec": {"command": ["/bin/true"]}}]


def look(times=3):
    for _ in range(times):
        yield


def ready(one):
    one.process = one.run(*SLEEPER)
    one.wait_for_phase("serving")


def quiet(make):
    """Requests that complete, and a clean stop."""
    one = make()
    ready(one)
    peer = one.peer()
    yield one
    for number in range(3):
        peer.ask("request.begin", id=f"r{number}", endpoint="generate")
        yield
        peer.ask("request.end", id=f"r{number}", outcome="completed")
        yield
    one.process.send_signal(signal.SIGTERM)
    yield from look(2)
    assert one.process.wait(timeout=30) == 0


def cut(make):
    """A stop whose time is over before a request is."""
    one = make(shutdown={"grace_period": "5s", "cleanup_reserve": "2s"})
    ready(one)
    peer = one.peer()
    yield one
    peer.ask("request.begin", id="long", endpoint="generate")
    yield from look()
    one.process.send_signal(signal.SIGTERM)
    one.wait_for_log('"phase ended","phase":"draining"')
    yield from look(2)


def lost(make):
    """An engine that dies with a request in flight."""
    one = make()
    one.config["shutdown"]["after_stop"] = "rearm"
    one.serve()
    shim = one.shim(*SLEEPER)
    one.wait_for_phase("serving")
    peer = one.peer()
    yield one
    peer.ask("request.begin", id="r", endpoint="generate")
    yield from look()
    peer.ask("fatal", reason="scene", detail="the core is gone")
    one.wait_for_log('"report"')
    yield from look(4)
    shim.wait(timeout=30)


def flapping(make):
    """An engine that ends again and again."""
    one = make()
    one.serve()
    yield one
    for _ in range(4):
        shim = one.shim("/bin/sleep", "1")
        one.wait_for_phase("serving")
        yield from look(2)
        assert shim.wait(timeout=30) == 1
        yield


def frozen(make):
    """An engine whose process is stopped."""
    one = make()
    one.run_engine("--rate", "50", checks=[{"name": "engine", "timeout": "100ms"}])
    yield one
    yield from look(2)
    os.kill(one.status()["engine"]["pid"], signal.SIGSTOP)
    wait_until(
        lambda: 'lastcall_engine_health{verdict="unresponsive"} 1' in one.get("/metrics")[1],
        "the verdict",
    )
    yield from look(6)


def unconfirmed(make):
    """A request that was stopped and goes on."""
    one = make()
    ready(one)
    peer = one.peer()
    yield one
    peer.ask("request.begin", id="r", endpoint="generate")
    peer.ask("cancel", ids=["r"])
    wait_until(lambda: "\nlastcall_cancels_overdue 1\n" in one.get("/metrics")[1], "the metric")
    yield from look(6)


def registry(make):
    """A registry that does not answer."""
    one = make(
        identity={"advertise": "http://127.0.0.1:1"},
        discovery=[{"http": {"url": "http://127.0.0.1:1/x"}, "name": "router"}],
    )
    ready(one)
    wait_until(lambda: "lastcall_registry_operations_total" in one.get("/metrics")[1], "a try")
    yield one
    yield from look(6)


def shimless(make):
    """An engine that no process holds."""
    one = make()
    one.config["health"]["checks"] = PASSES
    one.serve()
    one.wait_for_log("no shim is connected to")
    yield one
    yield from look(6)


def refusals(make):
    """More requests than there is room for."""
    one = make(admission={"engine_request_limit": 1, "queue_limit": 0})
    ready(one)
    peer = one.peer()
    yield one
    peer.ask("request.begin", id="first", endpoint="generate", admit=True)
    for number in range(30):
        peer.ask("request.begin", id=f"r{number}", endpoint="generate", admit=True)
        yield
    assert "lastcall_rejections_total" in one.get("/metrics")[1]


def longer_than_the_grace(make):
    """Requests that take longer than a stop may."""
    one = make(shutdown={"grace_period": "1s"})
    ready(one)
    peer = one.peer()
    yield one
    for number in range(4):
        peer.ask("request.begin", id=f"r{number}", endpoint="generate")
    wait_until(lambda: one.status()["in_flight"]["oldest_ms"] >= 2000, "the length that it takes")
    for number in range(4):
        peer.ask("request.end", id=f"r{number}", outcome="completed")
        yield
    yield from look(2)


# The alerts that fire at the end of each, and how many samples of the last second follow.
SCENES = {
    "quiet": (quiet, [], 60),
    "cut": (cut, ["LastcallDrainTimedOut", "LastcallRequestsHandedOff"], 0),
    "lost": (lost, ["LastcallRequestsLost"], 20),
    "flapping": (flapping, ["LastcallEngineFlapping"], 20),
    "frozen": (frozen, ["LastcallEngineFrozen"], 20),
    "unconfirmed": (unconfirmed, ["LastcallCancelsUnconfirmed"], 20),
    "registry": (registry, ["LastcallRegistryFailing"], 20),
    "shimless": (shimless, ["LastcallShimMissing"], 20),
    "refusals": (refusals, ["LastcallRefusals"], 0),
    "longer_than_the_grace": (longer_than_the_grace, ["LastcallGraceTooShort"], 80),
}
