"""SIGHUP reads the configuration again: workers and what is live change, a bad one does not."""

import signal

from router_world import asks, static
from serve_peer import wait_until


def reload(one, **changes):
    one.config.update(changes)
    one.write_config()
    before = one.log().count("reload requested")
    one.process.send_signal(signal.SIGHUP)
    wait_until(lambda: one.log().count("reload requested") > before, "it was heard")


def test_a_model_that_a_reload_changes_is_no_conflict(router, engines):
    one = router({"static": {"urls": [f"http://{engines[0].address}"], "model": "m"}})
    reload(one, workers=[static(engines[0].address, model="n")])
    wait_until(lambda: b'"n"' in one.ask("GET", "/v1/models")[2], "the new model is there")
    assert "different models" not in one.log()
    assert b'"m"' not in one.ask("GET", "/v1/models")[2]


def test_workers_change_while_it_runs(router, engines):
    one = router(engines[0].address)
    asks(one, engines[0])
    reload(one, workers=[static(engines[1].address)])
    wait_until(lambda: "configuration reloaded" in one.log(), "it was read")
    for _ in range(3):
        asks(one, engines[1])
    assert not engines[0].has_arrived()
    reload(one, workers=[static(engines[1].address), static(engines[0].address)])
    wait_until(lambda: one.metric("lastcall_router_workers") == 2, "two are known")
    assert one.log().count("a worker has joined") == 3  # the one that stays has not come again
    assert one.stop() == 0


def test_keys_that_may_not_change_live_are_refused_by_name(router, engines):
    one = router(engines[0].address)
    reload(one, log={"level": "debug"}, limits={"max_body_size": 2048})
    wait_until(lambda: "configuration reloaded" in one.log(), "it was read")
    log = one.log()
    assert '"key":"log.level"' in log
    assert "configuration key not changed" in log
    assert '"key":"limits.max_body_size"' in log
    assert "needs a restart of the router" in log
    asks(one, engines[0])


def test_a_bad_configuration_leaves_the_old_one(router, engines):
    one = router(engines[0].address)
    reload(one, workers=[static(engines[1].address)], choosing={"attempts": 0})
    wait_until(lambda: "the old one stays" in one.log(), "it was refused")
    assert "choosing.attempts" in one.log()
    asks(one, engines[0])
    reload(one, workers=[], choosing={"attempts": 1})
    wait_until(lambda: one.log().count("the old one stays") == 2, "it was refused")
    asks(one, engines[0])
