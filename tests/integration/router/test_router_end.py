"""How a router ends: new clients go elsewhere, what runs is finished, what is long is cut."""

import os
import resource
import signal
import socket
import subprocess
import time

from raw_engine import SSE_HEAD, chunk, ok, post
from router_world import ROUTER, static
from serve_peer import wait_until

BODY = b'{"model":"m","stream":true}'


def begin(one, engine):
    user = one.client()
    user.send(post(body=BODY))
    wire, _ = engine.request()
    wire.send(SSE_HEAD + chunk(b"data: 1\n\n"))
    user.until(b"data: 1\n\n")
    return user, wire


def test_a_stream_is_finished_before_the_end(router, engines):
    one = router(engines[0].address)
    user, wire = begin(one, engines[0])
    idle = one.client()
    one.process.send_signal(signal.SIGTERM)
    leaving = (503, "the router is shutting down\n")
    wait_until(lambda: one.operator("/readyz") == leaving, "it is not ready")
    assert idle.ended()
    wait_until(lambda: not accepts(one), "nobody is accepted")
    one.process.send_signal(signal.SIGTERM)  # which changes nothing
    assert one.operator("/livez")[0] == 200
    wire.send(chunk(b"data: [DONE]\n\n") + chunk(b""))
    assert user.rest().endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
    assert one.process.wait(timeout=20) == 0


def accepts(one):
    try:
        socket.create_connection(("127.0.0.1", one.port)).close()
    except ConnectionRefusedError:
        return False
    return True


def test_new_requests_are_served_until_nobody_is_accepted(router, engines):
    one = router(engines[0].address, shutdown={"late_accept": "5s"})
    one.process.send_signal(signal.SIGTERM)
    wait_until(lambda: one.operator("/readyz")[0] == 503, "it is not ready")
    user = one.client()
    user.send(post(body=BODY))
    wire, _ = engines[0].request()
    wire.send(ok(b"hello"))
    user.until(b"hello")


def test_a_stream_longer_than_the_grace_is_cut_with_an_error(router, engines):
    one = router(engines[0].address, shutdown={"late_accept": "0ms", "grace_period": "300ms"})
    user, wire = begin(one, engines[0])
    one.process.send_signal(signal.SIGTERM)
    said = user.rest()
    assert b"event: error\n" in said
    assert b'"type":"migrated"' in said
    assert wire.rest().endswith(BODY)
    assert one.process.wait(timeout=20) == 0


def test_a_request_that_no_worker_has_is_refused_at_the_end(router, engines):
    """Two requests were with an engine that died, and another worker gets one of them at a time."""
    dying, living = engines
    one = router(dying.address, shutdown={"late_accept": "0ms", "grace_period": "300ms"})
    users = [one.client() for _ in range(2)]
    for number, user in enumerate(users):
        user.send(post(body=b'{"model":"m","stream":true,"seed":%d}' % number))
    dead = [dying.request()[0] for _ in users]
    one.config["workers"].append(static(living.address))
    one.write_config()
    one.process.send_signal(signal.SIGHUP)
    wait_until(lambda: one.metric("lastcall_router_workers") == 2, "both are known")
    dying.refuse()
    for wire in dead:
        wire.until(b"}")
        wire.close()
    had = living.request()[0].until(b"}")
    wait_until(lambda: one.metric("lastcall_router_waiting") == 1, "the other one waits")
    one.process.send_signal(signal.SIGTERM)
    first = 0 if b'"seed":0' in had else 1
    cut, refused = (users[each].rest() for each in (first, 1 - first))
    assert b'"type":"migrated"' in cut
    assert refused.startswith(b"HTTP/1.1 503 ") and b'"type":"draining"' in refused
    assert one.process.wait(timeout=20) == 0


def test_closed_standard_descriptors_are_the_numbers_of_nothing(router, engines):
    """Its log would go into whatever has the number of standard error."""
    one = router(engines[0].address)
    assert one.stop() == 0
    one.process = subprocess.Popen(
        ("/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", ROUTER, "--config", one.write_config()),
        start_new_session=True,
    )
    wait_until(lambda: accepts(one), "it listens")
    standard = [os.readlink(f"/proc/{one.process.pid}/fd/{fd}") for fd in range(3)]
    assert standard == ["/dev/null"] * 3
    assert one.stop() == 0


def test_a_log_that_may_not_grow_ends_no_router(router, engines):
    """By RLIMIT_FSIZE: the kernel sends SIGXFSZ for each line."""
    one = router(engines[0].address)
    resource.prlimit(one.process.pid, resource.RLIMIT_FSIZE, (0, 0))
    user, wire = begin(one, engines[0])
    one.process.send_signal(signal.SIGTERM)  # which is logged
    wait_until(lambda: not accepts(one), "nobody is accepted")
    wire.send(chunk(b"data: [DONE]\n\n") + chunk(b""))
    assert user.rest().endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
    assert one.process.wait(timeout=20) == 0
    assert "shutting down" not in one.log()


def test_lastcall_run_drains_it(router, world, engines):
    one = router(engines[0].address)
    assert one.stop() == 0
    supervisor = world(engine={"kind": "custom"})
    supervisor.config["health"]["checks"] = [
        {"name": "ready", "http": {"url": f"http://127.0.0.1:{one.operators_port}/readyz"}}
    ]
    supervised = supervisor.run(ROUTER, "--config", one.write_config())
    supervisor.wait_for_log('"phase begun","phase":"serving"')
    user, wire = begin(one, engines[0])
    supervised.send_signal(signal.SIGTERM)
    supervisor.wait_for_log("the router is shutting down")
    wire.send(chunk(b"data: [DONE]\n\n") + chunk(b""))
    assert user.rest().endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
    assert supervised.wait(timeout=20) == 0


def test_lastcall_run_leaves_the_drain_to_it(router, world, engines):
    """With what the chart writes: the signal at once, no SIGKILL before its own cut."""
    one = router(engines[0].address, shutdown={"late_accept": "100ms", "grace_period": "3s"})
    assert one.stop() == 0
    supervisor = world(engine={"kind": "custom"})
    supervisor.config["shutdown"] = {"grace_period": "8s", "deregister_timeout": "0s",
                                     "late_accept": "0s", "drain_unknown": "0s"}  # fmt: skip
    supervisor.config["health"]["checks"] = [
        {"name": "router", "http": {"url": f"http://127.0.0.1:{one.operators_port}/livez"}}
    ]
    supervised = supervisor.run(ROUTER, "--config", one.write_config())
    supervisor.wait_for_log('"phase begun","phase":"serving"')
    user, _ = begin(one, engines[0])
    idle = one.client()
    began = time.monotonic()
    supervised.send_signal(signal.SIGTERM)
    supervisor.wait_for_log("the router is shutting down")
    assert idle.ended()
    said = user.rest()
    assert b'"type":"migrated"' in said and b"event: error\n" in said
    assert time.monotonic() - began > 2.5
    assert supervised.wait(timeout=20) == 0
    assert '"exit_code":0' in supervisor.log()


def test_a_request_whose_body_still_comes_is_served(router, engines):
    one = router(engines[0].address)
    user = one.client()
    request = post(body=BODY)
    user.send(request[:-5])
    wait_until(lambda: one.metric("lastcall_router_connections", side="client") == 1, "it is there")
    one.process.send_signal(signal.SIGTERM)
    wait_until(lambda: not accepts(one), "nobody is accepted")
    user.send(request[-5:])
    wire, _ = engines[0].request()
    wire.until(BODY)
    wire.send(ok(b"hello"))
    assert user.rest().endswith(b"hello")
    assert one.process.wait(timeout=20) == 0


def test_a_request_whose_body_does_not_come_is_refused_at_the_end(router, engines):
    one = router(engines[0].address, shutdown={"late_accept": "0ms", "grace_period": "300ms"})
    user = one.client()
    user.send(post(body=BODY)[:-5])
    wait_until(lambda: one.metric("lastcall_router_connections", side="client") == 1, "it is there")
    one.process.send_signal(signal.SIGTERM)
    answer = user.rest()
    assert answer.startswith(b"HTTP/1.1 503 ") and b'"type":"draining"' in answer, answer
    assert b"\r\nConnection: close\r\n" in answer and b"<reset>" not in answer
    assert one.process.wait(timeout=20) == 0
    assert not engines[0].has_arrived()
