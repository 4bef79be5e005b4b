"""preStop hooks of kind exec: `lastcall-shim --prestop` over the engine's Unix socket."""

import contextlib
import os
import signal
import socket
import subprocess

import pytest
from prestop_world import PrestopWorld
from serve_peer import PATIENCE, PeerError
from serve_world import SHIM


@pytest.fixture
def prestop(tmp_path):
    with contextlib.ExitStack() as stack:

        def make(**config):
            config.setdefault("lifecycle", {"http": False, "token": None})
            world = PrestopWorld(tmp_path, **config)
            stack.callback(world.close)
            return world

        yield make


def call(world, container="engine", **environment):
    process = subprocess.Popen(
        (SHIM, "--prestop", container, "--socket", world.socket),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    )  # fmt: skip
    world.processes.append(process)
    return process


def end_of(process):
    """The exit code and the output."""
    _, said = process.communicate(timeout=2 * PATIENCE)
    return process.returncode, said.decode()


def test_it_ends_when_the_drain_has_ended_and_no_port_is_open(prestop):
    world = prestop()
    world.begin()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", world.hooks_port))
    peer = world.peer()
    peer.ask("request.begin", id="r1", endpoint="generate")
    assert end_of(call(world, "supervisor")) == (0, "")
    hook = call(world)
    world.wait_for_call()
    world.wait_for_phase("draining")
    assert hook.poll() is None
    peer.ask("request.end", id="r1", outcome="completed")
    assert end_of(hook) == (0, "")
    world.wait_for_log(f'"preStop called","container":"engine","from":"uid {os.getuid()}"')
    assert world.status()["phase"] == "drained"


def test_a_supervisor_that_is_back_is_called_again(prestop):
    world = prestop()
    world.begin()
    peer = world.peer()
    peer.ask("request.begin", id="r1", endpoint="generate")
    call(world, "supervisor").wait(PATIENCE)
    hook = call(world)
    world.wait_for_call()
    world.supervisor.send_signal(signal.SIGKILL)
    world.supervisor.wait(PATIENCE)
    world.serve()
    world.wait_for_call(2)
    assert end_of(hook) == (0, "")  # the request went with its peer's connection


def test_without_a_supervisor_it_reports_that_and_lets_the_kubelet_go_on(prestop):
    world = prestop()
    code, said = end_of(call(world))
    assert code == 1
    assert f"no supervisor at {world.socket} as uid {os.getuid()}: No such file" in said


def test_hooks_that_are_not_enabled_are_refused(prestop):
    world = prestop(lifecycle={"enabled": False})
    world.begin()
    code, said = end_of(call(world))
    assert code == 1 and "lifecycle.enabled is false" in said
    assert world.status()["phase"] == "serving"


def test_a_frozen_supervisor_does_not_cost_the_engine_its_stop_signal(prestop):
    world = prestop()
    world.begin()
    world.supervisor.send_signal(signal.SIGSTOP)
    try:
        code, said = end_of(call(world, LASTCALL_POD_GRACE_SECONDS="2"))
    finally:
        world.supervisor.send_signal(signal.SIGCONT)
    assert code == 1 and "the pod's grace is nearly used up" in said


def test_a_supervisor_that_does_not_accept_costs_no_more_of_the_grace(full):
    done = subprocess.run(
        (SHIM, "--prestop", "engine", "--socket", full), capture_output=True, timeout=PATIENCE,
        env={**os.environ, "LASTCALL_POD_GRACE_SECONDS": "2"}, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert b"the pod's grace is nearly used up" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--prestop", "nobody"), "expected engine or supervisor"),
        (("--prestop",), "needs a value"),
        (("--prestop", "engine", "true"), "takes no command"),
        (("--prestop", "engine", "--socket", "/" + "x" * 108), "107 bytes"),
    ],
)
def test_bad_usage_is_one_line(arguments, complaint):
    done = subprocess.run((SHIM, *arguments), capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2
    assert complaint in done.stderr.decode() and done.stderr.count(b"\n") == 1


def test_an_engine_or_a_shim_may_not_call(prestop):
    world = prestop()
    world.begin()
    with pytest.raises(PeerError) as refused:
        world.peer().ask("prestop", container="engine")
    assert refused.value.code == "not_allowed" and world.status()["phase"] == "serving"
