"""An engine that serves while its shim cannot reach the supervisor, or the other way round."""

import os
import shutil
import signal
import socket
import tempfile

import pytest
from serve_peer import holds_for, wait_until
from serve_world import SLEEPER

PASSES = [{"name": "gate", "exec": {"command": ["/bin/true"]}}]


def lone(world, **config):
    """A supervisor whose checks pass, and no other process."""
    one = world(**config)
    one.config["health"]["checks"] = PASSES
    one.serve()
    one.wait_for_log('"phase begun","phase":"serving"')
    return one


def test_checks_that_pass_without_a_shim_are_a_warning_everywhere_and_no_reason_not_to_serve(world):
    one = lone(world)
    one.wait_for_log("no shim is connected to")
    status = one.status()
    assert status["engine"]["shim_missing"] is True
    assert [text for text in status["warnings"] if one.socket in text]
    said = "shim ok: warning: no shim is connected"
    wait_until(lambda: said in one.get("/readyz?verbose")[1], "the probe")
    assert one.get("/readyz") == (200, "ok\n")
    assert "\nlastcall_shim_missing 1\n" in one.get("/metrics")[1]


def test_the_warning_ends_when_the_shim_comes(world):
    one = lone(world)
    one.wait_for_log("no shim is connected to")
    one.shim(*SLEEPER)
    one.wait_for_log("the shim is no longer missing")
    assert one.status()["engine"]["shim_missing"] is False
    wait_until(lambda: "no shim" not in one.get("/readyz?verbose")[1], "the probe")
    wait_until(lambda: "\nlastcall_shim_missing 0\n" in one.get("/metrics")[1], "the metric")


def test_prestop_mode_has_no_shim(world):
    one = world(lifecycle={"enabled": True, "listen": "127.0.0.1:0"})
    one.config["health"]["checks"] = PASSES
    one.serve()
    one.wait_for_log('"phase begun","phase":"serving"')
    holds_for(lambda: "no shim is connected" not in one.log(), 6.5)


def test_a_stop_of_an_engine_that_no_supervisor_ever_saw_is_code_1(world):
    one = world()
    shim = one.shim(*SLEEPER, options=("--supervisor-timeout", "50ms"))
    one.wait_for_log("starting it without")
    shim.send_signal(signal.SIGTERM)
    assert shim.wait(timeout=20) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a shim of another user")
def test_a_shim_whose_user_may_not_connect_logs_why_and_its_stop_is_code_1(world):
    with tempfile.TemporaryDirectory() as place:  # where another user may look
        os.chmod(place, 0o755)
        one = world(ipc={"socket": f"{place}/l.sock", "mode": "0666"})
        one.socket = f"{place}/l.sock"
        one.config["health"]["checks"] = PASSES
        one.serve()
        one.wait_for_log("no shim is connected to")
        one.wrapped = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
        shim = one.shim(*SLEEPER, options=("--supervisor-timeout", "50ms"))
        refusal = 'answers with error "not_allowed" (asked as uid 65534)'
        one.wait_for_log(f"the supervisor at {one.socket} {refusal}")
        one.wait_for_log("starting it without")
        assert one.status()["engine"]["shim_missing"] is True
        said = "refused a connection of uid 65534, which ipc.allow_uids does not list"
        assert one.log().count(said) == 1
        shim.send_signal(signal.SIGTERM)
        assert shim.wait(timeout=20) == 1
        one.wrapped = ()


@pytest.mark.parametrize("how", ["moved", "removed"])
def test_a_socket_directory_that_is_replaced_is_bound_anew_until_the_shim_has_connected(world, how):
    one = lone(world)
    place = os.path.dirname(one.socket)
    if how == "moved":
        os.rename(place, place + ".old")
        os.mkdir(place)
    else:
        shutil.rmtree(place)
    one.wait_for_log(f"{one.socket} was removed or replaced: listening there again")
    one.shim(*SLEEPER)
    wait_until(lambda: one.status()["engine"]["shim"] == "connected", "the shim")
    assert one.log().count("removed or replaced") == 1


@pytest.mark.parametrize("how", ["file", "directory"])
def test_sockets_that_were_removed_are_there_again_for_operators_and_engines(served, how):
    kept = served.operator()
    for path in (served.socket, served.admin_socket):
        if how == "file":
            os.remove(path)
        else:
            shutil.rmtree(os.path.dirname(path))
    for path in (served.socket, served.admin_socket):
        served.wait_for_log(f"{path} was removed or replaced: listening there again")
    assert served.status()["engine"]["shim"] == "connected"
    served.peer().ask("request.begin", id="r", endpoint="generate")
    assert kept.ask("status")["in_flight"]["requests"] == 1


def test_a_socket_whose_place_is_taken_is_reported_once_and_left_alone(served):
    os.remove(served.socket)
    with socket.socket(socket.AF_UNIX) as taker:
        taker.bind(served.socket)
        taker.listen()
        text = f"cannot listen on {served.socket}: another process listens there"
        served.wait_for_log(text)
        served.operator().ask("reload")
        assert served.log().count(text) == 1
    os.remove(served.socket)
    served.wait_for_log(f"{served.socket} was removed or replaced: listening there again")
