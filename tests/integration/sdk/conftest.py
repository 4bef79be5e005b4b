"""Worlds of the real supervisor, as those of tests/integration/serve."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "../../.."))
sys.path += [HERE, os.path.join(HERE, "../serve"), os.path.join(ROOT, "sdk/python")]

import pytest  # noqa: E402
from cpp_build import call  # noqa: E402
from serve_world import BUILD, worlds  # noqa: E402


@pytest.fixture
def world(tmp_path_factory):
    """Makes worlds; nothing of them outlives the test."""
    with worlds(lambda: tmp_path_factory.mktemp("w")) as make:
        yield make


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """The SDK's part of `cmake --install`."""
    where = tmp_path_factory.mktemp("prefix")
    call("cmake", "--install", os.path.join(BUILD, "sdk", "cpp"), "--prefix", str(where))
    return str(where)
