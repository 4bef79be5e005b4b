"""Worlds of the real supervisor with its ingress, as those of tests/integration/serve."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, os.path.join(HERE, "../serve")]

import pytest  # noqa: E402
from ports import free_port  # noqa: E402
from raw_engine import RawEngine  # noqa: E402
from serve_world import SLEEPER, worlds  # noqa: E402


@pytest.fixture
def world(tmp_path_factory):
    """Makes worlds; nothing of them outlives the test."""
    with worlds(lambda: tmp_path_factory.mktemp("w")) as make:
        yield make


@pytest.fixture
def engine():
    """An engine whose answers are written by the test, byte by byte."""
    made = RawEngine()
    yield made
    made.close()


def pytest_generate_tests(metafunc):
    """The tests of a file that has THREADS run once with each number of `ingress.threads`."""
    if "threads" in metafunc.fixturenames and hasattr(metafunc.module, "THREADS"):
        metafunc.parametrize("threads", metafunc.module.THREADS, ids="threads={}".format)


@pytest.fixture
def threads():
    return 1


@pytest.fixture
def proxy(world, engine, threads):
    """Makes a supervisor whose ingress stands before `engine`; `wrapped` is what starts it."""

    def make(wrapped=(), **config):
        one = world(**config)
        one.wrapped = wrapped
        section = {"listen": f"127.0.0.1:{free_port()}", "upstream": engine.address,
                   "threads": threads}
        section.update(config.get("ingress", {}))
        one.config["ingress"] = {k: v for k, v in section.items() if v is not None}
        one.ingress_port = int(section["listen"].rpartition(":")[2])
        one.config["health"]["checks"] = []
        one.process = one.run(*SLEEPER)
        one.wait_for_log('"phase begun","phase":"serving"')
        return one

    return make
