"""A registry that hangs while it is connected to: nothing else of the supervisor waits for it."""

import contextlib
import signal
import time

import pytest
from hanging_servers import Deaf, Mute, SilentDns
from http_service import HttpService
from mounts import in_own_mounts
from serve_peer import PATIENCE, holds_for, wait_until
from serve_world import SLEEPER

# A lookup hangs for 10 s and more.
PROMPT = 4.0


@pytest.fixture
def opened():
    with contextlib.ExitStack() as stack:
        yield lambda what: stack.enter_context(contextlib.closing(what))


def hang_in(step, opened, tmp_path):
    """The URL's beginning and what to start the supervisor through."""
    if step == "lookup":
        return "http://registry.test:9", in_own_mounts(opened(SilentDns(tmp_path)).mounted)
    if step == "connect":
        return f"http://127.0.0.1:{opened(Deaf()).port}", ()
    return f"https://127.0.0.1:{opened(Mute()).port}", ()


def registry_at(kind, url):
    if kind == "etcd":
        return {"etcd": {"endpoints": [url]}}
    return {"http": {"url": url + "/instances", "timeout": "1m"}}


def start(world, registry, wrapped, **environment):
    one = world(
        identity={"advertise": "http://10.0.0.7:8000"},
        shutdown={"grace_period": "30s", "deregister_timeout": "1s"},
        discovery=[registry],
        health={"checks": []},
    )
    one.wrapped = wrapped
    one.process = one.run(*SLEEPER, LASTCALL_POD_UID="pod-1", **environment)
    one.wait_for_log('"phase begun","phase":"serving"')
    return one


def is_prompt(one):
    began = time.monotonic()
    assert one.status()["phase"] == "serving"
    assert one.get("/livez")[0] == 200
    return time.monotonic() - began < PROMPT


@pytest.mark.parametrize("step", ["lookup", "connect", "handshake"])
@pytest.mark.parametrize("kind", ["etcd", "http"])
def test_the_loop_lives_and_a_stop_keeps_its_budget(world, opened, tmp_path, kind, step):
    url, wrapped = hang_in(step, opened, tmp_path)
    one = start(world, registry_at(kind, url), wrapped)
    holds_for(lambda: is_prompt(one), 5)
    began = time.monotonic()
    one.process.send_signal(signal.SIGTERM)
    assert one.process.wait(timeout=2 * PATIENCE) == 0, one.log()[-4000:]
    # The stop has 30 s, and what hangs has longer ones.
    assert time.monotonic() - began < 15
    report = one.report()
    assert report["phases"]["deregistering"]["ms"] < 1000 + PROMPT * 1000
    assert report["registries"][0]["state"] == "failed"


def test_events_whose_server_has_no_address_delay_neither_the_loop_nor_the_end(
    world, opened, tmp_path
):
    wrapped = in_own_mounts(opened(SilentDns(tmp_path)).mounted)
    one = world(
        shutdown={"grace_period": "30s"},
        events={"nats": {"url": "nats://nats.test:4222"}},
        health={"checks": []},
    )
    one.wrapped = wrapped
    one.process = one.run(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    holds_for(lambda: is_prompt(one), 3)
    began = time.monotonic()
    one.process.send_signal(signal.SIGTERM)
    assert one.process.wait(timeout=2 * PATIENCE) == 0, one.log()[-4000:]
    assert time.monotonic() - began < 15
    assert one.report()["cleanup"]["events"]["outcome"] in ("timed_out", "failed")


def test_a_name_with_an_address_that_is_dead_is_reached_at_its_next_one(world, opened, tmp_path):
    service = opened(HttpService())
    port = int(service.url.rpartition(":")[2])
    opened(Deaf("127.0.0.99", port))
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.99 registry.test\n127.0.0.1 registry.test\n")
    one = start(
        world,
        {"http": {"url": f"http://registry.test:{port}/i"}},
        in_own_mounts(f"mount --bind {hosts} /etc/hosts"),
    )
    wait_until(lambda: service.requests, "it is posted to")
    one.wait_for_log('"state":"registered"')


def test_an_ingress_whose_engine_has_a_name_tells_that_it_is_looked_up(world, opened, tmp_path):
    """Nothing listens before that, so the log has to say why."""
    one = world(ingress={"listen": "127.0.0.1:0", "upstream": "engine.test:8000"})
    one.wrapped = in_own_mounts(opened(SilentDns(tmp_path)).mounted)
    serve = one.serve()
    one.wait_for_log('"looking up the engine\'s address","host":"engine.test"')
    serve.kill()


def test_a_stop_does_not_wait_for_the_lookup_of_the_engines_name(world, opened, tmp_path):
    one = world(ingress={"listen": "127.0.0.1:0", "upstream": "engine.test:8000"})
    one.wrapped = in_own_mounts(opened(SilentDns(tmp_path)).mounted)
    serve = one.serve()
    one.wait_for_log('"looking up the engine\'s address","host":"engine.test"')
    began = time.monotonic()
    serve.send_signal(signal.SIGTERM)
    assert serve.wait(timeout=PATIENCE) == 0, one.log()[-4000:]
    assert time.monotonic() - began < 8, "the lookup takes 10 s and more"
    assert '"cannot start"' not in one.log()
