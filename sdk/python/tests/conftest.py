import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import lastcall  # noqa: E402
from strict_supervisor import FakeSupervisor  # noqa: E402


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "lastcall.sock")


@pytest.fixture
def supervisor(path):
    with FakeSupervisor(path) as fake:
        yield fake
    assert fake.violations == []


@pytest.fixture
def make_client(path):
    made = []

    def make(name="test", **options):
        client = lastcall.Client(name, socket=path, **options)
        made.append(client)
        return client

    yield make
    for client in made:
        client.close()


@pytest.fixture
def client(make_client):
    return make_client()
