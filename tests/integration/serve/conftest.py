import pytest
from serve_world import SLEEPER, worlds


@pytest.fixture
def world(tmp_path_factory):
    """Makes worlds; nothing of them outlives the test, and a clean end leaves nothing by itself."""
    with worlds(lambda: tmp_path_factory.mktemp("w")) as make:
        yield make


@pytest.fixture
def served(world):
    """A world of `lastcall run` whose engine only sleeps, and which serves."""
    one = world()
    one.process = one.run(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    return one
