"""A stop with nothing to wait for ends at once, whichever client watches and does not let go."""

import contextlib
import json
import signal
import socket
import subprocess

import pytest
from serve_peer import PATIENCE, connect, wait_until
from serve_world import LASTCALL, SLEEPER

GRACE = 240  # seconds; PATIENCE is far from it
LONG = {
    "shutdown": {
        "grace_period": f"{GRACE}s",
        "drain_unknown": "100s",
        "cleanup_reserve": "60s",
    }
}


def served(world):
    """In-flight is known, and none: a peer reports it."""
    one = world(**LONG)
    one.process = one.run(*SLEEPER, LASTCALL_POD_GRACE_SECONDS=str(GRACE + 60))
    one.wait_for_phase("serving")
    peer = one.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    peer.ask("request.end", id="r", outcome="completed")
    return one


def ends_without_using_its_grace(one):
    one.process.send_signal(signal.SIGTERM)
    assert one.process.wait(timeout=PATIENCE) == 0
    report = one.report()
    assert report["phases"]["draining"]["outcome"] == "completed"
    assert sum(phase["ms"] for phase in report["phases"].values()) < PATIENCE * 1000
    wait_until(lambda: not one.processes_left(), "no process is left")


def test_a_stop_with_nothing_in_flight_takes_no_grace(world):
    ends_without_using_its_grace(served(world))


@pytest.mark.parametrize("said", [
    pytest.param(b"", id="nothing"),
    pytest.param(b"GET /metrics HTTP/1.1\r\nHost:", id="half a request"),
    pytest.param(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 500, id="more than it reads"),
])  # fmt: skip
def test_an_open_client_of_the_probes_does_not_delay_the_exit(world, said):
    one = served(world)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", one.port))
        client.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            client.send(said)
        ends_without_using_its_grace(one)


def test_a_watching_operator_does_not_delay_the_exit_and_ends_with_it(world):
    one = served(world)
    watch = [LASTCALL, "status", "--watch", "--admin-socket", one.admin_socket]
    with subprocess.Popen(watch, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watching:
        try:
            assert b"serving" in watching.stdout.readline()
            ends_without_using_its_grace(one)
            out, err = watching.communicate(timeout=PATIENCE)
        finally:
            watching.kill()
    assert (watching.returncode, err) == (0, b"")
    assert out.splitlines()[-1].startswith(b"exited")


def test_a_watcher_that_never_reads_does_not_delay_the_exit(world):
    one = served(world)
    with connect(one.admin_socket) as deaf:
        lines = [{"op": "hello", "version": 1, "role": "operator", "name": "deaf"},
                 {"op": "watch", "seq": 1},
                 *({"op": "status", "seq": seq} for seq in range(2, 400))]  # fmt: skip
        deaf.sendall(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        peek = socket.MSG_PEEK | socket.MSG_DONTWAIT

        def is_answered():
            with contextlib.suppress(BlockingIOError):
                return b'"seq":20,' in deaf.recv(1 << 20, peek)

        wait_until(is_answered, "it watches")
        one.status()  # its turn comes after all lines of the other, whose socket is full by then
        ends_without_using_its_grace(one)
