"""After the exit nothing of a worker is left: in etcd, NATS, a directory of instances, /tmp."""

import contextlib
import json
import os
import signal
import urllib.request

import pytest
from nats_server import Nats
from ports import free_port
from registry_world import etcd_world
from serve_peer import PATIENCE, wait_until

# What engines leave: the sockets and segments of their processes, adapters that they unpacked.
MESSY = (
    "mkdir -p $TMPDIR/lora-1/sub; echo x > $TMPDIR/lora-1/sub/weights; echo x > $TMPDIR/zmq-7; "
    "sleep 3600 & exec sleep 3600"
)


class Monitored:
    """A NATS server that reports how many are connected."""

    def __init__(self, directory):
        port = free_port()
        self.server = Nats(directory, config=f'http: "127.0.0.1:{port}"')
        self._url = f"http://127.0.0.1:{port}/connz"

    def connections(self):
        with urllib.request.urlopen(self._url, timeout=PATIENCE) as answer:
            return json.load(answer)["num_connections"]

    def close(self):
        self.server.close()


def everything_below(directory):
    return {
        os.path.join(folder, name)
        for folder, folders, names in os.walk(directory)
        for name in folders + names
    }


def terminated(one):
    one.process.send_signal(signal.SIGTERM)
    return 0


def engine_killed(one):
    os.kill(one.status()["engine"]["pid"], signal.SIGKILL)
    return 1


def supervisor_killed_in_the_drain(one):
    peer = one.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    one.process.send_signal(signal.SIGTERM)
    one.wait_for_phase("draining")
    first = one.supervisor_pid()
    os.kill(first, signal.SIGKILL)
    peer.close()  # with what it had: a client of it is notified by the end of its connection
    return 0


@pytest.mark.parametrize("end", [terminated, engine_killed, supervisor_killed_in_the_drain])
def test_nothing_of_a_worker_is_left(world, etcd, tmp_path, end):
    with contextlib.closing(Monitored(str(tmp_path))) as nats:
        instances, scratch = tmp_path / "instances", tmp_path / "scratch"
        instances.mkdir()
        scratch.mkdir()
        one = etcd_world(
            world, etcd,
            etcd={"lease_ttl": "600s"},  # nothing ends by itself meanwhile
            events={"nats": {"url": nats.server.url}},
            cleanup={"paths": [f"{scratch}/lora-*", f"{scratch}/zmq-*"]},
        )  # fmt: skip
        one.config["discovery"].append({"file": {"directory": str(instances)}})
        before = everything_below(one.directory)
        one.process = one.run("/bin/sh", "-c", MESSY, TMPDIR=str(scratch))
        etcd.wait_for_key()
        wait_until(lambda: list(instances.glob("*.json")), "the file")
        wait_until(nats.connections, "the connection")
        wait_until((scratch / "zmq-7").exists, "the mess")
        one.wait_for_phase("serving")
        code = end(one)
        assert one.process.wait(timeout=2 * PATIENCE) == code, one.log()[-4000:]
        if not one.registries_were_late():  # test_etcd.py takes no such excuse
            assert (etcd.keys(), etcd.leases()) == ({}, set()), one.log()[-4000:]
        assert list(instances.iterdir()) == [], one.log()[-4000:]
        wait_until(lambda: nats.connections() == 0, "the connection has ended")
        assert list(scratch.iterdir()) == []
        wait_until(lambda: not one.processes_left(), "no process is left")
        left = everything_below(one.directory) - before
        assert {os.path.relpath(path, one.directory) for path in left} <= {
            "log", "lastcall.yaml", "e", "a",
        }, left  # fmt: skip
