import pytest
from serve_world import SLEEPER, World


@pytest.fixture
def world(tmp_path_factory):
    """Makes worlds; nothing of them outlives the test, and a clean end leaves nothing by itself."""
    made = []

    def make(**config):
        made.append(World(tmp_path_factory.mktemp("w"), **config))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def served(world):
    """A world of `lastcall run` whose engine only sleeps, and which serves."""
    one = world()
    one.process = one.run(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    return one
