"""What the tests of admission share: a supervisor with limits, and what it reports about them."""

from serve_world import SLEEPER


def serving(world, *command, **config):
    one = world(**config)
    one.process = one.run(*(command or SLEEPER))
    one.wait_for_log('"phase begun","phase":"serving"')
    return one


def limited(running, waiting, **more):
    return {"admission": {"engine_request_limit": running, "queue_limit": waiting, **more}}


def admission(world):
    return world.status()["admission"]
