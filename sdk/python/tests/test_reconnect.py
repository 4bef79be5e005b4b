"""Supervisors that come, go, come back, or do not read."""

import socket
import threading

from strict_supervisor import FakeSupervisor, eventually


def test_a_supervisor_that_comes_back_is_told_everything(supervisor, client):
    eventually(lambda: client.connected)
    client.register_endpoint("generate")
    client.register_endpoint("gone")
    client.unregister_endpoint("gone")
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
    assert hello["live"] == 4  # live, stopped, away, and the end that nobody heard
    supervisor.wait("request.begin", 4, connection=2)
    begun = {each["id"]: each for each in supervisor.all("request.begin", connection=2)}
    assert set(begun) == {"live", "stopped", "ended", "away"}
    assert all(each["resumed"] is True for each in begun.values())
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

    def read_second():
        second, _ = listener.accept()
        with second, second.makefile("rb") as stream:
            seen.extend(stream.readline() for _ in range(3_000))

    reader = threading.Thread(target=read_second, daemon=True)
    reader.start()
    with client.begin("survivor"):
        while link.connected or not seen:  # the first connection is given up, the second read
            client.begin("x" * 200).end()
            assert link._queued_bytes <= link._limit
        reader.join(30)
    assert b'"op":"hello"' in seen[0]
    assert any(b"survivor" in line and b'"resumed":true' in line for line in seen)
    assert len(client._session.ledger._unheard) <= 1024
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
