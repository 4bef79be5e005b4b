"""Supervisors that come, go, come back, or do not read."""

import itertools
import json
import logging
import socket
import threading
import time

import pytest
from strict_supervisor import WELCOME, FakeSupervisor, eventually
from test_process import run_python


def test_a_supervisor_that_comes_back_receives_everything(supervisor, client):
    eventually(lambda: client.connected)
    client.register_endpoint("generate")
    client.register_endpoint("gone")
    client.unregister_endpoint("gone")
    began = int(time.monotonic() * 1000)
    live, stopped, ended = (client.begin(each) for each in ("live", "stopped", "ended"))
    supervisor.wait("request.begin", 3)
    supervisor.stop()
    eventually(lambda: not client.connected)
    stopped.kill(reason="client_disconnect")
    ended.end("error")
    began_away = client.begin("away")
    unnoticed = client.begin("unnoticed")
    unnoticed.end()
    supervisor.start()
    hello = supervisor.wait("hello", connection=2)
    assert hello["live"] == 4  # live, stopped, away, and the end that was not received
    supervisor.wait("request.begin", 4, connection=2)
    begun = {each["id"]: each for each in supervisor.all("request.begin", connection=2)}
    assert set(begun) == {"live", "stopped", "ended", "away"}
    assert all(each["resumed"] is True for each in begun.values())
    # Their age survives a supervisor; "away" began after the first three.
    assert began <= begun["live"]["began_at_ms"] <= begun["away"]["began_at_ms"]
    assert begun["away"]["began_at_ms"] <= time.monotonic() * 1000
    assert supervisor.wait("request.end", id="ended")["outcome"] == "error"
    assert supervisor.wait("cancel", connection=2)["ids"] == ["stopped"]
    assert supervisor.wait("endpoint.register", connection=2)["endpoint"] == "generate"
    assert supervisor.ops(2)[:2] == ["hello", "endpoint.register"]
    assert len(supervisor.all("endpoint.register", connection=2)) == 1
    for each in (live, stopped, began_away):
        each.end()
    supervisor.wait("request.end", 4)


def test_it_reconnects_as_often_as_the_supervisor_goes(supervisor, client):
    with client.begin("r"):
        for number in range(1, 6):
            supervisor.wait("hello", connection=number)
            eventually(lambda: client.connected)
            supervisor.hang_up()
    supervisor.wait("hello", connection=6)


def test_a_client_that_starts_first_waits_for_the_supervisor(path, client):
    with client.begin("early"):
        with FakeSupervisor(path) as fake:
            assert fake.wait("hello")["live"] == 1
            assert fake.wait("request.begin")["resumed"] is True
        assert fake.violations == []


def test_a_supervisor_that_does_not_read_costs_bounded_memory(path, make_client):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(8)
    client = make_client()
    first, _ = listener.accept()
    eventually(lambda: client._session.connected)
    link = client._session._link
    seen = []

    def is_resumed():
        return any(b"survivor" in line and b'"resumed":true' in line for line in seen)

    def read_others():  # one that is not read soon enough is given up, too
        while not is_resumed():
            other, _ = listener.accept()
            with other, other.makefile("rb") as stream:
                seen.extend(itertools.islice(stream, 3_000))

    reader = threading.Thread(target=read_others, daemon=True)
    reader.start()
    with client.begin("survivor"):
        while link.connected or not seen:  # the first connection is given up, the second read
            client.begin("x" * 200).end()
            assert link._queued_bytes <= link._limit
        reader.join(30)
    assert b'"op":"hello"' in seen[0]
    assert is_resumed()
    assert len(client._session.ledger._unconfirmed) <= 1024
    for each in (listener, first):
        each.close()


def test_many_threads_begin_cancel_and_end_while_the_supervisor_comes_and_goes(supervisor, client):
    stop = threading.Event()
    failures = []

    def work(number):
        try:
            while not stop.wait(0.001):
                with client.begin(admit=number % 2 == 0) as parent:
                    with client.begin(parent=parent) as child:
                        child.progress()
                        if number % 3 == 0:
                            parent.kill("client_disconnect")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for number in range(1, 8):
        supervisor.wait("hello", connection=number)
        supervisor.wait("request.end", connection=number)
        supervisor.hang_up()
    stop.set()
    for thread in threads:
        thread.join(20)
    assert failures == []
    assert client.in_flight == 0
    supervisor.wait("hello", connection=8)


OUT_OF_DESCRIPTORS = """
import lastcall, os, resource, threading, time
def exhaust():
    try:
        while True: taken.append(os.open("/dev/null", os.O_RDONLY))
    except OSError: pass
taken = []
resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
exhaust()
for _ in range(FREE): os.close(taken.pop())
client = lastcall.connect(critical=True)
client.begin("r", admit=True).end()  # once there has been no supervisor for a second
assert not client.connected
for fd in taken: os.close(fd)
deadline = time.monotonic() + 20
while not client.connected or "lastcall-watch" not in [t.name for t in threading.enumerate()]:
    assert time.monotonic() < deadline, "it never connects, or does not watch its children"
    client.begin().end()  # a use of it tries again
    time.sleep(0.01)
"""


@pytest.mark.parametrize("free", [0, 1, 2])  # the pipe that wakes its thread takes two
def test_it_connects_once_there_are_descriptors_again(supervisor, path, free):
    done = run_python(OUT_OF_DESCRIPTORS.replace("FREE", str(free)), path)
    assert done.returncode == 0, done.stderr
    problems = done.stderr.splitlines()
    assert all("trying again later: [Errno 24]" in each for each in problems), problems
    assert len(problems) == (1 if free == 2 else 2)  # children are not watched either


def test_a_failure_inside_is_reported_once_and_ends_nothing(path, client, caplog):
    session, failed = client._session, threading.Semaphore(0)
    tick = session.tick

    def fail(now):
        failed.release()
        raise MemoryError("no more")

    session.tick = fail
    for _ in range(3):
        assert failed.acquire(timeout=10)
    session.tick = tick
    with FakeSupervisor(path) as fake:
        fake.wait("hello")
        eventually(lambda: client.connected)
    assert [each.levelno for each in caplog.records] == [logging.ERROR]
    assert "no more" in caplog.text


def errors_of(log):
    return [each.getMessage().rpartition(": ")[2] for each in log.records if each.levelno >= 40]


def test_a_refused_client_reports_it_once_until_it_changes(path, make_client, caplog):
    with FakeSupervisor(path, welcome=False) as fake:
        client = make_client()
        hellos = 0

        def refuse(*texts):
            nonlocal hellos
            for text in texts:
                hellos += 1
                fake.wait("hello", connection=hellos)
                fake.send("error", code="not_allowed", message=text)
                fake.hang_up()

        refuse("user 7", "user 7", "user 7", "user 8", "user 8")
        fake.wait("hello", connection=6)
        assert errors_of(caplog) == ["user 7", "user 8"]
        fake.send_raw(json.dumps(WELCOME).encode() + b"\n")
        eventually(lambda: client.connected)
        for text in ("no", "not yet"):  # none of them ends the connection
            fake.send("error", code="conflict", message=text)
        eventually(lambda: errors_of(caplog)[2:] == ["no"])
        fake.hang_up()
        hellos = 6
        refuse("user 8", "user 8")
        fake.wait("hello", connection=9)
        assert errors_of(caplog)[3:] == ["not yet", "user 8"]
        assert "refused 1 more" in caplog.text
        assert fake.violations == []


def test_a_server_of_another_protocol_is_reported_once(path, make_client, caplog):
    with FakeSupervisor(path, welcome=False) as fake:
        make_client()
        for number in range(1, 4):
            fake.wait("hello", connection=number)
            fake.send_raw(b"220 mail.example\n")
            fake.wait("error", connection=number)
        fake.wait("hello", connection=4)
        assert len(errors_of(caplog)) == 1 and "cannot be used" in caplog.text
