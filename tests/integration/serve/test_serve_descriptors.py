"""Descriptors: the supervisor takes all it may have, its children get what it was started with."""

import os
import re
import resource
import signal
import socket

import pytest
from serve_peer import PATIENCE, holds_for, wait_until
from serve_world import SLEEPER

SOFT, RAISED = 700, 6000
NEEDED = 5136  # as many for clients of an ingress as for the sockets and the supervisor itself
HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

enough = pytest.mark.skipif(HARD != resource.RLIM_INFINITY and HARD < RAISED,
                            reason=f"this host allows {HARD} descriptors")  # fmt: skip


def limits(soft, hard):
    return ("sh", "-c", f'ulimit -Sn {soft} && ulimit -Hn {hard} && exec "$@"', "sh")


def lines_of(one, name):
    with open(one.path(name), encoding="ascii") as file:
        return set(file.read().split())


@enough
def test_the_supervisor_takes_its_hard_limit_and_no_child_does(world):
    one = world()
    one.wrapped = limits(SOFT, RAISED)

    def dump(name):
        return ["/bin/sh", "-c", f"ulimit -Sn >> {one.path(name)}; ulimit -Hn >> {one.path(name)}"]

    one.config["health"]["checks"] = [{"name": "limits", "exec": {"command": dump("check")}}]
    one.config["cleanup"] = {"hooks": [{"name": "limits", "command": dump("hook")}]}
    engine = (*dump("engine")[:2], dump("engine")[2] + "; exec " + " ".join(SLEEPER))
    run = one.run(*engine)
    one.wait_for_log('"phase begun","phase":"serving"')
    pid = one.supervisor_pid()
    # Not in the moment of a spawn, in which the limit is the child's.
    wait_until(lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE) == (RAISED, RAISED), "taken")
    run.send_signal(signal.SIGTERM)
    assert run.wait(timeout=PATIENCE) == 0
    for name in ("check", "hook", "engine"):
        assert lines_of(one, name) == {str(SOFT), str(RAISED)}, name
    assert not [record for record in one.records() if "needed" in record]


@enough
def test_more_peers_than_the_soft_limit_are_served(world):
    one = world()
    one.wrapped = limits(64, NEEDED)
    one.serve()
    for number in range(100):  # two descriptors each
        one.peer(name=f"p{number}")  # which waits for its welcome
    assert len(os.listdir(f"/proc/{one.supervisor_pid()}/fd")) > 64


def test_a_hard_limit_that_is_too_low_is_reported_with_numbers(world):
    one = world()
    one.wrapped = limits(256, 512)
    one.serve()
    one.wait_for_log("lastcall serves")
    [warning] = [r for r in one.records() if "needed" in r]
    assert (warning["limit"], warning["needed"], warning["connections"]) == (512, NEEDED, 48)
    pid = one.supervisor_pid()
    assert resource.prlimit(pid, resource.RLIMIT_NOFILE) == (512, 512)
    assert os.path.exists(one.socket)
    wait_until(lambda: one.status()["phase"] == "starting", "it serves all the same")


# A sanitizer needs descriptors of its own.
@pytest.mark.plain_build
@pytest.mark.parametrize("limit", [8, 10, 12])
def test_a_supervisor_that_gets_no_descriptor_says_so_and_is_not_started_again(world, limit):
    one = world()
    one.wrapped = limits(limit, limit)
    run = one.run(*SLEEPER)
    assert run.wait(timeout=PATIENCE) == 1
    [problem] = [record for record in one.records() if record["msg"] == "cannot start"]
    assert "too many open files" in problem["detail"].lower()
    assert one.log().count("not starting the command") == 1


# A sanitizer looks at memory through a pipe, and takes what it cannot look at for broken.
@pytest.mark.plain_build
@pytest.mark.parametrize("kind", ["tcp", "exec"])
def test_an_engine_that_nobody_could_ask_is_not_dead(world, kind):
    one, bad = world(), re.compile('"verdict":"(unresponsive|dead)"')
    engine = socket.create_server(("127.0.0.1", 0), backlog=1024)
    one.config["health"].update(unresponsive_after="1s", checks=[{"name": "it", kind: {
        "tcp": {"address": "127.0.0.1:%d" % engine.getsockname()[1]},
        "exec": {"command": ["/bin/true"]}}[kind]}])  # fmt: skip
    with engine:
        one.run(*SLEEPER)
        one.wait_for_log('"phase begun","phase":"serving"')
        pid = one.supervisor_pid()
        # Not in the moment of a spawn, in which the limit is the child's.
        wait_until(lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE)[0] > SOFT, "raised")
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (4, before[1]))
        one.wait_for_log("check 'it' could not be run")
        holds_for(lambda: not bad.search(one.log()), 2.5)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        one.wait_for_log('"check passes","check":"it"', count=2)
        assert one.status()["phase"] == "serving"
