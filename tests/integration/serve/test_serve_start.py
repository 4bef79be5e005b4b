"""What keeps a supervisor from starting, and what does not."""

import os
import signal
import socket
import subprocess
import sys

import pytest
from serve_peer import PATIENCE, answer_checks_until, wait_until
from serve_world import LASTCALL, SLEEPER

# A registry that is slow is not one that fails.
PATIENT = {"grace_period": "20s", "deregister_timeout": "6s"}


def serving(one):
    one.wait_for_log('"phase begun","phase":"serving"')


def test_a_probes_port_that_is_taken_is_a_clear_error(world):
    one = world()
    with socket.socket() as other:
        other.bind(("127.0.0.1", one.port))
        other.listen()
        serve = one.serve()
        assert serve.wait(timeout=PATIENCE) == 1
    assert f"127.0.0.1:{one.port}" in one.log()
    assert not os.path.exists(one.socket)


def test_a_live_socket_is_not_taken_over(world):
    one = world()
    one.serve()
    one.wait_for_log("lastcall serves")
    second = world(ipc={"socket": one.socket})
    assert second.serve().wait(timeout=PATIENCE) == 1
    assert one.socket in second.log()
    assert one.status()["phase"] in ("starting", "serving")


BECOME_WITH_A_SIGNAL_PENDING = """
import os, signal, sys
number = int(sys.argv[1])
signal.pthread_sigmask(signal.SIG_BLOCK, {number})
os.kill(os.getpid(), number)
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_that_comes_before_serve_handles_signals_is_obeyed(world, number):
    one = world()
    one.wrapped = (sys.executable, "-c", BECOME_WITH_A_SIGNAL_PENDING, str(int(number)))
    serve = one.serve()
    assert serve.wait(timeout=PATIENCE) == 0, one.log()
    assert not os.path.exists(one.socket)


def test_a_stale_socket_is_replaced(world):
    one = world()
    serve = one.serve()
    one.wait_for_log("lastcall serves")
    serve.kill()
    serve.wait()
    assert os.path.exists(one.socket)
    one.serve()
    one.wait_for_log("lastcall serves", 2)
    assert one.status()["sockets"]["engine"] == one.socket


def test_a_socket_path_that_is_too_long_is_a_clear_error(world):
    one = world()
    one.config["ipc"]["socket"] = "/tmp/" + "x" * 110 + "/l.sock"
    assert one.serve().wait(timeout=PATIENCE) in (1, 2)
    assert "107" in one.log()


def test_config_errors_end_serve_and_run_with_2_and_name_every_place(world):
    one = world()
    with open(one.path("bad.yaml"), "w") as file:
        file.write("shutdown: {grace_period: 5 parsecs}\nnonsense: 1\n")
    for command in (["serve"], ["run", "--", "true"]):
        done = subprocess.run(
            [LASTCALL, command[0], "--config", one.path("bad.yaml"), *command[1:]],
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert "bad.yaml:1:" in done.stderr and "bad.yaml:2:" in done.stderr


def test_run_without_a_command_is_bad_usage(world):
    one = world()
    done = subprocess.run(
        [LASTCALL, "run", "--config", one.write_config()],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "engine.command" in done.stderr


def test_run_takes_the_command_of_the_configuration(world):
    one = world(engine={"command": list(SLEEPER)})
    run = one._start((LASTCALL, "run", "--config", one.write_config()))
    serving(one)
    run.send_signal(signal.SIGTERM)
    assert run.wait(timeout=PATIENCE) == 0


def test_a_command_that_does_not_exist_is_127(world):
    assert world().run("/does/not/exist").wait(timeout=PATIENCE) == 127


def test_run_makes_a_directory_of_its_own_where_the_default_is_taken(world):
    one = world()
    del one.config["ipc"]["socket"], one.config["ipc"]["admin_socket"]
    runtime = one.path("xdg")
    os.mkdir(runtime)
    run = one._start(
        (LASTCALL, "run", "--config", one.write_config(), "--", *SLEEPER),
        XDG_RUNTIME_DIR=runtime, LASTCALL_TEST=one.directory,
    )  # fmt: skip
    serving(one)
    run.send_signal(signal.SIGTERM)
    assert run.wait(timeout=PATIENCE) == 0
    assert os.listdir(runtime) == []
    assert "ipc.admin_socket" not in one.log()


def test_a_file_registry_holds_the_instance_exactly_while_serving(world):
    one = world(shutdown=PATIENT)
    one.config["identity"] = {"advertise": "http://10.0.0.7:8080"}
    one.config["discovery"] = [{"file": {"directory": one.path("reg")}}]
    os.mkdir(one.path("reg"))
    run = one.run(*SLEEPER)
    serving(one)
    entries = lambda: [n for n in os.listdir(one.path("reg")) if n.endswith(".json")]  # noqa: E731
    wait_until(entries, "registered")
    wait_until(lambda: one.get("/readyz")[0] == 200, "ready")
    run.send_signal(signal.SIGTERM)
    assert run.wait(timeout=PATIENCE) == 0
    assert entries() == []
    assert [r["state"] for r in one.report()["registries"]] == ["confirmed"]


def test_an_sdk_that_registers_itself_is_asked_to_deregister(world):
    one = world(discovery=[{"ipc": {}}], shutdown=PATIENT)
    run = one.run(*SLEEPER)
    peer = one.peer()
    peer.ask("endpoint.register", endpoint="generate")
    serving(one)
    run.send_signal(signal.SIGTERM)
    peer.expect("deregister")
    peer.send("deregistered")
    peer.expect("cleanup")
    peer.send("cleanup.done")
    assert run.wait(timeout=PATIENCE) == 0
    assert [r["state"] for r in one.report()["registries"]] == ["confirmed"]


def test_an_exec_check_decides_when_the_engine_is_ready(world):
    one = world()
    flag = one.path("flag")
    one.config["health"]["checks"] = [
        {"name": "flag", "exec": {"command": ["/usr/bin/test", "-e", flag]}}
    ]
    run = one.run(*SLEEPER)
    one.wait_for_log("check has not passed yet")
    assert one.get("/readyz")[0] == 503
    assert not [r for r in one.records() if r["level"] == "WARNING" and "check" in r]
    open(flag, "w").close()
    serving(one)
    os.unlink(flag)
    assert run.wait(timeout=PATIENCE) == 1
    assert one.report()["cause"] == "dead"


def test_an_ipc_check_receives_dead_from_the_sdk(world):
    one = world()
    one.config["health"]["checks"] = [{"name": "sdk", "ipc": {}, "timeout": "500ms"}]
    run = one.run(*SLEEPER)
    peer = one.peer()
    answer_checks_until(
        lambda: '"phase begun","phase":"serving"' in one.log(), [peer], "healthy", "it serves"
    )

    def has_died():
        peer.answer_checks("dead", detail="cuda")
        return run.poll() is not None

    wait_until(has_died, "it ends")
    assert run.returncode == 1
    assert "cuda" in one.report()["detail"]


def refused(one, *options, code=1, lines=1):
    done = subprocess.run(
        [LASTCALL, "run", "--config", one.write_config(), *options, "--", "/bin/touch",
         one.path("ran")],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    # On a busy machine the shim also reports that the supervisor is late.
    said = [line for line in done.stderr.splitlines() if "cannot reach the supervisor" not in line]
    assert len(said) == lines
    assert not os.path.exists(one.path("ran"))
    return done.stderr


def test_run_refuses_a_probes_port_that_is_taken_before_anything_runs(world):
    one = world()
    with socket.socket() as other:
        other.bind(("127.0.0.1", one.port))
        other.listen()
        assert f"cannot listen on 127.0.0.1:{one.port}" in refused(one)


@pytest.mark.parametrize("key", ["ingress", "lifecycle"])
def test_run_starts_nothing_without_a_port_that_the_supervisor_needs(world, key):
    one = world()
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        one.config[key] = {
            "ingress": {"listen": taken, "upstream": "127.0.0.1:1"},
            "lifecycle": {"enabled": True, "listen": taken},
        }[key]
        assert f"cannot listen on {taken}" in refused(one, "--set", "log.level=error", lines=2)


FILES = {"cert_file": "/does/not/exist", "key_file": "/does/not/exist"}
CANNOT_START = {
    "ingress.tls": {"tls": FILES},
    "cannot look up does.not.exist.invalid": {"upstream": "does.not.exist.invalid:80"},
}


@pytest.mark.parametrize("why", CANNOT_START)
def test_run_starts_nothing_where_the_ingress_cannot_work(world, why):
    ingress = {"listen": "127.0.0.1:0", "upstream": "127.0.0.1:1", **CANNOT_START[why]}
    assert why in refused(world(ingress=ingress), "--set", "log.level=error", lines=2)


CANNOT_RUN = {
    "set identity.advertise, or POD_IP": {"file": {"directory": "/tmp"}},
    "KUBERNETES_SERVICE_HOST": {"kubernetes": {}},
}


@pytest.mark.parametrize("why", CANNOT_RUN)
def test_a_configuration_that_cannot_run_here_ends_run_with_2_and_starts_nothing(
    world, why, monkeypatch
):
    monkeypatch.delenv("POD_IP", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    one = world(discovery=[CANNOT_RUN[why]])
    assert why in refused(one, code=2, lines=2)


def test_a_configuration_that_only_run_itself_can_read_ends_it_with_2(world):
    one = world()
    done = subprocess.run(
        ["bash", "-c", '"$0" run --config <(cat "$1") -- touch "$2"', LASTCALL, one.write_config(),
         one.path("ran")],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "/dev/fd/" in done.stderr
    assert not os.path.exists(one.path("ran"))


@pytest.mark.parametrize("name", ["socket", "admin_socket"])
def test_run_refuses_a_socket_on_which_somebody_listens(world, name):
    first = world()
    first.serve()
    first.wait_for_log("lastcall serves")
    second = world(ipc={name: first.config["ipc"][name]})
    assert first.config["ipc"][name] in refused(second)
    assert first.status()["phase"] in ("starting", "serving")


def test_a_warning_of_the_configuration_is_logged_once_at_a_start(world):
    one = world(shutdown={"cleanup_reserve": "1s"})
    run = one.run(*SLEEPER)
    serving(one)
    assert one.log().count("shutdown.cleanup_reserve: 1s is less than") == 1
    run.send_signal(signal.SIGTERM)
    assert run.wait(timeout=PATIENCE) == 0


def test_kinds_of_registries_that_there_are_not_end_run_with_2(world):
    one = world(discovery=[{"consul": {"url": "http://127.0.0.1:1/"}}])
    assert one.run("/bin/touch", one.path("ran")).wait(timeout=PATIENCE) == 2
    assert "discovery[0]" in one.log()
    assert not os.path.exists(one.path("ran"))
