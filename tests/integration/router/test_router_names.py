"""Host names of workers are looked up off the loop, and again where an address may be another."""

import contextlib
import subprocess

import pytest
import router_world
from hanging_servers import SilentDns
from kinds_of_engines import KindOfEngine
from mounts import in_own_mounts
from router_world import Router
from serve_peer import wait_until
from sim_fleet import User

TOKENS = 8
NAME = "worker.test"


class Hosts:
    """The file that stands in for /etc/hosts, for one router alone."""

    def __init__(self, directory):
        self.path = directory / "hosts"
        self.resolv_conf = directory / "resolv.conf"
        self.resolv_conf.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        self.names()

    def names(self, *addresses):
        """In place: another file would not be the one that is mounted."""
        lines = "".join(f"{each} {NAME}\n" for each in addresses)
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("127.0.0.1 localhost\n" + lines)

    def mounted(self):
        return in_own_mounts(
            f"mount --bind {self.path} /etc/hosts\n"
            f"mount --bind {self.resolv_conf} /etc/resolv.conf"
        )


class Named(Router):
    def __init__(self, directory, hosts, port, **config):
        source = {"static": {"urls": [f"http://{NAME}:{port}"], "model": "m"}}
        super().__init__(directory, [source], **config)
        self.hosts = hosts

    def start(self):
        config = self.write_config()
        words = (*self.hosts.mounted(), router_world.ROUTER, "--config", config)
        self.process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            start_new_session=True,
        )  # fmt: skip
        wait_until(lambda: "the router listens" in self.log(), "the router listens")
        return self


@pytest.fixture
def hosts(tmp_path):
    return Hosts(tmp_path)


@pytest.fixture
def named(tmp_path_factory, hosts):
    made = []

    def make(port, **config):
        made.append(Named(tmp_path_factory.mktemp("r"), hosts, port, **config))
        return made[-1].start()

    yield make
    for one in made:
        one.close()


@pytest.fixture
def engines():
    """Two workers with one port, at two addresses."""
    first = KindOfEngine("text", host="127.0.0.2")
    made = [first, KindOfEngine("text", host="127.0.0.3", port=first.port)]
    yield made
    for each in made:
        each.close()


def status(one):
    body = {"model": "m", "prompt": "x", "max_tokens": 1, "stream": True}
    return one.ask("POST", "/v1/completions", body)[0]


def test_the_first_request_waits_for_the_name(named, hosts, engines):
    hosts.names("127.0.0.2")
    one = named(engines[0].port)
    assert status(one) == 200


def test_a_name_that_cannot_be_looked_up_at_first_is_asked_for_again(named, hosts, engines):
    one = named(engines[0].port, choosing={"skip_first": "10ms", "skip_most": "10ms"})
    assert status(one) == 503
    assert "a worker's name cannot be looked up" in one.log()
    hosts.names("127.0.0.2")
    wait_until(lambda: status(one) == 200, "it is found", patience=20)
    assert "a worker's name can be looked up again" in one.log()


def test_a_worker_that_is_reached_no_more_is_looked_up_again_at_once(named, hosts, engines):
    hosts.names("127.0.0.2")
    one = named(engines[0].port, timeouts={"lookup": "1h"},
                choosing={"skip_first": "10ms", "skip_most": "10ms"})  # fmt: skip
    assert status(one) == 200
    hosts.names("127.0.0.3")
    engines[0].close()
    wait_until(lambda: status(one) == 200, "the new address", patience=20)
    assert len(engines[1].bodies) == 1
    assert one.log().count("a worker's address has changed") == 1


def test_an_address_that_changes_is_found_in_time_and_what_runs_goes_on(named, hosts, engines):
    hosts.names("127.0.0.2")
    one = named(engines[0].port, timeouts={"lookup": "1s"})
    engines[0].may_die.clear()
    engines[0].dies_at = 3
    reader = User(one.port, "x", True, TOKENS, model="m")
    wait_until(lambda: "t2" in reader.text, "it has begun")
    hosts.names("127.0.0.3")
    wait_until(lambda: "a worker's address has changed" in one.log(), "it is told", patience=20)
    assert status(one) == 200
    assert len(engines[1].bodies) == 1
    engines[0].may_die.set()  # and the answer goes on at the new address
    assert reader.is_whole()


def test_a_lookup_that_fails_leaves_the_last_address(named, hosts, engines):
    hosts.names("127.0.0.2")
    one = named(engines[0].port, timeouts={"lookup": "1s"})
    assert status(one) == 200
    hosts.names()
    wait_until(lambda: "cannot be looked up" in one.log(), "it is told", patience=20)
    assert status(one) == 200
    assert one.log().count("cannot be looked up") == 1


def test_a_lookup_that_hangs_holds_nobody_up(named, hosts, engines, tmp_path):
    with contextlib.closing(SilentDns(tmp_path)) as dns:
        hosts.resolv_conf = dns.resolv_conf
        one = named(engines[0].port, timeouts={"connect": "300ms"})
        assert status(one) == 503  # resolv.conf would allow 40 s
        assert "cannot be looked up" not in one.log()
        assert one.stop() == 0
