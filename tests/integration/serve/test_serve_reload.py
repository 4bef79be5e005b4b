"""The configuration is read again: `lastcall reload` and SIGHUP at `serve`."""

import json
import os
import signal
import subprocess
import sys

import pytest
from serve_peer import PATIENCE, PeerError, wait_until
from serve_world import LASTCALL, SLEEPER


def serving(one):
    one.wait_for_log('"phase begun","phase":"serving"')


def reload(one, *options):
    return subprocess.run(
        [LASTCALL, "reload", "--admin-socket", one.admin_socket, *options],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def set_level(one, level):
    one.config["log"] = {"level": level}
    one.write_config()


def probe_steps(one):
    return one.log().count('"msg":"step"')


def test_the_log_level_changes_live(served):
    assert probe_steps(served) == 0
    set_level(served, "debug")
    done = reload(served)
    assert (done.returncode, done.stdout, done.stderr) == (0, "log.level: info -> debug\n", "")
    wait_until(lambda: probe_steps(served), "steps are logged")
    assert served.process.poll() is None


def test_a_reload_without_a_difference_reports_that(served):
    done = reload(served)
    assert (done.returncode, done.stdout, done.stderr) == (0, "nothing changed\n", "")


def test_limits_of_the_checks_change_live(world):
    one = world()
    flag = one.path("flag")
    open(flag, "w").close()
    one.config["health"] = {
        "interval": "50ms",
        "failure_threshold": 1000,
        "checks": [{"name": "flag", "exec": {"command": ["/usr/bin/test", "-e", flag]}}],
    }
    run = one.run(*SLEEPER)
    serving(one)
    os.unlink(flag)
    one.wait_for_log("check fails")
    assert run.poll() is None
    one.config["health"]["failure_threshold"] = 1
    one.write_config()
    done = reload(one)
    assert (done.returncode, done.stdout) == (0, "health.failure_threshold: 1000 -> 1\n")
    assert run.wait(timeout=PATIENCE) == 1
    assert one.report()["cause"] == "dead"


def test_keys_that_need_a_restart_are_refused_by_name_and_the_rest_is_applied(served):
    served.config["shutdown"]["late_accept"] = "75ms"
    served.config["ipc"]["reconnect_window"] = "3s"
    set_level(served, "debug")
    for attempt in range(2):  # a key that was refused differs still
        done = reload(served)
        assert done.returncode == 1
        assert done.stdout == ("log.level: info -> debug\n", "nothing changed\n")[attempt]
        why = "needs a restart of the supervisor, which the engine does not notice"
        assert done.stderr.splitlines() == [
            f"not changed: shutdown.late_accept: 50ms -> 75ms: {why}",
            f"not changed: ipc.reconnect_window: 2s -> 3s: {why}",
        ]
    assert served.log().count('"configuration key not changed","key":"shutdown.late_accept"') == 2


def test_a_bad_file_changes_nothing_and_every_error_is_printed_and_logged(served):
    set_level(served, "debug")
    with open(served.path("lastcall.yaml"), "w") as file:
        file.write("log: {level: loud}\nzebra: 1\n")
    done = reload(served)
    assert done.returncode == 2
    assert done.stdout == ""
    path = served.path("lastcall.yaml")
    first, second, last = done.stderr.splitlines()
    assert first.startswith(f"{path}:1:14: log.level: 'loud', expected trace")
    assert second.startswith(f"{path}:2:1: zebra: unknown key")
    assert "stays as it is" in last
    assert served.log().count('"msg":"configuration error"') == 2
    assert "the old one stays" in served.log()
    assert probe_steps(served) == 0
    assert served.status()["phase"] == "serving"


def test_a_file_that_vanished_is_an_error_and_not_the_defaults(served):
    os.unlink(served.path("lastcall.yaml"))
    done = reload(served)
    assert done.returncode == 2
    assert "No such file" in done.stderr


def test_a_pipe_in_its_place_is_an_error_and_not_the_defaults(served):
    os.unlink(served.path("lastcall.yaml"))
    os.mkfifo(served.path("lastcall.yaml"))
    done = reload(served)
    assert done.returncode == 2
    assert "lastcall.yaml: a pipe, expected a file" in done.stderr


def test_many_errors_fit_into_the_answer(served):
    with open(served.path("lastcall.yaml"), "w") as file:
        file.write("".join(f"key{'x' * 100}{i}: 1\n" for i in range(1000)))
    done = reload(served)
    assert done.returncode == 2
    shown = done.stderr.count("unknown key")
    assert shown >= 10
    assert f"and {1000 - shown} more" in done.stderr


def test_the_result_as_json(served):
    set_level(served, "debug")
    served.config["shutdown"]["late_accept"] = "75ms"
    served.write_config()
    done = reload(served, "-o", "json")
    assert done.returncode == 1
    result = json.loads(done.stdout)
    assert list(result) == ["ok", "changed", "applied", "refused", "errors", "warnings"]
    assert result["ok"] is True and result["changed"] is True
    assert result["applied"] == [{"key": "log.level", "before": "info", "after": "debug"}]
    assert list(result["refused"][0]) == ["key", "before", "after", "reason"]


def test_a_secret_is_never_shown(world):
    one = world(lifecycle={"enabled": False, "token": "hunter2"})
    one.run(*SLEEPER)
    serving(one)
    one.config["lifecycle"]["token"] = "hunter3"
    one.write_config()
    done = reload(one)
    assert done.returncode == 1
    assert "not changed: lifecycle.token: (secret) -> (secret)" in done.stderr
    assert "hunter" not in one.log()


def test_flags_stay_above_the_file(world):
    one = world()
    one.run(*SLEEPER, options=("--set", "log.level=warning"))
    wait_until(lambda: os.path.exists(one.admin_socket), "it listens")
    set_level(one, "debug")
    assert reload(one).stdout == "nothing changed\n"


def test_during_a_stop_nothing_is_read(served):
    peer = served.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    served.process.send_signal(signal.SIGTERM)
    peer.expect("phase", phase="draining")
    set_level(served, "debug")
    done = reload(served)
    assert done.returncode == 1
    assert "cannot reload during a stop" in done.stderr
    with pytest.raises(PeerError, match="conflict"):
        served.operator().ask("reload")
    assert probe_steps(served) == 0
    peer.ask("request.end", id="r", outcome="completed")
    assert served.process.wait(timeout=PATIENCE) == 0


def test_only_operators_may_reload(served):
    with pytest.raises(PeerError, match="not_allowed"):
        served.peer().ask("reload")


def test_HUP_at_serve_reloads(world):
    one = world()
    serve = one.serve()
    one.wait_for_log("lastcall serves")
    set_level(one, "debug")
    serve.send_signal(signal.SIGHUP)
    one.wait_for_log('"configuration key changed","key":"log.level"')
    with open(one.path("lastcall.yaml"), "w") as file:
        file.write("log: {level: loud}\n")
    serve.send_signal(signal.SIGHUP)
    one.wait_for_log('"msg":"configuration error"')
    assert serve.poll() is None
    assert one.status()["phase"] == "starting"


def test_HUP_at_serve_in_a_stop_changes_nothing_and_the_drain_goes_on(world):
    one = world(shutdown={"grace_period": "60s"})
    serve = one.serve()
    shim = one.shim(*SLEEPER)
    serving(one)
    peer = one.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    shim.send_signal(signal.SIGTERM)
    peer.expect("phase", phase="draining")
    before = one.status()
    set_level(one, "debug")
    for times in (1, 2):
        serve.send_signal(signal.SIGHUP)
        one.wait_for_log("cannot reload during a stop", times)
    after = one.status()
    for key in ("phase", "cause", "mode", "deadline_at_ms"):
        assert after[key] == before[key], key
    assert after["in_flight"]["requests"] == 1
    assert "configuration key changed" not in one.log() and probe_steps(one) == 0
    assert (serve.poll(), shim.poll()) == (None, None)
    peer.ask("request.end", id="r", outcome="completed")
    assert shim.wait(timeout=PATIENCE) == 0
    assert one.report()["requests"]["completed"] == 1


# A signal that comes just before a pause() does not end that, and Python calls no handler until it
# has ended; sigwait() misses none.
HEARS_HUP = (
    "import signal,sys\n"
    "signal.pthread_sigmask(signal.SIG_BLOCK, {1})\n"
    "open(sys.argv[1] + '/up', 'w').close()\n"
    "signal.sigwait({1})\n"
    "open(sys.argv[1] + '/hup', 'w').close()\n"
    "signal.pause()"
)


def test_HUP_at_the_shim_is_the_engines(world):
    one = world()
    run = one.run(sys.executable, "-c", HEARS_HUP, one.directory)
    serving(one)
    wait_until(lambda: os.path.exists(one.path("up")), "the engine is up")
    set_level(one, "debug")
    run.send_signal(signal.SIGHUP)
    wait_until(lambda: os.path.exists(one.path("hup")), "the engine received HUP")
    assert "reload requested" not in one.log()
    assert reload(one).returncode == 0
