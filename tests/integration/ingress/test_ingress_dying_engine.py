"""An engine that dies in parts: its core is gone, its API server answers on with errors."""

import contextlib
import glob
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from in_time import in_time
from ports import free_port
from raw_engine import Wire, asked, chunk, client, get, ok, post, stream
from serve_peer import PATIENCE, wait_until
from serve_world import ENGINE_SIM, SLEEPER

HELPER_FOR = 6  # seconds; a process that lived for less than 5 s is none that the engine needs
SELDOM = {"interval": "60s"}  # a check that runs by its interval alone would come too late
INTERNAL = (
    b'data: {"error":{"message":"the engine core died","type":"InternalServerError","code":500}}'
    b"\n\n"
)
LAST = chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"
FAILED = b'{"error":{"message":"the engine core died","code":500}}'
FAILURE = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: %d\r\n\r\n%b" % (
    len(FAILED), FAILED
)  # fmt: skip


def core_of(port):
    """The process that generates, as the engine at this port reports."""
    asked = Wire(socket.create_connection(("127.0.0.1", port)))
    asked.send(get("/sim/state", "Connection: close"))
    head = asked.until(b"\r\n\r\n")
    size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    pid = json.loads(asked.exactly(size))["core"]
    asked.close()
    return pid


class Dying:
    """An engine_sim with a core of its own, there before its supervisor and its ingress."""

    def __init__(self, world, *flags, shim=True):
        self.listen, self.port = free_port(), free_port()
        url = f"http://127.0.0.1:{self.port}"
        check = {"name": "engine", "failure_threshold": 1, "http": {"url": url + "/health"}}
        self.world = one = world(
            ingress={"listen": f"127.0.0.1:{self.listen}"},
            engine={"kind": "vllm", "url": url},
            health={**SELDOM, "checks": [check]},
        )
        one.ingress_port = self.listen
        ready = one.path("port")
        engine = (sys.executable, ENGINE_SIM, "--port", str(self.port), "--port-file", ready)
        self.engine = subprocess.Popen(
            (*engine, "--core", "--trace", one.path("trace"), "--rate", "20", *flags)
        )
        one.processes.append(self.engine)
        wait_until(lambda: os.path.exists(ready), "the engine listens")
        one.process = one.run(*SLEEPER) if shim else one.serve()
        one.wait_for_log('"phase begun","phase":"serving"')

    def user(self, tokens, **body):
        user = client(self.world)
        body = {"model": "m", "max_tokens": tokens, **body}
        user.send(post("/v1/completions", json.dumps(body).encode()))
        return user

    def core(self):
        return core_of(self.port)

    def seen(self, event):
        with open(self.world.path("trace"), encoding="utf-8") as file:
            return sum(json.loads(line)["event"] == event for line in file)


def test_errors_of_an_engine_whose_core_died_are_reported_as_its_death(world):
    dying = Dying(world)
    streams = [dying.user(10_000, stream=True) for _ in range(3)]
    for user in streams:
        user.until(b"t0 ")
    unary = [dying.user(10_000) for _ in range(2)]
    wait_until(lambda: dying.seen("start") == 5, "all of them run")
    os.kill(dying.core(), signal.SIGKILL)
    for user in streams:
        last = user.rest()
        assert b'"type":"engine_dead"' in last and b'"retryable":true' in last, last
        assert b"[DONE]" not in last and b"EngineCore" not in last, last
        assert not last.endswith(b"0\r\n\r\n")
    for user in unary:
        answer = user.until(b"}}\n")
        assert answer.startswith(b"HTTP/1.1 503 ") and b'"type":"engine_dead"' in answer
        assert b"\r\nRetry-After: " in answer
    assert dying.world.process.wait(timeout=PATIENCE) == 1
    report = dying.world.report()
    assert report["requests"]["engine_dead"] == 5, report
    assert report["requests"]["completed"] == report["requests"]["cancelled"] == 0


def test_events_sent_are_those_before_the_error_that_was_held(world):
    dying = Dying(world)
    user = dying.user(10_000, stream=True)
    user.until(b"t0 ")
    os.kill(dying.core(), signal.SIGKILL)
    last = user.rest()
    error = json.loads(last.partition(b"event: error\ndata: ")[2].partition(b"\n")[0])["error"]
    assert error["events_sent"] == 1 + last.count(b'"text_completion"'), last
    assert dying.world.process.wait(timeout=PATIENCE) == 1


def test_errors_that_come_before_the_checks_see_the_death_are_reported_as_it(world):
    """As vLLM's: its /health passes for up to 2 s after its core has died."""
    dying = Dying(world, "--core-death-unseen", "1", shim=False)
    users = [dying.user(10_000, stream=True), dying.user(10_000)]
    users[0].until(b"t0 ")
    wait_until(lambda: dying.seen("start") == 2, "both run")
    os.kill(dying.core(), signal.SIGKILL)
    last = users[0].rest()
    assert b'"type":"engine_dead"' in last and b"[DONE]" not in last, last
    assert b'"type":"engine_dead"' in users[1].until(b"}}\n")
    assert dying.world.process.wait(timeout=PATIENCE) == 1
    assert dying.world.report()["requests"]["engine_dead"] == 2


def is_watched(shim, pid):
    """The shim waits for a pidfd of it: a walk of /proc has found it, and walks are up to 10 s
    apart. The walk opens others for a moment, for which it does not wait."""
    infos = {}
    for path in glob.glob(f"/proc/{shim}/fdinfo/*"):
        with contextlib.suppress(FileNotFoundError), open(path) as file:
            infos[os.path.basename(path)] = file.read()
    waited_for = {found for info in infos.values() for found in re.findall(r"tfd: +(\d+)", info)}
    return any(f"Pid:\t{pid}\n" in infos.get(number, "") for number in waited_for)


def with_core(world):
    """A stream of an engine under `run` whose checks never fail, and the core that computes it."""
    listen = free_port()
    one = world(ingress={"listen": f"127.0.0.1:{listen}"}, health=SELDOM)
    one.ingress_port = listen
    one.run_engine("--core", "--core-death-unseen", "100", "--trace", one.path("trace"),
                   "--rate", "20", checks=[{"name": "engine"}])  # fmt: skip
    user = client(one)
    body = {"model": "m", "max_tokens": 10_000, "stream": True}
    user.send(post("/v1/completions", json.dumps(body).encode()))
    user.until(b"t0 ")
    seen = time.monotonic() + HELPER_FOR  # the core has been started by now, however busy we are
    wait_until(lambda: time.monotonic() > seen, "the core is no helper of a moment", patience=30)
    core = core_of(one.engine_port)
    wait_until(lambda: is_watched(one.process.pid, core), "the shim knows the core", patience=30)
    return one, user, core


def expect_death(one, user, core):
    last = user.rest()
    assert b'"type":"engine_dead"' in last and b"[DONE]" not in last, last
    assert one.process.wait(timeout=PATIENCE) == 1
    report = one.report()
    assert report["detail"].startswith(f"VLLM::EngineCore, pid {core}, vanished "), report
    assert report["requests"]["engine_dead"] == 1


def test_the_shim_reports_the_cores_death_before_any_check_fails(world):
    one, user, core = with_core(world)
    os.kill(core, signal.SIGKILL)
    expect_death(one, user, core)


def test_errors_that_are_read_with_the_report_of_the_death_are_reported_as_it(world):
    """The stop has begun in that turn of the loop, and streams are cut in the next one."""
    one, user, core = with_core(world)
    with open(f"/proc/{core}/stat", encoding="ascii") as file:
        server = int(file.read().rpartition(")")[2].split()[1])
    supervisor = one.supervisor_pid()
    os.kill(supervisor, signal.SIGSTOP)
    os.kill(server, signal.SIGSTOP)  # until the shim has reported
    os.kill(core, signal.SIGKILL)
    one.wait_for_log("VLLM::EngineCore, process")
    os.kill(server, signal.SIGCONT)
    wait_until(lambda: '"end"' in Path(one.path("trace")).read_text(), "the errors were sent")
    os.kill(supervisor, signal.SIGCONT)
    expect_death(one, user, core)


@pytest.fixture
def failing(world, engine):
    """An engine written by the test, with a health check that always passes, seldom by itself."""
    health = socket.create_server(("127.0.0.1", 0), backlog=64)
    listen = free_port()
    one = world(ingress={"listen": f"127.0.0.1:{listen}", "upstream": engine.address},
                health={**SELDOM, "checks": [{"name": "engine", "tcp": {"address":
                        "127.0.0.1:%d" % health.getsockname()[1]}}]})  # fmt: skip
    one.ingress_port = listen
    one.process = one.run(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    yield one
    health.close()


def test_an_error_of_a_live_engine_goes_on_unchanged_as_soon_as_its_checks_have_passed(
    failing, engine
):
    def took():
        user, wire = asked(failing, engine, body=b"{}")
        begin = time.monotonic()
        wire.send(FAILURE)
        head = user.until(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
        assert user.exactly(len(FAILED)) == FAILED
        user.close()
        wire.close()
        return (time.monotonic() - begin) * 1000

    in_time(took, 1_000)
    assert failing.status()["phase"] == "serving"


def test_an_error_event_of_a_live_engine_goes_on_unchanged_with_what_came_behind_it(
    failing, engine
):
    user, wire = stream(failing, engine)
    wire.send(chunk(b"data: 2\n\n" + INTERNAL) + LAST)
    assert user.until(b"0\r\n\r\n").replace(b"\r\n", b"").count(INTERNAL + b"data: [DONE]") == 1
    user.send(get())  # and both connections are kept
    wire.until(b"\r\n\r\n")
    wire.send(ok())
    user.until(b"hello")
    wait_until(lambda: failing.status()["in_flight"]["requests"] == 0, "it has ended")


def test_an_error_that_no_check_confirms_or_refutes_is_held_at_most_two_seconds(proxy, engine):
    one = proxy()  # without a check; the shim alone could report that the engine is dead
    user, wire = stream(one, engine)
    other, late = asked(one, engine, body=b"{}")
    wire.send(chunk(INTERNAL) + LAST)
    late.send(FAILURE)
    assert INTERNAL in user.until(b"0\r\n\r\n")
    assert other.until(FAILED).startswith(b"HTTP/1.1 500 ")


@pytest.mark.parametrize("event", [
    b'data: {"error":{"message":"too long","type":"BadRequestError","code":400}}\n\n',
    b'data: {"error":{"message":"no","type":"invalid_request_error","code":null}}\n\n',
    b'data: {"error":{"type":"migrated","code":503,"retryable":true}}\n\n',
], ids=["code", "type", "lastcall"])  # fmt: skip
def test_an_error_that_is_complete_is_not_held(proxy, engine, event):
    def took():
        one = proxy()
        user, wire = stream(one, engine)
        begin = time.monotonic()
        wire.send(chunk(event))
        user.until(event)
        return (time.monotonic() - begin) * 1000

    in_time(took, 1_000, tries=3)


def test_a_refusal_of_the_engine_is_not_held(proxy, engine):
    one = proxy()

    def took():
        user, wire = asked(one, engine, body=b"{}")
        begin = time.monotonic()
        wire.send(b"HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\nbusy")
        user.until(b"busy")
        user.close()
        wire.close()
        return (time.monotonic() - begin) * 1000

    in_time(took, 1_000)



@pytest.mark.parametrize("threads", [1, 3])
def test_a_held_error_becomes_the_engines_death_when_its_process_ends(proxy, engine, threads):
    one = proxy(ingress={"threads": threads})
    user, wire = stream(one, engine)
    early, silent = asked(one, engine, body=b"{}")
    wire.send(chunk(INTERNAL) + LAST)
    silent.send(FAILURE)
    os.kill(one.status()["engine"]["pid"], signal.SIGKILL)
    last = user.rest()
    assert b'"type":"engine_dead"' in last and b"InternalServerError" not in last
    answer = early.until(b"}}\n")
    assert answer.startswith(b"HTTP/1.1 503 ") and b'"type":"engine_dead"' in answer
    assert one.process.wait(timeout=PATIENCE) == 1
    assert one.report()["requests"]["engine_dead"] == 2


def test_time_in_which_the_supervisor_stood_still_is_no_time_of_the_hold(proxy, engine):
    one = proxy()
    user, wire = stream(one, engine)
    supervisor, engine_pid = one.supervisor_pid(), one.status()["engine"]["pid"]
    wire.send(chunk(b"data: 2\n\n" + INTERNAL) + LAST)
    user.until(b"data: 2\n\n")  # and what came with it is held
    os.kill(supervisor, signal.SIGSTOP)
    os.kill(engine_pid, signal.SIGKILL)
    until = time.monotonic() + 3
    wait_until(lambda: time.monotonic() > until, "the hold is over by the clock")
    os.kill(supervisor, signal.SIGCONT)
    last = user.rest()
    assert b'"type":"engine_dead"' in last and b"InternalServerError" not in last, last
    assert one.process.wait(timeout=PATIENCE) == 1


def test_an_error_that_was_relayed_a_moment_before_the_death_is_in_the_report(proxy, engine):
    one = proxy()
    user, wire = stream(one, engine)
    complete = b'data: {"error":{"message":"the engine died","code":400}}\n\n'  # so it is not held
    wire.send(chunk(complete) + LAST)
    user.until(b"0\r\n\r\n")
    wait_until(lambda: one.status()["in_flight"]["requests"] == 0, "it has ended")
    os.kill(one.status()["engine"]["pid"], signal.SIGKILL)
    assert one.process.wait(timeout=PATIENCE) == 1
    assert one.report()["requests"]["error"] == 1


def test_a_client_that_leaves_while_its_error_is_held_is_counted_as_gone(proxy, engine):
    one = proxy()
    user, wire = stream(one, engine)
    wire.send(chunk(INTERNAL) + LAST)
    user.close()
    wait_until(lambda: one.status()["in_flight"]["requests"] == 0, "it has ended", patience=1.5)
    again, wire = stream(one, engine)
    wire.send(LAST)
    again.until(b"0\r\n\r\n")
