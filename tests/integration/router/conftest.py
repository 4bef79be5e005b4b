"""Routers in front of engines that tests play, and of real workers."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
OTHERS = ("serve", "ingress", "registries")
sys.path += [HERE, *(os.path.join(HERE, "..", each) for each in OTHERS)]

import pytest  # noqa: E402
from etcd_server import Etcd  # noqa: E402
from kubernetes_cluster import Cluster  # noqa: E402
from raw_engine import RawEngine  # noqa: E402
from router_world import Router, static  # noqa: E402
from serve_world import worlds  # noqa: E402


@pytest.fixture
def world(tmp_path_factory):
    """Makes worlds; nothing of them outlives the test."""
    with worlds(lambda: tmp_path_factory.mktemp("w")) as make:
        yield make


def raw_engines():
    made = [RawEngine(), RawEngine()]
    yield made
    for each in made:
        each.close()


@pytest.fixture
def engines():
    """Two workers whose answers are written by the test, byte by byte."""
    yield from raw_engines()


@pytest.fixture
def more_engines():
    yield from raw_engines()


@pytest.fixture
def router(tmp_path_factory):
    """Starts routers; `workers` are addresses of workers of the model `m`, or whole sources."""
    made = []

    def make(*workers, **config):
        sources = [each for each in workers if isinstance(each, dict)]
        addresses = [each for each in workers if not isinstance(each, dict)]
        if addresses:
            sources.append(static(*addresses))
        one = Router(tmp_path_factory.mktemp("r"), sources, **config)
        made.append(one)
        return one.start()

    yield make
    for one in made:
        one.close()


@pytest.fixture
def etcd(tmp_path_factory):
    server = Etcd(str(tmp_path_factory.mktemp("etcd")))
    yield server
    server.close()


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    yield made
    made.api.close()
