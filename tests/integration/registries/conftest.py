"""Worlds of the real supervisor, and real registries for them."""

import contextlib
import itertools
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, os.path.join(HERE, "../serve")]

import pytest  # noqa: E402
from etcd_server import Etcd  # noqa: E402
from kubernetes_cluster import Cluster  # noqa: E402
from serve_world import worlds  # noqa: E402


@pytest.fixture
def world(tmp_path_factory):
    """Makes worlds; nothing of them outlives the test."""
    with worlds(lambda: tmp_path_factory.mktemp("w")) as make:
        yield make


@pytest.fixture
def etcds(tmp_path_factory):
    """Makes etcd servers and clusters; they end with the test."""
    made = []

    def make(**options):
        made.append(Etcd(str(tmp_path_factory.mktemp("etcd")), **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def etcd(etcds):
    return etcds()


@pytest.fixture
def clusters(tmp_path):
    numbers = itertools.count()
    with contextlib.ExitStack() as opened:

        def make(**how):
            directory = tmp_path / f"cluster-{next(numbers)}"
            directory.mkdir()
            cluster = Cluster(directory, **how)
            opened.enter_context(contextlib.closing(cluster.api))
            return cluster

        yield make
